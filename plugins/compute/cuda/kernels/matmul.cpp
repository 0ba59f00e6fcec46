/// \file matmul: a contraction by letters, optionally added to a third operand.
#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

class MatmulKernel : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const Context& context, const Source& source, const Contraction& c) {
    auto kernel = std::make_unique<MatmulKernel>();
    kernel->a_ = source.in(0);
    kernel->b_ = source.in(1);
    kernel->y_ = source.out(0);
    const Operand& y = kernel->y_;
    kernel->adds_ = source.inputs() > 2;
    BALEEN_TRY_ASSIGN(
        kernel->product_,
        make_product(context, c, {kernel->a_.tensor.dtype, kernel->b_.tensor.dtype, y.tensor.dtype}, kernel->adds_));
    kernel->scratch_bytes = kernel->product_->scratch_bytes;
    kernel->flops = c.flops();
    kernel->products = {kernel->product_->kind};
    if (kernel->adds_) {
      kernel->c_ = source.in(2);
      kernel->may_alias(y, kernel->c_);
      BALEEN_TRY_ASSIGN(kernel->initial_,
                        Mover::make(context, y.tensor.dtype, shape(y.tensor), strides_of(y), strides_of(kernel->c_)));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void begin() const override { product_->begin(); }
  Status finish() override { return product_->finish(); }
  Status run(const Launch& launch) const override {
    if (adds_ && launch.at(y_) != launch.at(c_)) BALEEN_TRY(initial_.run(launch, launch.at(y_), launch.at(c_)));
    return product_->run(launch, launch.at<const char>(a_), launch.at<const char>(b_), launch.at<char>(y_),
                         launch.call.scratch);
  }

 private:
  Operand a_, b_, c_, y_;
  bool adds_ = false;
  Mover initial_;
  std::unique_ptr<Product> product_;
};

}  // namespace

bool matmul_fits(const DeviceLimits&, const baleen_region_t& region) {
  const Source source(region);
  return source.inputs() < 3 || source.in(2).tensor.dtype == source.out(0).tensor.dtype;
}

Result<std::unique_ptr<Kernel>> make_matmul(const Context& context, const baleen_region_t& region) {
  return make_matmul(context, Source(region));
}

Result<std::unique_ptr<Kernel>> make_matmul(const Context& context, const Source& source) {
  auto c = contraction_groups(source.op().text("spec"), source.in(0), source.in(1), source.out(0));
  if (!c) return Error{c.error().code, c.error().message, source.name()};
  return MatmulKernel::make(context, source, *c);
}

}  // namespace baleen::cuda
