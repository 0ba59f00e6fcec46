/// \file norm and norm_grad.
#include "functions.hpp"
#include "kernels.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

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
    may_alias(y_, x_);
  }
  Status find(const Context& context) {
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_norm") + suffix(x_.tensor.dtype)));
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
    return launch.run(function_, row_geometry(args.rows.leading.size, args_.rows), args);
  }

 private:
  Operand x_, gamma_, beta_, y_, rstd_, mean_;
  bool layer_, has_beta_;
  NormArgs args_{};
  CUfunction function_ = nullptr;
};

std::uint64_t sums_bytes(const Source& source) {
  const Operand x = source.in(0);
  const auto columns = static_cast<std::uint64_t>(x.extent(x.rank() - 1)) * (source.outputs() > 2 ? 2 : 1);
  return columns * (x.tensor.dtype == BALEEN_F64 ? 8 : 4);
}

class NormGradKernel : public Kernel {
 public:
  explicit NormGradKernel(const Source& source)
      : x_(source.in(0)),
        gamma_(source.in(1)),
        dy_(source.in(2)),
        rstd_(source.in(3)),
        dx_(source.out(0)),
        dgamma_(source.out(1)),
        layer_(is_layer(source)),
        has_beta_(source.outputs() > 2) {
    mean_ = layer_ ? source.in(4) : rstd_;
    if (has_beta_) dbeta_ = source.out(2);
    args_.rows = make_rows<5>({x_, dy_, dx_, rstd_, mean_});
    args_.gamma_stride = gamma_.inner_stride();
    args_.has_beta = has_beta_;
    args_.layer = layer_;
    args_.rows.packs = args_.rows.packs && args_.gamma_stride == 1;
    geometry_ = row_geometry(norm_grad_blocks(args_.rows.leading.size), args_.rows);
    geometry_.shared_bytes = sums_bytes(source);
    scratch_bytes = geometry_.shared_bytes * static_cast<std::uint64_t>(geometry_.blocks);
    may_alias(dx_, x_);
    may_alias(dx_, dy_);
  }
  Status find(const Context& context) {
    const std::string end = suffix(x_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find("baleen_norm_grad" + end, geometry_.shared_bytes));
    BALEEN_TRY_ASSIGN(sum_, context.functions.find("baleen_norm_grad_sum" + end));
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
    args.partials = launch.call.scratch;
    args.rows.packs = args.rows.packs && aligned({args.x, args.gamma, args.dy, args.dx});
    BALEEN_TRY(launch.run(function_, geometry_, args));
    const NormGradSumArgs sum{
        launch.call.scratch, launch.values(dgamma_), has_beta_ ? launch.values(dbeta_) : Values{}, args.rows.width,
        geometry_.blocks,    dgamma_.inner_stride(), has_beta_ ? dbeta_.inner_stride() : 0};
    return launch.run(sum_, Geometry{ceil_div(args.rows.width * (has_beta_ ? 2 : 1), 32), 1, 1, 1024}, sum);
  }

 private:
  Operand x_, gamma_, dy_, rstd_, mean_, dx_, dgamma_, dbeta_;
  bool layer_, has_beta_;
  NormGradArgs args_{};
  Geometry geometry_;
  CUfunction function_ = nullptr, sum_ = nullptr;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const std::string_view kind = source.op().text("kind");
  if (kind != "layer" && kind != "rms")
    return invalid("norm has no kind `" + std::string(kind) + "`; there are `layer` and `rms`", source.name());
  auto kernel = std::make_unique<Made>(source);
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
  return make<NormGradKernel>(context, region);
}

}  // namespace baleen::cuda
