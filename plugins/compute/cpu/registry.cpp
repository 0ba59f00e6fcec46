/// \file The kinds that have kernels, and the copies around those that need packed rows.
#include "registry.hpp"

#include <algorithm>
#include <array>

#include "kernels/kernels.hpp"
#include "strided_copy.hpp"

namespace baleen::cpu {
namespace {

// What its operands may be: moved elements of one dtype, numbers of any dtypes, floating ones of 16 bits or more, also
// such of 8 bits, or also int32 ids.
enum class Takes { kOneDtype, kNumbers, kFloats, kFp8, kIds };

struct Entry {
  std::string_view kind;
  Maker make;
  bool packed_rows;  // the innermost dimension of every operand must have stride 1
  Takes takes = Takes::kFloats;
};

constexpr std::array kEntries{
    Entry{"matmul", make_matmul, false, Takes::kFp8},
    Entry{"pointwise", make_pointwise, false, Takes::kNumbers},
    Entry{"reduce", make_reduce, false},
    Entry{"softmax", make_softmax, true},
    Entry{"softmax_grad", make_softmax_grad, true},
    Entry{"norm", make_norm, true},
    Entry{"norm_grad", make_norm_grad, true},
    Entry{"attention", make_attention, true, Takes::kIds},
    Entry{"attention_grad", make_attention_grad, true, Takes::kIds},
    Entry{"embedding", make_embedding, true, Takes::kIds},
    Entry{"embedding_grad", make_embedding_grad, true, Takes::kIds},
    Entry{"cross_entropy", make_cross_entropy, true, Takes::kIds},
    Entry{"cross_entropy_grad", make_cross_entropy_grad, true, Takes::kIds},
    Entry{"linear_cross_entropy", make_linear_cross_entropy, true, Takes::kIds},
    Entry{"linear_cross_entropy_grad", make_linear_cross_entropy_grad, true, Takes::kIds},
    Entry{"linear_cross_entropy_and_grad", make_linear_cross_entropy_and_grad, true, Takes::kIds},
    Entry{"top_k", make_top_k, true, Takes::kIds},
    Entry{"reshape", make_reshape, false, Takes::kOneDtype},
    Entry{"transpose", make_transpose, false, Takes::kOneDtype},
    Entry{"slice", make_slice, false, Takes::kOneDtype},
    Entry{"concat", make_concat, false, Takes::kOneDtype},
    Entry{"pad", make_pad, false, Takes::kOneDtype},
    Entry{"copy", make_copy, false, Takes::kOneDtype},
    Entry{"accumulate", make_accumulate, false, Takes::kNumbers},
};

const Entry* find(const baleen_region_t& region) {
  if (region.op_count != 1) return nullptr;
  const std::string_view kind = view(op_of(region, 0).kind);
  for (const Entry& entry : kEntries)
    if (entry.kind == kind) return &entry;
  return nullptr;
}

// Whether an operand of this dtype may stand beside one of dtype `first`, the op's first floating one or else its
// first.
bool fits(Takes takes, baleen_dtype_t dtype, baleen_dtype_t first) {
  switch (takes) {
    case Takes::kOneDtype: return dtype_size(dtype) > 0 && dtype == first;
    case Takes::kNumbers: return dtype_size(dtype) > 0;
    default:
      if (is_fp8(dtype) && takes != Takes::kFp8) return false;
      return is_floating(dtype) ? (dtype == BALEEN_F64) == (first == BALEEN_F64) : takes == Takes::kIds;
  }
}

// Whether the innermost dimension along which there are several elements has stride 1.
bool packed(const baleen_tensor_t& t) {
  for (std::uint32_t i = t.rank; i-- > 0;)
    if (t.shape[i] != 1) return t.stride[i] == 1 || elements(t) == 0;
  return true;
}

// What an op makes for a later one of the region is in no memory.
bool is_stored(const baleen_region_t& region, std::uint32_t number) {
  const auto has = [number](std::span<const std::uint32_t> list) {
    return std::find(list.begin(), list.end(), number) != list.end();
  };
  for (std::uint64_t made = 0; made < region.op_count; ++made)
    for (std::uint64_t read = made + 1; read < region.op_count && has(Op(op_of(region, made)).outputs()); ++read)
      if (has(Op(op_of(region, read)).inputs())) return false;
  return true;
}

// Copies in, computes on packed operands, copies out.
class PackedKernel : public Kernel {
 public:
  PackedKernel(const Context& context, const baleen_region_t& region) : context_(context) {
    for (std::uint64_t i = 0; i < region.tensor_count; ++i) tensors_.push_back(copy_in(&tensor_of(region, i)));
    addresses_.resize(tensors_.size());
    for (std::uint64_t i = 0; i < region.op_count; ++i) {
      const Op op(op_of(region, i));
      for (const std::uint32_t number : op.inputs())
        if (is_stored(region, number)) pack(number, false);
      for (const std::uint32_t number : op.outputs())
        if (is_stored(region, number)) pack(number, true);
    }
  }

  Status build(Maker make, const baleen_region_t& region) {
    baleen_region_t inner = region;
    inner.tensors = tensors_.data();
    BALEEN_TRY_ASSIGN(inner_, make(context_, inner));
    inner_scratch_ = copies_bytes_;
    scratch_bytes = copies_bytes_ + inner_->scratch_bytes;
    flops = inner_->flops;
    // An alias holds between tensors that are themselves what the kernel sees.
    for (const baleen_alias_t& alias : inner_->aliases)
      if (!is_packed(alias.output) && !is_packed(alias.input)) aliases.push_back(alias);
    return {};
  }

  Status run(const baleen_launch_t& launch) override {
    char* scratch = static_cast<char*>(launch.scratch);
    std::copy(launch.tensors, launch.tensors + addresses_.size(), addresses_.begin());
    for (const Copy& copy : copies_) {
      addresses_[copy.number] = scratch + copy.offset;
      if (!copy.output) copy.in.run(context_.threads, addresses_[copy.number], launch.tensors[copy.number]);
    }
    baleen_launch_t inner = launch;
    inner.tensors = addresses_.data();
    inner.scratch = scratch + inner_scratch_;
    BALEEN_TRY(inner_->run(inner));
    for (const Copy& copy : copies_)
      if (copy.output) copy.in.run(context_.threads, launch.tensors[copy.number], addresses_[copy.number]);
    return {};
  }

 private:
  struct Copy {
    std::uint32_t number;
    bool output;
    std::uint64_t offset;
    StridedCopy in;
  };

  bool is_packed(std::uint32_t number) const {
    return std::any_of(copies_.begin(), copies_.end(), [&](const Copy& c) { return c.number == number; });
  }

  void pack(std::uint32_t number, bool output) {
    baleen_tensor_t& t = tensors_[number];
    if (packed(t) || is_packed(number)) return;
    const baleen_tensor_t before = t;
    std::int64_t stride = 1;
    for (std::uint32_t i = t.rank; i-- > 0; stride *= t.shape[i]) t.stride[i] = stride;
    const auto size = dtype_size(t.dtype);
    copies_.push_back({number, output, copies_bytes_,
                       output ? StridedCopy(size, shape(t), strides(before), strides(t))
                              : StridedCopy(size, shape(t), strides(t), strides(before))});
    copies_bytes_ += padded(static_cast<std::uint64_t>(elements(t)) * size);
  }

  const Context& context_;
  std::vector<baleen_tensor_t> tensors_;
  std::vector<void*> addresses_;
  std::vector<Copy> copies_;
  std::uint64_t copies_bytes_ = 0, inner_scratch_ = 0;
  std::unique_ptr<Kernel> inner_;
};

}  // namespace

std::uint32_t region_score(const baleen_region_t& region) {
  if (is_sum_of_squares(region) || is_largest_magnitude(region)) return 1;
  if (const auto found = norm_grad_and_sum(region)) {
    baleen_region_t first = region;
    first.op_count = 1;
    // In 16 bits the gradient would have to be rounded in between.
    return computed_in(found->sum.tensor.dtype) == found->sum.tensor.dtype ? region_score(first) : 0;
  }
  const Entry* entry = find(region);
  if (!entry) return brings_kernel(region) ? 1 : 0;
  const Op op(op_of(region, 0));
  const auto all = [&](const auto& holds) {
    const auto of = [&](std::uint32_t number) { return holds(tensor_of(region, number).dtype); };
    return std::all_of(op.inputs().begin(), op.inputs().end(), of) &&
           std::all_of(op.outputs().begin(), op.outputs().end(), of);
  };
  baleen_dtype_t first = 0;
  all([&](baleen_dtype_t dtype) {
    if (first == 0 || (is_floating(dtype) && !is_floating(first))) first = dtype;
    return true;
  });
  return all([&](baleen_dtype_t dtype) { return fits(entry->takes, dtype, first); }) ? 1 : 0;
}

Result<std::unique_ptr<Kernel>> make_kernel(const Context& context, const baleen_region_t& region) {
  if (region_score(region) == 0)
    return unsupported(
        "the cpu device has no kernel for a region of " + std::to_string(region.op_count) + " ops beginning with `" +
            std::string(region.op_count ? view(op_of(region, 0).kind) : std::string_view("nothing")) + "`",
        std::string(region.op_count ? view(op_of(region, 0).name) : std::string_view()));
  if (is_sum_of_squares(region)) return make_sum_of_squares(context, region);
  if (is_largest_magnitude(region)) return make_largest_magnitude(context, region);
  const bool and_sum = norm_grad_and_sum(region).has_value();
  const Entry* entry = find(region);
  if (!entry && !and_sum) return make_of_kind(context, region);
  const Maker make = and_sum ? make_norm_grad : entry->make;
  bool in_order = true;
  for (std::uint32_t i = 0; i < region.tensor_count; ++i)
    in_order = in_order && (packed(tensor_of(region, i)) || !is_stored(region, i));
  if (in_order || !(and_sum || entry->packed_rows)) return make(context, region);
  auto kernel = std::make_unique<PackedKernel>(context, region);
  BALEEN_TRY(kernel->build(make, region));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace baleen::cpu
