/// \file attention and its gradient by the plugin's own kernels.
#include "device/attention.hpp"

#include "functions.hpp"
#include "kernels.hpp"

namespace baleen::cuda {
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

/// q, k, v and the optional ids, with which both ops begin.
struct Common {
  Common(const Source& source, bool has_ids) : q(source.in(0)), k(source.in(1)), v(source.in(2)), masked(has_ids) {
    if (masked) {
      ids_q = source.in(3);
      ids_k = source.in(4);
    }
    args.q_view = heads_view(q);
    args.k_view = heads_view(k);
    args.v_view = heads_view(v);
    if (masked) {
      args.ids_q_view = {ids_q.stride(0), ids_q.stride(1)};
      args.ids_k_view = {ids_k.stride(0), ids_k.stride(1)};
    }
    args.batch = q.extent(0);
    args.queries = q.extent(1);
    args.keys = k.extent(1);
    args.heads = q.extent(2);
    args.groups = k.extent(2);
    args.width = static_cast<std::int32_t>(q.extent(3));
    args.scale = source.op().number("scale");
    // Without a causal mask every key is within reach of the first query.
    const bool causal = source.op().integer("causal", 0) != 0;
    args.reach = causal ? args.keys - args.queries + 1 : args.keys;
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
    out.ids_q = masked ? launch.at<const std::int32_t>(ids_q) : nullptr;
    out.ids_k = masked ? launch.at<const std::int32_t>(ids_k) : nullptr;
    return out;
  }
  double pairs() const {
    const auto s = static_cast<double>(args.queries), t = static_cast<double>(args.keys);
    const double seen = args.reach < args.keys ? s * t - s * (s - 1) / 2 : s * t;
    return seen * static_cast<double>(args.batch * args.heads);
  }

  Operand q, k, v, ids_q, ids_k;
  bool masked;
  AttentionArgs args{};
};

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const Source& source)
      : common_(source, source.inputs() > 3), o_(source.out(0)), lse_(source.out(1)) {
    common_.args.o_view = heads_view(o_);
    common_.args.lse_view = {lse_.stride(0), lse_.stride(1), lse_.stride(2)};
    flops = 4 * common_.pairs() * static_cast<double>(common_.args.width);
  }
  Status build(const Context& context) {
    const TileSizes tiles = forward_tiles(context.limits, common_.args.width, element_bytes(o_));
    common_.use(tiles);
    const AttentionArgs& args = common_.args;
    geometry_ = {args.batch * args.heads * ceil_div(args.queries, tiles.queries), 1, 1, 256, tiles.shared_bytes};
    const std::string name = std::string("baleen_attention") + suffix(o_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name, tiles.shared_bytes));
    return {};
  }
  Status run(const Launch& launch) const override {
    AttentionArgs args = common_.at(launch);
    args.o = launch.values(o_);
    args.lse = launch.values(lse_);
    return launch.run(function_, geometry_, args);
  }

 private:
  Common common_;
  Operand o_, lse_;
  Geometry geometry_;
  CUfunction function_ = nullptr;
};

class AttentionGradKernel : public Kernel {
 public:
  explicit AttentionGradKernel(const Source& source)
      : common_(source, source.inputs() > 6),
        o_(source.in(source.inputs() - 3)),
        lse_(source.in(source.inputs() - 2)),
        do_(source.in(source.inputs() - 1)),
        dq_(source.out(0)),
        dk_(source.out(1)),
        dv_(source.out(2)) {
    common_.args.o_view = heads_view(o_);
    common_.args.lse_view = {lse_.stride(0), lse_.stride(1), lse_.stride(2)};
    flops = 10 * common_.pairs() * static_cast<double>(common_.args.width);
    rows_ = common_.args.batch * common_.args.heads * common_.args.queries;
    scratch_bytes = static_cast<std::uint64_t>(rows_) * element_bytes(o_);
  }
  Status build(const Context& context) {
    tiles_ = gradient_tiles(context.limits, common_.args.width, element_bytes(o_));
    common_.use(tiles_);
    const std::string end = suffix(o_.tensor.dtype);
    BALEEN_TRY_ASSIGN(delta_, context.functions.find("baleen_attention_delta" + end));
    BALEEN_TRY_ASSIGN(dkv_, context.functions.find("baleen_attention_dkv" + end, tiles_.shared_bytes));
    BALEEN_TRY_ASSIGN(dq_function_, context.functions.find("baleen_attention_dq" + end, tiles_.shared_bytes));
    return {};
  }
  Status run(const Launch& launch) const override {
    AttentionGradArgs args{};
    args.forward = common_.at(launch);
    args.forward.o = launch.values(o_);
    args.forward.lse = launch.values(lse_);
    args.d_o = launch.values(do_);
    args.dq = launch.values(dq_);
    args.dk = launch.values(dk_);
    args.dv = launch.values(dv_);
    args.delta = launch.call.scratch;
    args.do_view = heads_view(do_);
    args.dq_view = heads_view(dq_);
    args.dk_view = heads_view(dk_);
    args.dv_view = heads_view(dv_);
    const AttentionArgs& f = args.forward;
    const auto geometry = [&](std::int64_t blocks) { return Geometry{blocks, 1, 1, 256, tiles_.shared_bytes}; };
    BALEEN_TRY(launch.run(delta_, warp_per_element(rows_), args));
    BALEEN_TRY(launch.run(dkv_, geometry(f.batch * f.groups * ceil_div(f.keys, tiles_.keys)), args));
    return launch.run(dq_function_, geometry(f.batch * f.heads * ceil_div(f.queries, tiles_.queries)), args);
  }

 private:
  Common common_;
  Operand o_, lse_, do_, dq_, dk_, dv_;
  std::int64_t rows_ = 0;
  TileSizes tiles_;
  CUfunction delta_ = nullptr, dkv_ = nullptr, dq_function_ = nullptr;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand q = source.in(0), k = source.in(1);
  if (q.rank() != 4 || k.rank() != 4 || k.extent(2) <= 0 || q.extent(2) % k.extent(2) != 0)
    return invalid("attention of q " + shape_text(q.tensor) + " and k " + shape_text(k.tensor) +
                       ": the heads must be a multiple of the groups",
                   source.name());
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
