/// \file Products whose dtypes cuBLASLt does not take together: operands that differ become fp32 in scratch first, a
/// 16-bit result is rounded there last. And products of operands that lie where it does not take them: all are copied
/// to where it does. The copies cost little beside the product.
#include <algorithm>

#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

constexpr std::size_t kA = 0, kB = 1, kY = 2;

std::int64_t& stride_of(Loop& loop, std::size_t operand) {
  return operand == kA ? loop.a : operand == kB ? loop.b : loop.y;
}

/// One operand's packed copy.
struct Copy {
  bool used = false;
  Stored as = kStoredF32;
  std::uint64_t at = 0, bytes = 0;
  Converter converter;  ///< into the copy; of the result out of it
  Converter initial;    ///< of the result into it, where the product adds

  /// Lays the operand out packed, in the order in which it lies, and lets `c` mean the copy.
  Status lay_out(const Context& context, Contraction& c, std::size_t operand, baleen_dtype_t dtype, bool adds) {
    std::vector<Loop*> loops;
    for (std::vector<Loop>* group : {&c.batch, &c.m, &c.n, &c.k})
      for (Loop& loop : *group)
        if (stride_of(loop, operand) != 0) loops.push_back(&loop);
    std::stable_sort(loops.begin(), loops.end(),
                     [&](Loop* one, Loop* other) { return stride_of(*one, operand) > stride_of(*other, operand); });
    Strides shape, there;
    for (Loop* loop : loops) {
      shape.push_back(loop->extent);
      there.push_back(stride_of(*loop, operand));
    }
    const Strides here = packed_strides(shape);
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      elements *= shape[i];
      stride_of(*loops[i], operand) = here[i];
    }
    used = true;
    as = stored(dtype);
    bytes = padded(static_cast<std::uint64_t>(elements) * dtype_size(dtype));
    const bool out = operand == kY;
    BALEEN_TRY_ASSIGN(converter, Converter::make(context, shape, out ? there : here, out ? here : there));
    if (out && adds) {
      BALEEN_TRY_ASSIGN(initial, Converter::make(context, shape, here, there));
    }
    return {};
  }
};

class ConvertedProduct : public Product {
 public:
  ConvertedProduct(const ProductTypes& types, bool adds) : types_(types), adds_(adds) {
    kind = ProductKind::kConverted;
  }

  /// Whether the library takes what is left.
  Result<bool> build(const Context& context, Contraction c, Copied copied) {
    ProductTypes inner = types_;
    if (copied == Copied::kAll) {
      BALEEN_TRY(copies_[kA].lay_out(context, c, kA, types_.a, false));
      BALEEN_TRY(copies_[kB].lay_out(context, c, kB, types_.b, false));
      BALEEN_TRY(copies_[kY].lay_out(context, c, kY, types_.y, adds_));
      if (copies_[kA].bytes + copies_[kB].bytes + copies_[kY].bytes > context.blas->options().workspace_bytes)
        return false;
    } else {
      BALEEN_TRY(lay_out_differing(context, c, inner));
    }
    const auto plan = plan_gemm(c);
    if (!plan) return false;
    BALEEN_TRY_ASSIGN(product_, BlasProduct::make(*context.blas, *plan, inner));
    if (!product_) return false;
    for (Copy& copy : copies_) {
      copy.at = scratch_bytes;
      scratch_bytes += copy.bytes;
    }
    work_at_ = scratch_bytes;
    scratch_bytes += product_->workspace_bytes();
    return true;
  }

  // Copies are aligned.
  bool takes(const char* a, const char* b, const char* y) const override {
    return product_->takes(copies_[kA].used ? nullptr : a, copies_[kB].used ? nullptr : b,
                           copies_[kY].used ? nullptr : y);
  }

  Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const override {
    char* const base = static_cast<char*>(scratch);
    const auto copy = [&](std::size_t operand) { return Values{base + copies_[operand].at, copies_[operand].as}; };
    const Values from_a{const_cast<char*>(a), stored(types_.a)}, from_b{const_cast<char*>(b), stored(types_.b)};
    const Values to{y, stored(types_.y)}, sums = copy(kY);
    if (copies_[kA].used) BALEEN_TRY(copies_[kA].converter.run(launch, copy(kA), from_a));
    if (copies_[kB].used) BALEEN_TRY(copies_[kB].converter.run(launch, copy(kB), from_b));
    if (copies_[kY].used && adds_) BALEEN_TRY(copies_[kY].initial.run(launch, sums, to));
    BALEEN_TRY(product_->run(launch.stream, copies_[kA].used ? base + copies_[kA].at : a,
                             copies_[kB].used ? base + copies_[kB].at : b, copies_[kY].used ? base + copies_[kY].at : y,
                             adds_, base + work_at_));
    return copies_[kY].used ? copies_[kY].converter.run(launch, to, sums) : Status();
  }

 private:
  Status lay_out_differing(const Context& context, Contraction& c, ProductTypes& inner) {
    if (types_.a != types_.b) {
      if (types_.a != BALEEN_F32) BALEEN_TRY(copies_[kA].lay_out(context, c, kA, BALEEN_F32, false));
      if (types_.b != BALEEN_F32) BALEEN_TRY(copies_[kB].lay_out(context, c, kB, BALEEN_F32, false));
      inner.a = inner.b = BALEEN_F32;
    }
    if (types_.has_half_result()) BALEEN_TRY(copies_[kY].lay_out(context, c, kY, BALEEN_F32, adds_));
    inner.y = BALEEN_F32;
    return {};
  }

  ProductTypes types_;
  bool adds_;
  std::array<Copy, 3> copies_;
  std::unique_ptr<BlasProduct> product_;
  std::uint64_t work_at_ = 0;
};

}  // namespace

Result<std::unique_ptr<Product>> make_converted_product(const Context& context, const Contraction& contraction,
                                                        const ProductTypes& types, bool adds, Copied copied) {
  if (!context.blas || types.is_double()) return std::unique_ptr<Product>();
  auto product = std::make_unique<ConvertedProduct>(types, adds);
  BALEEN_TRY_ASSIGN(const bool taken, product->build(context, contraction, copied));
  return taken ? std::unique_ptr<Product>(std::move(product)) : nullptr;
}

}  // namespace baleen::cuda
