/// \file cross_entropy and its gradient.
#include "cross_entropy_rows.hpp"
#include "kernels.hpp"

namespace baleen::cuda {
namespace {

class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const Source& source)
      : x_(source.in(0)), target_(source.in(1)), loss_(source.out(0)), lse_(source.out(1)) {
    args_ = cross_entropy_args(source.op(), make_held(x_, x_.rank() - 1));
    args_.rows = make_rows<4>({x_, target_, loss_, lse_});
    ids = args_.range;
  }
  Status find(const Context& context) {
    const std::string name = std::string("baleen_cross_entropy") + suffix(x_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name));
    return {};
  }
  Status run(const Launch& launch) const override {
    CrossEntropyArgs args = args_;
    args.x = launch.values(x_);
    args.target = launch.at<const std::int32_t>(target_);
    args.loss = launch.values(loss_);
    args.lse = launch.values(lse_);
    args.report = launch.report;
    args.rows.packs = args.rows.packs && aligned({args.x});
    return launch.run(function_, row_geometry(args.rows.leading.size, args_.rows), args);
  }

 private:
  Operand x_, target_, loss_, lse_;
  CrossEntropyArgs args_{};
  CUfunction function_ = nullptr;
};

class CrossEntropyGradKernel : public Kernel {
 public:
  explicit CrossEntropyGradKernel(const Source& source)
      : x_(source.in(0)), target_(source.in(1)), lse_(source.in(2)), dloss_(source.in(3)), dx_(source.out(0)) {
    args_ = cross_entropy_grad_args(source.op(), make_held(x_, x_.rank() - 1));
    args_.rows = make_rows<5>({x_, dx_, target_, lse_, dloss_});
    ids = args_.range;
    may_alias(dx_, x_);
  }
  Status find(const Context& context) {
    const std::string name = std::string("baleen_cross_entropy_grad") + suffix(x_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name));
    return {};
  }
  Status run(const Launch& launch) const override {
    CrossEntropyGradArgs args = args_;
    args.x = launch.values(x_);
    args.dx = launch.values(dx_);
    args.target = launch.at<const std::int32_t>(target_);
    args.lse = launch.values(lse_);
    args.dloss = launch.values(dloss_);
    args.report = launch.report;
    args.rows.packs = args.rows.packs && aligned({args.x, args.dx});
    return launch.run(function_, row_geometry(args.rows.leading.size, args_.rows), args);
  }

 private:
  Operand x_, target_, lse_, dloss_, dx_;
  CrossEntropyGradArgs args_{};
  CUfunction function_ = nullptr;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(1)));
  auto kernel = std::make_unique<Made>(source);
  BALEEN_TRY(kernel->find(context));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_cross_entropy(const Context& context, const baleen_region_t& region) {
  return make<CrossEntropyKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_cross_entropy_grad(const Context& context, const baleen_region_t& region) {
  return make<CrossEntropyGradKernel>(context, region);
}

}  // namespace baleen::cuda
