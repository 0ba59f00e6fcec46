/// \file attention and its gradient by cuDNN's fused engines: 16-bit operands with fp32 statistics.
#include <algorithm>

#include "attention_graph.hpp"
#include "baleen/attention.hpp"
#include "kernels.hpp"

namespace baleen::cuda {

using namespace sdk;

namespace {

constexpr std::uintptr_t kAligned = 16;
/// What hidden scores are. Finite: an infinite one less an infinite statistic would be no number.
constexpr float kNever = -3.4028234663852886e38f;

/// Of [batch, sequence, heads, width], in the order of cuDNN's dimensions.
DnnExtents heads_strides(const Operand& x) { return {x.stride(0), x.stride(2), x.stride(1), x.stride(3)}; }

/// Packed along the width, heads and rows at multiples of 16 bytes.
bool lies_well(const Operand& x, baleen_dtype_t dtype) {
  constexpr std::int64_t kTogether = 8;
  bool good = x.rank() == 4 && x.tensor.dtype == dtype && x.inner_stride() == 1 && x.extent(3) % kTogether == 0;
  for (std::uint32_t d = 0; good && d < 3; ++d) good = x.extent(d) <= 1 || x.stride(d) % kTogether == 0;
  return good && elements(x.tensor) > 0;
}

/// With those that cuDNN takes in 16 bits in its order: q, k, v, o, and backward do, dq, dk, dv.
struct Roles : AttentionOperands {
  explicit Roles(const Source& source) : AttentionOperands(source), large{q, k, v, o} {
    if (backward) large.insert(large.end(), {d_o, dq, dk, dv});
  }
  std::vector<Operand> large;
};

/// Why attention of 16 bits is not described to cuDNN; empty: it is.
std::string_view objection(const Roles& roles, bool causal) {
  const baleen_dtype_t dtype = roles.q.tensor.dtype;
  if (roles.masked) return "it is masked by documents";
  if (roles.lse.tensor.dtype != BALEEN_F32) return "its statistics are not of fp32";
  if (causal && roles.queries != roles.keys) return "it is causal, and has another number of queries than of keys";
  const bool lies = std::ranges::all_of(roles.large, [&](const Operand& x) { return lies_well(x, dtype); });
  return lies ? "" : "cuDNN takes heads whose width is a multiple of 8, and rows that begin at multiples of 16 bytes";
}

AttentionShape shape_of(const Roles& roles, bool causal, bool deterministic) {
  AttentionShape s;
  s.batch = roles.batch;
  s.heads = roles.heads;
  s.groups = roles.groups;
  s.queries = roles.queries;
  s.keys = roles.keys;
  s.width = roles.width;
  s.type = roles.q.tensor.dtype == BALEEN_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  s.causal = causal;
  s.deterministic = deterministic;
  DnnExtents* const strides[] = {&s.q, &s.k, &s.v, &s.o, &s.d_o, &s.dq, &s.dk, &s.dv};
  for (std::size_t i = 0; i < roles.large.size(); ++i) *strides[i] = heads_strides(roles.large[i]);
  s.lse = {roles.lse.stride(0), roles.lse.stride(1), roles.lse.stride(2)};
  return s;
}

/// Where the parts of a launch's scratch begin: behind the plan's workspace, backward.
struct Scratch {
  Scratch(const Roles& roles, std::uint64_t workspace, bool has_sums) : all(workspace) {
    if (!roles.backward) return;
    const auto rows = static_cast<std::uint64_t>(elements(roles.lse.tensor));
    delta = padded(workspace);
    sums = delta + padded(rows * sizeof(float));
    all = sums + (has_sums ? rows * static_cast<std::uint64_t>(roles.width) * sizeof(float) : 0);
  }
  std::uint64_t delta = 0, sums = 0, all;
};

/// One run of the plan for each slice of the batch.
class DnnAttentionKernel : public Kernel {
 public:
  /// `what` it computes, for words of `opener`, which lives as long as the device.
  DnnAttentionKernel(const Roles& roles, bool causal, std::int64_t slice, const AttentionPlan& plan, DnnOpener& opener,
                     std::string what, std::unique_ptr<Kernel> own)
      : opener_(opener),
        what_(std::move(what)),
        large_(roles.large),
        lse_(roles.lse),
        backward_(roles.backward),
        slice_(slice),
        numbers_{static_cast<float>(roles.scale)},
        addresses_(plan.operands.size()),
        own_(std::move(own)) {
    for (std::int64_t first = 0; first < roles.batch; first += slice) runs_.emplace_back(plan.plan, plan.operands);
    if (causal) numbers_.push_back(kNever);
    if (backward_) numbers_.push_back(1.0f);
    const Scratch parts(roles, plan.plan->workspace_bytes(), plan.has_sums);
    delta_at_ = parts.delta;
    sums_at_ = parts.sums;
    scratch_bytes = std::max(parts.all, own_->scratch_bytes);
    flops = own_->flops;
    ids = own_->ids;
  }

  Status run(const Launch& launch) const override {
    auto all =
        reinterpret_cast<std::uintptr_t>(launch.call.scratch) | reinterpret_cast<std::uintptr_t>(launch.at(lse_));
    for (const Operand& x : large_) all |= reinterpret_cast<std::uintptr_t>(launch.at(x));
    if (all % kAligned != 0) {
      opener_.refused(what_, "an operand does not begin at a multiple of 16 bytes");
      return own_->run(launch);
    }
    for (std::size_t i = 0; i < runs_.size(); ++i)
      BALEEN_TRY(run_slice(launch, runs_[i], static_cast<std::int64_t>(i) * slice_));
    return {};
  }

 private:
  Status run_slice(const Launch& launch, DnnRun& run, std::int64_t first) const {
    const auto at = [&](const Operand& x, std::int64_t stride) {
      return launch.at<char>(x) + first * stride * static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
    };
    // q, k, v, o, lse, then backward do, dq, dk, dv; numbers; scratch.
    std::size_t next = 0;
    for (std::size_t i = 0; i < large_.size(); ++i) {
      addresses_[next++] = at(large_[i], large_[i].stride(0));
      if (i == 3) addresses_[next++] = at(lse_, lse_.stride(0));
    }
    for (float& number : numbers_) addresses_[next++] = &number;
    if (backward_) addresses_[next++] = launch.scratch(delta_at_);
    if (next < addresses_.size()) addresses_[next] = launch.scratch(sums_at_);
    return run(launch.stream, addresses_, launch.call.scratch);
  }

  DnnOpener& opener_;
  const std::string what_;
  std::vector<Operand> large_;
  Operand lse_;
  bool backward_;
  std::int64_t slice_;
  mutable std::vector<float> numbers_;  // cuDNN's interface is not const; it reads them
  // One thread launches a kernel.
  mutable std::vector<DnnRun> runs_;
  mutable std::vector<void*> addresses_;
  std::unique_ptr<Kernel> own_;
  std::uint64_t delta_at_ = 0, sums_at_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_dnn_attention(const Context& context, const baleen_region_t& region,
                                           std::unique_ptr<Kernel>& own) {
  const Source source(region);
  const Roles roles(source);
  const bool causal = source.op().integer("causal", 0) != 0;
  if (dtype_size(roles.q.tensor.dtype) != 2 || elements(roles.q.tensor) == 0 || elements(roles.k.tensor) == 0)
    return nullptr;
  const std::string what = std::string(source.op().kind()) + " of " + std::string(dtype_name(roles.q.tensor.dtype)) +
                           " " + shape_text(roles.q.tensor);
  if (const std::string_view why = objection(roles, causal); !why.empty()) {
    context.dnn.refused(what, std::string(why));
    return nullptr;
  }
  AttentionShape shape = shape_of(roles, causal, context.dnn.deterministic());
  shape.batch = attention_slice(shape, roles.backward);
  const std::optional<std::uint64_t> most = most_workspace(shape, roles.backward, context.limits.compute_capability);
  if (context.described) {
    if (most) own->scratch_bytes = std::max(own->scratch_bytes, Scratch(roles, *most, !shape.deterministic).all);
    return nullptr;
  }
  Dnn* dnn = context.dnn.get();
  if (!dnn) return nullptr;
  if (!most) {
    context.dnn.refused(
        what, "a deterministic plan of cuDNN's takes more than 4 GiB for it; `deterministic = false` takes less");
    return nullptr;
  }
  auto plan = roles.backward ? plan_attention_grad(*dnn, shape, *most) : plan_attention(*dnn, shape, *most);
  if (!plan) {
    const bool has_remedy = plan.error().code == BALEEN_NO_MEMORY && roles.backward && !shape.deterministic;
    context.dnn.refused(
        what, plan.error().message + (has_remedy ? "; `deterministic = true` takes another way of cuDNN's" : ""));
    return nullptr;
  }
  auto kernel =
      std::make_unique<DnnAttentionKernel>(roles, causal, shape.batch, *plan, context.dnn, what, std::move(own));
  warm_up(context, region, std::string(source.op().kind()) + " " + shape.key(), *kernel);
  return kernel;
}

}  // namespace baleen::cuda
