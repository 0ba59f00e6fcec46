/// \file norm and norm_grad.
#include "functions.hpp"
#include "kernels.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// How the name of the kernel that holds these rows in registers goes on; empty where none does. Rows have one dtype,
/// parameters (that are there) fp32 or the same, and what the gradient reads of each row (`statistics`) is fp32.
template <int kOperands>
std::string held_in(const Rows<kOperands>& rows, std::int64_t widest, std::int64_t by_warp,
                    std::initializer_list<Operand> alike, std::initializer_list<Operand> parameters,
                    std::initializer_list<Operand> statistics = {}) {
  const baleen_dtype_t dtype = alike.begin()->tensor.dtype, own = parameters.begin()->tensor.dtype;
  const auto has = [](baleen_dtype_t wanted) { return [=](const Operand& o) { return o.tensor.dtype == wanted; }; };
  if (!rows.packs || rows.width % kPack != 0 || rows.width > widest || (own != BALEEN_F32 && own != dtype) ||
      !std::all_of(alike.begin(), alike.end(), has(dtype)) ||
      !std::all_of(parameters.begin(), parameters.end(), has(own)) ||
      !std::all_of(statistics.begin(), statistics.end(), has(BALEEN_F32)))
    return {};
  return (rows.width <= by_warp ? "_warp" + std::to_string(held_by_lane(rows.width)) : std::string("_block")) +
         (dtype == BALEEN_BF16  ? "_bf16"
          : dtype == BALEEN_F16 ? "_f16"
                                : "_f32");
}

bool is_layer(const Source& source) { return source.op().text("kind") == "layer"; }

class NormKernel : public Kernel {
 public:
  explicit NormKernel(const Source& source)
      : x_(source.in(0)),
        gamma_(source.in(1)),
        y_(source.out(0)),
        rstd_(source.out(1)),
        layer_(is_layer(source)),
        has_beta_(source.inputs() > 2) {
    if (has_beta_) beta_ = source.in(2);
    mean_ = layer_ ? source.out(2) : rstd_;
    args_.rows = make_rows<4>({x_, y_, rstd_, mean_});
    args_.gamma_stride = gamma_.inner_stride();
    args_.beta_stride = has_beta_ ? beta_.inner_stride() : 0;
    args_.epsilon = source.op().number("epsilon");
    args_.rows.packs = args_.rows.packs && args_.gamma_stride == 1 && (!has_beta_ || args_.beta_stride == 1);
    held_ = held_in(args_.rows, kMostHeld, kHeldByWarp, {x_, y_}, {gamma_, has_beta_ ? beta_ : gamma_});
    may_alias(y_, x_);
  }
  Status find(const Context& context) {
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_norm") + suffix(x_.tensor.dtype)));
    if (!held_.empty()) {
      BALEEN_TRY_ASSIGN(held_function_, context.functions.find("baleen_norm" + held_));
    }
    return {};
  }
  Status run(const Launch& launch) const override {
    NormArgs args = args_;
    args.x = launch.values(x_);
    args.gamma = launch.values(gamma_);
    if (has_beta_) args.beta = launch.values(beta_);
    args.y = launch.values(y_);
    args.rstd = launch.values(rstd_);
    if (layer_) args.mean = launch.values(mean_);
    args.rows.packs = args.rows.packs && aligned({args.x, args.gamma, args.beta, args.y});
    const std::int64_t rows = args.rows.leading.size;
    if (held_function_ && args.rows.packs) return launch.run(held_function_, held_rows(rows, args.rows.width), args);
    return launch.run(function_, row_geometry(rows, args_.rows), args);
  }

 private:
  Operand x_, gamma_, beta_, y_, rstd_, mean_;
  bool layer_, has_beta_;
  NormArgs args_{};
  std::string held_;
  CUfunction function_ = nullptr, held_function_ = nullptr;
};

std::uint64_t sums_bytes(const Source& source) {
  const Operand x = source.in(0);
  const auto columns = static_cast<std::uint64_t>(x.extent(x.rank() - 1)) * (source.outputs() > 2 ? 2 : 1);
  return columns * (x.tensor.dtype == BALEEN_F64 ? 8 : 4);
}

class NormGradKernel : public Kernel {
 public:
  NormGradKernel(const Source& source, const std::optional<NormGradAndSum>& and_sum)
      : x_(source.in(0)),
        gamma_(source.in(1)),
        dy_(source.in(2)),
        rstd_(source.in(3)),
        dx_(and_sum ? and_sum->sum : source.out(0)),
        dgamma_(source.out(1)),
        added_(and_sum ? and_sum->added : dx_),
        layer_(is_layer(source)),
        has_beta_(source.outputs() > 2),
        adds_(and_sum.has_value()) {
    mean_ = layer_ ? source.in(4) : rstd_;
    if (has_beta_) dbeta_ = source.out(2);
    args_.rows = make_rows<6>({x_, dy_, dx_, rstd_, mean_, added_});
    args_.gamma_stride = gamma_.inner_stride();
    args_.has_beta = has_beta_;
    args_.layer = layer_;
    args_.adds = adds_;
    args_.rows.packs = args_.rows.packs && args_.gamma_stride == 1;
    geometry_ = row_geometry(norm_grad_blocks(args_.rows.leading.size), args_.rows);
    geometry_.shared_bytes = sums_bytes(source);
    const int bytes = x_.tensor.dtype == BALEEN_F32 ? 4 : 2;
    held_ =
        held_in(args_.rows, kMostHeldGrad, most_held_by_warp(bytes), {x_, dy_, dx_, added_}, {gamma_}, {rstd_, mean_});
    held_geometry_ = held_norm_grad(args_.rows.leading.size, args_.rows.width, bytes);
    const std::int64_t most = std::max(geometry_.blocks, held_.empty() ? 0 : held_geometry_.blocks);
    scratch_bytes = geometry_.shared_bytes * static_cast<std::uint64_t>(most);
    may_alias(dx_, x_);
    may_alias(dx_, dy_);
    if (adds_) may_alias(dx_, added_);
  }
  Status find(const Context& context) {
    const std::string end = suffix(x_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find("baleen_norm_grad" + end, geometry_.shared_bytes));
    BALEEN_TRY_ASSIGN(sum_, context.functions.find("baleen_norm_grad_sum" + end));
    if (!held_.empty()) {
      BALEEN_TRY_ASSIGN(held_function_,
                        context.functions.find("baleen_norm_grad" + held_, held_geometry_.shared_bytes));
    }
    return {};
  }
  Status run(const Launch& launch) const override {
    NormGradArgs args = args_;
    args.x = launch.values(x_);
    args.gamma = launch.values(gamma_);
    args.dy = launch.values(dy_);
    args.rstd = launch.values(rstd_);
    if (layer_) args.mean = launch.values(mean_);
    args.dx = launch.values(dx_);
    args.added = launch.values(added_);
    args.partials = launch.call.scratch;
    args.rows.packs = args.rows.packs && aligned({args.x, args.gamma, args.dy, args.dx, args.added});
    const bool held = held_function_ && args.rows.packs;
    const Geometry& geometry = held ? held_geometry_ : geometry_;
    BALEEN_TRY(launch.run(held ? held_function_ : function_, geometry, args));
    const NormGradSumArgs sum{
        launch.call.scratch, launch.values(dgamma_), has_beta_ ? launch.values(dbeta_) : Values{}, args.rows.width,
        geometry.blocks,     dgamma_.inner_stride(), has_beta_ ? dbeta_.inner_stride() : 0};
    return launch.run(sum_, Geometry{ceil_div(args.rows.width * (has_beta_ ? 2 : 1), 32), 1, 1, 1024}, sum);
  }

 private:
  Operand x_, gamma_, dy_, rstd_, mean_, dx_, dgamma_, dbeta_, added_;
  bool layer_, has_beta_, adds_;
  NormGradArgs args_{};
  std::string held_;
  Geometry geometry_, held_geometry_;
  CUfunction function_ = nullptr, sum_ = nullptr, held_function_ = nullptr;
};

template <class Made, class... More>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region, const More&... more) {
  const Source source(region);
  const std::string_view kind = source.op().text("kind");
  if (kind != "layer" && kind != "rms")
    return invalid("norm has no kind `" + std::string(kind) + "`; there are `layer` and `rms`", source.name());
  auto kernel = std::make_unique<Made>(source, more...);
  BALEEN_TRY(kernel->find(context));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

bool norm_grad_fits(const DeviceLimits& limits, const baleen_region_t& region) {
  return sums_bytes(Source(region)) <= limits.shared_bytes;
}

Result<std::unique_ptr<Kernel>> make_norm(const Context& context, const baleen_region_t& region) {
  return make<NormKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_norm_grad(const Context& context, const baleen_region_t& region) {
  return make<NormGradKernel>(context, region, norm_grad_and_sum(region));
}

bool norm_grad_adds(const Operand& sum) {
  const std::int64_t width = sum.extent(sum.rank() - 1);
  return dtype_size(sum.tensor.dtype) != 2 || width <= 32 * kMostAdded || width > most_held_by_warp(2);
}

}  // namespace baleen::cuda
