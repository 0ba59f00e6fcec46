/// \file attention and its gradient by the plugin's own kernels.
#include "device/attention.hpp"

#include "baleen/attention.hpp"
#include "functions.hpp"
#include "kernels.hpp"

namespace baleen::cuda {

using namespace sdk;

namespace {

HeadsView heads_view(const Operand& x) { return {x.stride(0), x.stride(1), x.stride(2), x.stride(3)}; }

std::uint64_t element_bytes(const Operand& x) { return dtype_size(computed_in(x.tensor.dtype)); }

/// The largest tiles whose shared memory fits; 0 where none does.
struct TileSizes {
  std::int32_t queries = 0, keys = 0;
  std::uint64_t shared_bytes = 0;
};

TileSizes forward_tiles(const DeviceLimits& limits, std::int64_t width, std::uint64_t element) {
  for (const auto& [queries, keys] : {std::pair{64, 32}, {32, 32}, {16, 16}}) {
    const auto bytes = static_cast<std::uint64_t>(attention_shared(queries, keys, width)) * element;
    if (bytes <= limits.shared_bytes) return {queries, keys, bytes};
  }
  return {};
}

TileSizes gradient_tiles(const DeviceLimits& limits, std::int64_t width, std::uint64_t element) {
  for (const int tile : {32, 16}) {
    const auto bytes = static_cast<std::uint64_t>(attention_grad_shared(tile, width)) * element;
    if (bytes <= limits.shared_bytes) return {tile, tile, bytes};
  }
  return {};
}

/// What both ops have in common.
struct Common : AttentionOperands {
  explicit Common(const Source& source) : AttentionOperands(source) {
    args.q_view = heads_view(q);
    args.k_view = heads_view(k);
    args.v_view = heads_view(v);
    args.o_view = heads_view(o);
    args.lse_view = {lse.stride(0), lse.stride(1), lse.stride(2)};
    if (masked) {
      args.ids_q_view = {ids_q.stride(0), ids_q.stride(1)};
      args.ids_k_view = {ids_k.stride(0), ids_k.stride(1)};
    }
    args.batch = batch;
    args.queries = queries;
    args.keys = keys;
    args.heads = heads;
    args.groups = groups;
    args.width = static_cast<std::int32_t>(width);
    args.scale = scale;
    args.reach = reach;
  }
  void use(const TileSizes& tiles) {
    args.query_tile = tiles.queries;
    args.key_tile = tiles.keys;
  }
  /// With the operands' addresses.
  AttentionArgs at(const Launch& launch) const {
    AttentionArgs out = args;
    out.q = launch.values(q);
    out.k = launch.values(k);
    out.v = launch.values(v);
    out.o = launch.values(o);
    out.lse = launch.values(lse);
    out.ids_q = masked ? launch.at<const std::int32_t>(ids_q) : nullptr;
    out.ids_k = masked ? launch.at<const std::int32_t>(ids_k) : nullptr;
    return out;
  }
  AttentionArgs args{};
};

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const Source& source) : common_(source) {
    flops = 4 * common_.pairs() * static_cast<double>(common_.args.width);
  }
  Status build(const Context& context) {
    const TileSizes tiles = forward_tiles(context.limits, common_.args.width, element_bytes(common_.o));
    common_.use(tiles);
    const AttentionArgs& args = common_.args;
    geometry_ = {args.batch * args.heads * ceil_div(args.queries, tiles.queries), 1, 1, 256, tiles.shared_bytes};
    const std::string name = std::string("baleen_attention") + suffix(common_.o.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name, tiles.shared_bytes));
    return {};
  }
  Status run(const Launch& launch) const override { return launch.run(function_, geometry_, common_.at(launch)); }

 private:
  Common common_;
  Geometry geometry_;
  CUfunction function_ = nullptr;
};

class AttentionGradKernel : public Kernel {
 public:
  explicit AttentionGradKernel(const Source& source) : common_(source) {
    flops = 10 * common_.pairs() * static_cast<double>(common_.args.width);
    rows_ = common_.args.batch * common_.args.heads * common_.args.queries;
    scratch_bytes = static_cast<std::uint64_t>(rows_) * element_bytes(common_.o);
  }
  Status build(const Context& context) {
    tiles_ = gradient_tiles(context.limits, common_.args.width, element_bytes(common_.o));
    common_.use(tiles_);
    const std::string end = suffix(common_.o.tensor.dtype);
    BALEEN_TRY_ASSIGN(delta_, context.functions.find("baleen_attention_delta" + end));
    BALEEN_TRY_ASSIGN(dkv_, context.functions.find("baleen_attention_dkv" + end, tiles_.shared_bytes));
    BALEEN_TRY_ASSIGN(dq_function_, context.functions.find("baleen_attention_dq" + end, tiles_.shared_bytes));
    return {};
  }
  Status run(const Launch& launch) const override {
    AttentionGradArgs args{};
    args.forward = common_.at(launch);
    args.d_o = launch.values(common_.d_o);
    args.dq = launch.values(common_.dq);
    args.dk = launch.values(common_.dk);
    args.dv = launch.values(common_.dv);
    args.delta = launch.call.scratch;
    args.do_view = heads_view(common_.d_o);
    args.dq_view = heads_view(common_.dq);
    args.dk_view = heads_view(common_.dk);
    args.dv_view = heads_view(common_.dv);
    const AttentionArgs& f = args.forward;
    const auto geometry = [&](std::int64_t blocks) { return Geometry{blocks, 1, 1, 256, tiles_.shared_bytes}; };
    BALEEN_TRY(launch.run(delta_, warp_per_element(rows_), args));
    BALEEN_TRY(launch.run(dkv_, geometry(f.batch * f.groups * ceil_div(f.keys, tiles_.keys)), args));
    return launch.run(dq_function_, geometry(f.batch * f.heads * ceil_div(f.queries, tiles_.queries)), args);
  }

 private:
  Common common_;
  std::int64_t rows_ = 0;
  TileSizes tiles_;
  CUfunction delta_ = nullptr, dkv_ = nullptr, dq_function_ = nullptr;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_attention(source));
  auto made = std::make_unique<Made>(source);
  BALEEN_TRY(made->build(context));
  std::unique_ptr<Kernel> own = std::move(made);
  if (auto by_library = make_dnn_attention(context, region, own)) return by_library;
  return own;
}

}  // namespace

bool attention_fits(const DeviceLimits& limits, const baleen_region_t& region) {
  const Source source(region);
  const Operand q = source.in(0);
  if (q.rank() != 4) return true;  // refused with words when it is compiled
  const bool forward = source.op().kind() == "attention";
  const std::uint64_t element = element_bytes(q);
  return (forward ? forward_tiles(limits, q.extent(3), element) : gradient_tiles(limits, q.extent(3), element))
             .queries > 0;
}

Result<std::unique_ptr<Kernel>> make_attention(const Context& context, const baleen_region_t& region) {
  return make<AttentionKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_attention_grad(const Context& context, const baleen_region_t& region) {
  return make<AttentionGradKernel>(context, region);
}

}  // namespace baleen::cuda
