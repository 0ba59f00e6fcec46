/// \file A product and what stands behind it: one call of cuBLASLt where it takes the epilogue, else the product and a
/// generated kernel in place.
#include <algorithm>
#include <mutex>

#include "epilogue.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// The operands of a fused region by their roles.
struct Roles {
  explicit Roles(const baleen_region_t& region) : product(region, 0), after(region, 1) {
    const auto inputs = after.op().inputs();
    const std::uint32_t interior = product.out(0).number;
    at = static_cast<std::uint32_t>(std::find(inputs.begin(), inputs.end(), interior) - inputs.begin());
    epilogue = *recognize(after.op().expression("expression"), after.op().integers("results"), at,
                          product.out(0).tensor.dtype);
    result = after.out(epilogue.result);
    other = after.in(epilogue.other);
    if (epilogue.sum) sum = after.out(*epilogue.sum);
  }
  ProductTypes types() const { return {product.in(0).tensor.dtype, product.in(1).tensor.dtype, result.tensor.dtype}; }
  Source product, after;
  std::uint32_t at = 0;  ///< the pointwise op's input that is the product
  Epilogue epilogue;
  Operand result, other, sum;
};

BlasEpilogue blas_epilogue(const Epilogue& epilogue) {
  switch (epilogue.kind) {
    case Epilogue::Kind::kBias: return {CUBLASLT_EPILOGUE_BIAS, true, false};
    case Epilogue::Kind::kGeluGrad: return {CUBLASLT_EPILOGUE_DGELU, false, true};
    default:
      return epilogue.sum ? BlasEpilogue{CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true}
                          : BlasEpilogue{CUBLASLT_EPILOGUE_GELU_BIAS, true, false};
  }
}

/// Whether cuBLASLt's view of the other operands is theirs.
bool fits(const Roles& roles, const GemmPlan& plan, std::string_view spec) {
  const Epilogue& epilogue = roles.epilogue;
  constexpr std::int64_t kAuxPitch = 8;  // what cuBLASLt wants the pre-activation's rows to be a multiple of
  if (plan.turns.size() != 1 || plan.batch != 1) return false;
  const bool has_aux = epilogue.sum || epilogue.kind == Epilogue::Kind::kGeluGrad;
  if (has_aux && plan.result.leading % kAuxPitch != 0) return false;
  if (epilogue.kind == Epilogue::Kind::kGeluGrad) return same_layout(roles.other.tensor, roles.result.tensor);
  if (epilogue.sum && !same_layout(roles.sum.tensor, roles.result.tensor)) return false;
  return is_vector_along(roles.other, roles.result, spec, plan.swapped);
}

/// The product is computed where the result will be.
class TwoStepKernel : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const Context& context, const Roles& roles, const Contraction& c) {
    auto kernel = std::make_unique<TwoStepKernel>();
    kernel->a_ = roles.product.in(0);
    kernel->b_ = roles.product.in(1);
    kernel->y_ = roles.result;
    BALEEN_TRY_ASSIGN(kernel->product_, make_product(context, c, roles.types(), false));
    std::vector<Operand> inputs, outputs;
    for (std::size_t i = 0; i < roles.after.inputs(); ++i)
      inputs.push_back(i == roles.at ? roles.result : roles.after.in(i));
    for (std::size_t i = 0; i < roles.after.outputs(); ++i) outputs.push_back(roles.after.out(i));
    BALEEN_TRY_ASSIGN(kernel->after_, make_pointwise(context, roles.after, std::move(inputs), std::move(outputs)));
    kernel->scratch_bytes = kernel->product_->scratch_bytes;
    kernel->products = {std::max(kernel->product_->kind, ProductKind::kTwoSteps)};
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  void begin() const override {
    product_->begin();
    after_->begin();
  }
  Status finish() override {
    BALEEN_TRY(product_->finish());
    return after_->finish();
  }
  Status run(const Launch& launch) const override {
    BALEEN_TRY(product_->run(launch, launch.at<const char>(a_), launch.at<const char>(b_), launch.at<char>(y_),
                             launch.call.scratch));
    return after_->run(launch);
  }

 private:
  Operand a_, b_, y_;
  std::unique_ptr<Product> product_;
  std::unique_ptr<Kernel> after_;
};

/// By cuBLASLt's epilogue; in two steps where an address is not as it wants them, and once it refused a launch. The
/// first launch of that sort compiles the second step, unless a trial was refused already.
class EpilogueKernel : public Kernel {
 public:
  EpilogueKernel(const Context& context, const Roles& roles, std::unique_ptr<BlasProduct> product,
                 std::unique_ptr<Kernel> two_steps)
      : refusal_(context.products, kInTwoSteps),
        a_(roles.product.in(0)),
        b_(roles.product.in(1)),
        y_(roles.result),
        other_(roles.other),
        sum_(roles.sum),
        epilogue_(roles.epilogue),
        product_(std::move(product)),
        two_steps_(std::move(two_steps)) {
    scratch_bytes = std::max(product_->workspace_bytes(), two_steps_->scratch_bytes);
    products = {ProductKind::kFused};
    if (!product_->takes_any_address())
      context.products.once(BALEEN_INFO, "cuBLASLt has no algorithm for " + product_->text() +
                                             ", where an operand begins at no multiple of 16 bytes: there " +
                                             kInTwoSteps);
  }
  Kernel& two_steps() const { return *two_steps_; }
  void begin() const override {
    if (product_->is_refused()) two_steps_->begin();
  }
  Status finish() override { return product_->is_refused() ? two_steps_->finish() : Status(); }
  std::unique_ptr<Kernel> take_two_steps() { return std::move(two_steps_); }

  Status run(const Launch& launch) const override {
    const void* other = launch.at(other_);
    void* aux = epilogue_.kind == Epilogue::Kind::kGeluGrad ? launch.at(other_)
                : epilogue_.sum                             ? launch.at(sum_)
                                                            : nullptr;
    const auto in_two_steps = [&]() -> Status {
      std::call_once(once_, [&] { finished_ = two_steps_->finish(); });
      BALEEN_TRY(Status(finished_));
      return two_steps_->run(launch);
    };
    const char *a = launch.at<const char>(a_), *b = launch.at<const char>(b_);
    char* const y = launch.at<char>(y_);
    if ((reinterpret_cast<std::uintptr_t>(other) | reinterpret_cast<std::uintptr_t>(aux)) % kAligned != 0 ||
        !product_->takes(a, b, y))
      return in_two_steps();
    const auto fused = [&]() -> Status {
      BALEEN_TRY(product_->bind(other, aux));
      return product_->run(launch.stream, a, b, y, false, launch.call.scratch);
    };
    return refusal_.run(fused, in_two_steps);
  }

 private:
  static constexpr std::uintptr_t kAligned = 16;
  static constexpr const char* kInTwoSteps = "it is computed in two steps";

  Refusal refusal_;
  Operand a_, b_, y_, other_, sum_;
  Epilogue epilogue_;
  std::unique_ptr<BlasProduct> product_;
  std::unique_ptr<Kernel> two_steps_;
  mutable std::once_flag once_;
  mutable Status finished_;  ///< of two_steps_
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_fused_product(const Context& context, const baleen_region_t& region) {
  const Roles roles(region);
  const std::string_view spec = roles.product.op().text("spec");
  auto c = contraction_groups(spec, roles.product.in(0), roles.product.in(1), roles.result);
  if (!c) return Error{c.error().code, c.error().message, roles.product.name()};
  BALEEN_TRY_ASSIGN(std::unique_ptr<Kernel> kernel, TwoStepKernel::make(context, roles, *c));
  if (const auto plan = plan_gemm(*c); plan && context.blas && fits(roles, *plan, spec)) {
    BALEEN_TRY_ASSIGN(auto product,
                      BlasProduct::make(*context.blas, *plan, roles.types(), blas_epilogue(roles.epilogue)));
    if (product) {
      auto epilogue = std::make_unique<EpilogueKernel>(context, roles, std::move(product), std::move(kernel));
      epilogue->flops = c->flops();
      if (is_faster(context, region, "product and epilogue " + std::to_string(blas_epilogue(roles.epilogue).kind),
                    *epilogue, epilogue->two_steps()))
        kernel = epilogue->take_two_steps();
      else
        kernel = std::move(epilogue);
    }
  }
  kernel->flops = c->flops();
  return kernel;
}

}  // namespace baleen::cuda
