/// \file A product and the sum of one of its operands (gradients of a weight and of its bias): one call of cuBLASLt
/// where it takes that, else two kernels.
#include <algorithm>

#include "baleen/contraction.hpp"
#include "epilogue.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {

using namespace sdk;

namespace {

/// Whether the elements of the sum come in the order in which cuBLASLt walks the side: that of the operand's memory.
bool lies_as_walked(const Operand& x, const Operand& sum, std::span<const std::int64_t> dims) {
  if (strides_of(sum) != packed_strides(shape(sum.tensor))) return false;
  std::int64_t expected = 0;
  for (std::uint32_t d = x.rank(); d-- > 0;) {
    const bool summed = std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end();
    if (summed || x.extent(d) == 1) continue;
    if (expected != 0 && x.stride(d) != expected) return false;
    expected = x.stride(d) * x.extent(d);
  }
  return true;
}

class TwoKernels : public Kernel {
 public:
  TwoKernels(std::unique_ptr<Kernel> product, std::unique_ptr<Kernel> sum)
      : product_(std::move(product)), sum_(std::move(sum)) {
    scratch_bytes = std::max(product_->scratch_bytes, sum_->scratch_bytes);
    for (const ProductKind kind : product_->products) products.push_back(std::max(kind, ProductKind::kTwoSteps));
  }
  void begin() const override {
    product_->begin();
    sum_->begin();
  }
  Status finish() override {
    BALEEN_TRY(product_->finish());
    return sum_->finish();
  }
  Status run(const Launch& launch) const override {
    BALEEN_TRY(product_->run(launch));
    return sum_->run(launch);
  }

 private:
  std::unique_ptr<Kernel> product_, sum_;
};

/// By cuBLASLt's epilogue; by two kernels where an address is not as it wants them, and once it refused a launch.
class SummingKernel : public Kernel {
 public:
  SummingKernel(const Context& context, const Source& product, const Operand& sum, std::unique_ptr<BlasProduct> blas,
                std::unique_ptr<Kernel> two)
      : refusal_(context.products, kByTwo),
        a_(product.in(0)),
        b_(product.in(1)),
        y_(product.out(0)),
        sum_(sum),
        product_(std::move(blas)),
        two_(std::move(two)) {
    scratch_bytes = std::max(product_->workspace_bytes(), two_->scratch_bytes);
    products = {ProductKind::kFused};
    if (!product_->takes_any_address())
      context.products.once(BALEEN_INFO, "cuBLASLt has no algorithm for " + product_->text() +
                                             ", where an operand begins at no multiple of 16 bytes: there " + kByTwo);
  }
  Kernel& two() const { return *two_; }
  std::unique_ptr<Kernel> take_two() { return std::move(two_); }

  void begin() const override { two_->begin(); }
  Status finish() override { return two_->finish(); }
  Status run(const Launch& launch) const override {
    const auto by_two = [&] { return two_->run(launch); };
    const char *a = launch.at<const char>(a_), *b = launch.at<const char>(b_);
    char* const y = launch.at<char>(y_);
    if (!aligned({launch.values(sum_)}) || !product_->takes(a, b, y)) return by_two();
    const auto joined = [&]() -> Status {
      BALEEN_TRY(product_->bind(launch.at(sum_), nullptr));
      return product_->run(launch.stream, a, b, y, false, launch.call.scratch);
    };
    return refusal_.run(joined, by_two);
  }

 private:
  static constexpr const char* kByTwo = "it is computed in two steps";

  Refusal refusal_;
  Operand a_, b_, y_, sum_;
  std::unique_ptr<BlasProduct> product_;
  std::unique_ptr<Kernel> two_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_product_and_sum(const Context& context, const baleen_region_t& region) {
  const ProductAndSum found = *product_and_sum(region);
  const Source product(region, found.product), sum(region, found.sum);
  BALEEN_TRY_ASSIGN(auto one, make_matmul(context, product));
  BALEEN_TRY_ASSIGN(auto other, make_reduce(context, sum));
  const double flops = one->flops;
  std::unique_ptr<Kernel> kernel = std::make_unique<TwoKernels>(std::move(one), std::move(other));
  auto c = contraction_groups(product.op().text("spec"), product.in(0), product.in(1), product.out(0));
  const auto plan = c ? plan_gemm(*c) : std::nullopt;
  if (plan && plan->turns.size() == 1 && plan->batch == 1 && context.blas &&
      lies_as_walked(sum.in(0), sum.out(0), sum.op().integers("dims"))) {
    const bool left = (found.operand == 0) != plan->swapped;
    const BlasEpilogue epilogue{left ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB, true, false};
    const ProductTypes types{product.in(0).tensor.dtype, product.in(1).tensor.dtype, product.out(0).tensor.dtype};
    BALEEN_TRY_ASSIGN(auto blas, BlasProduct::make(*context.blas, *plan, types, epilogue));
    if (blas) {
      auto summing = std::make_unique<SummingKernel>(context, product, sum.out(0), std::move(blas), std::move(kernel));
      summing->flops = flops;
      if (is_faster(context, region, "product and sum", *summing, summing->two()))
        kernel = summing->take_two();
      else
        kernel = std::move(summing);
    }
  }
  kernel->flops = flops;
  return kernel;
}

}  // namespace baleen::cuda
