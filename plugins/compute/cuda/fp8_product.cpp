/// \file Products of operands in 8 bits. cuBLASLt multiplies them where the depth is innermost in both and all sizes
/// are multiples of 16 (its manual, cublasLtMatmul): operands that lie otherwise are turned first. Elsewhere they are
/// widened to bf16, which holds every number of 8 bits, and the product goes the usual way.
#include <array>

#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

std::int64_t& stride_of(Loop& loop, bool first) { return first ? loop.a : loop.b; }

/// An operand's elements in the order batch, rows (or columns), depth: where they lie, and where packed.
struct Packing {
  Strides shape, there, here;

  std::uint64_t bytes(baleen_dtype_t dtype) const {
    std::uint64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
    return padded(elements * dtype_size(dtype));
  }
};

/// From here on `c` means the packed operand.
Packing pack(Contraction& c, bool first) {
  std::vector<Loop*> loops;
  for (std::vector<Loop>* group : {&c.batch, first ? &c.m : &c.n, &c.k})
    for (Loop& loop : *group) loops.push_back(&loop);
  Packing packing;
  for (Loop* loop : loops) {
    packing.shape.push_back(loop->extent);
    packing.there.push_back(stride_of(*loop, first));
  }
  packing.here = packed_strides(packing.shape);
  for (std::size_t i = 0; i < loops.size(); ++i) stride_of(*loops[i], first) = packing.here[i];
  return packing;
}

/// By cuBLASLt, of operands as they lie or turned.
class NarrowProduct : public Product {
 public:
  /// Null where it is not taken so.
  static Result<std::unique_ptr<Product>> make(const Context& context, const Contraction& contraction,
                                               const ProductTypes& types, bool adds) {
    auto product = std::make_unique<NarrowProduct>();
    product->adds_ = adds;
    if (const auto plan = plan_gemm(contraction, GemmForm::kDepthInnermost)) {
      BALEEN_TRY_ASSIGN(product->product_, BlasProduct::make(*context.blas, *plan, types));
    }
    if (!product->product_) {
      product->kind = ProductKind::kConverted;
      BALEEN_TRY(product->turn(context, contraction, types));
    }
    if (!product->product_) return std::unique_ptr<Product>();
    product->scratch_bytes = product->work_at_ + product->product_->workspace_bytes();
    return std::unique_ptr<Product>(std::move(product));
  }

  bool takes(const char* a, const char* b, const char* y) const override {
    return turns_ ? product_->takes(nullptr, nullptr, y) : product_->takes(a, b, y);
  }

  Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const override {
    char* const base = static_cast<char*>(scratch);
    if (turns_) {
      BALEEN_TRY(movers_[0].run(launch, base, a));
      BALEEN_TRY(movers_[1].run(launch, base + right_at_, b));
      a = base;
      b = base + right_at_;
    }
    return product_->run(launch.stream, a, b, y, adds_, base + work_at_);
  }

 private:
  Status turn(const Context& context, Contraction c, const ProductTypes& types) {
    const std::array packings{pack(c, true), pack(c, false)};
    const auto plan = plan_gemm(merged(std::move(c)), GemmForm::kDepthInnermost);
    if (!plan) return {};
    BALEEN_TRY_ASSIGN(product_, BlasProduct::make(*context.blas, *plan, types));
    if (!product_) return {};
    turns_ = true;
    right_at_ = packings[0].bytes(types.a);
    work_at_ = right_at_ + packings[1].bytes(types.b);
    for (std::size_t i = 0; i < 2; ++i) {
      const Packing& own = packings[i];
      BALEEN_TRY_ASSIGN(movers_[i], Mover::make(context, i == 0 ? types.a : types.b, own.shape, own.here, own.there));
    }
    return {};
  }

  bool adds_ = false, turns_ = false;
  std::unique_ptr<BlasProduct> product_;
  std::array<Mover, 2> movers_;
  std::uint64_t right_at_ = 0, work_at_ = 0;
};

/// A packed copy in bf16 of what has 8 bits, by a generated kernel.
class Widener {
 public:
  Status make(const Context& context, const Packing& packing, baleen_dtype_t from) {
    constexpr baleen_instruction_t kRead{BALEEN_X_INPUT, 0, 0, 0, 0};
    constexpr std::int64_t kResult = 0;
    const baleen_attribute_t attributes[] = {{abi("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, 1, &kRead},
                                             {abi("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &kResult}};
    const std::uint32_t input = 0, output = 1;
    const baleen_op_view_t op{sizeof op, abi("pointwise"), abi("matmul"),        &input, 1, &output,
                              1,         attributes,       std::size(attributes)};
    const baleen_tensor_t tensors[] = {tensor(from, packing.shape, packing.there),
                                       tensor(BALEEN_BF16, packing.shape, packing.here)};
    const baleen_op_kind_t* const kind = nullptr;
    BALEEN_TRY_ASSIGN(kernel_, make_pointwise(context, {sizeof(baleen_region_t), &op, 1, tensors, 2, &kind}));
    return {};
  }

  void begin() const { kernel_->begin(); }
  Status finish() { return kernel_->finish(); }

  Status run(const Launch& launch, char* to, const char* from) const {
    void* const tensors[] = {const_cast<char*>(from), to};  // the kernel reads the first one only
    baleen_launch_t call = launch.call;
    call.tensors = tensors;
    call.scratch = nullptr;
    return kernel_->run(Launch{launch.driver, launch.stream, call, launch.report, launch.recording});
  }

 private:
  static baleen_tensor_t tensor(baleen_dtype_t dtype, const Strides& shape, const Strides& strides) {
    baleen_tensor_t made{};
    made.size = sizeof made;
    made.dtype = dtype;
    made.rank = static_cast<std::uint32_t>(shape.size());
    made.micro_dim = -1;
    std::copy(shape.begin(), shape.end(), made.shape);
    std::copy(shape.begin(), shape.end(), made.global_shape);
    std::copy(strides.begin(), strides.end(), made.stride);
    return made;
  }

  std::unique_ptr<Kernel> kernel_;
};

class WidenedProduct : public Product {
 public:
  static Result<std::unique_ptr<Product>> make(const Context& context, Contraction c, ProductTypes types, bool adds) {
    auto product = std::make_unique<WidenedProduct>();
    std::uint64_t at = 0;
    for (const bool first : {true, false}) {
      baleen_dtype_t& dtype = first ? types.a : types.b;
      if (!is_fp8(dtype)) continue;
      const Packing packing = pack(c, first);
      if (packing.shape.size() > BALEEN_MAX_RANK) return unsupported("a product of 8 bits has too many dimensions");
      Copy& copy = product->copies_[first ? 0 : 1];
      copy.used = true;
      copy.at = at;
      BALEEN_TRY(copy.widener.make(context, packing, dtype));
      dtype = BALEEN_BF16;
      at += packing.bytes(dtype);
    }
    BALEEN_TRY_ASSIGN(product->product_, make_product(context, merged(std::move(c)), types, adds));
    product->work_at_ = at;
    product->scratch_bytes = at + product->product_->scratch_bytes;
    product->kind = product->product_->kind == ProductKind::kOwn ? ProductKind::kOwn : ProductKind::kConverted;
    return std::unique_ptr<Product>(std::move(product));
  }

  void begin() const override {
    for (const Copy& copy : copies_)
      if (copy.used) copy.widener.begin();
    product_->begin();
  }
  Status finish() override {
    for (Copy& copy : copies_)
      if (copy.used) BALEEN_TRY(copy.widener.finish());
    return product_->finish();
  }

  Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const override {
    char* const base = static_cast<char*>(scratch);
    for (const auto& [copy, from] : {std::pair{&copies_[0], &a}, std::pair{&copies_[1], &b}}) {
      if (!copy->used) continue;
      BALEEN_TRY(copy->widener.run(launch, base + copy->at, *from));
      *from = base + copy->at;
    }
    return product_->run(launch, a, b, y, base + work_at_);
  }

 private:
  struct Copy {
    bool used = false;
    std::uint64_t at = 0;
    Widener widener;
  };
  std::array<Copy, 2> copies_;
  std::unique_ptr<Product> product_;
  std::uint64_t work_at_ = 0;
};

}  // namespace

Result<std::unique_ptr<Product>> make_narrow_product(const Context& context, const Contraction& contraction,
                                                     const ProductTypes& types, bool adds) {
  const bool adds_to_half = adds && types.has_half_result();
  if (!context.blas || !context.blas->options().fp8) {
    context.products.once(BALEEN_INFO,
                          std::string("products of 8 bits are computed of copies in bf16: ") +
                              (context.blas ? "the device has compute capability below 8.9" : "there is no cuBLASLt"));
    return std::unique_ptr<Product>();
  }
  if (adds_to_half) return std::unique_ptr<Product>();
  BALEEN_TRY_ASSIGN(auto product, NarrowProduct::make(context, contraction, types, adds));
  if (!product)
    context.products.once(
        BALEEN_INFO, "a product of " + std::string(dtype_name(types.a)) + " and " + std::string(dtype_name(types.b)) +
                         " to " + std::string(dtype_name(types.y)) +
                         " is computed of copies in bf16: cuBLASLt multiplies two operands of 8 bits, "
                         "not both e5m2, whose sizes are multiples of 16");
  return product;
}

Result<std::unique_ptr<Product>> make_widened_product(const Context& context, const Contraction& contraction,
                                                      const ProductTypes& types, bool adds) {
  return WidenedProduct::make(context, contraction, types, adds);
}

}  // namespace baleen::cuda
