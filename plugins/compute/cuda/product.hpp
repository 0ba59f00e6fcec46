/// \file Products of contractions: by cuBLASLt where it takes them, else by the plugin's own kernel.
#pragma once
#include "blas.hpp"

namespace baleen::cuda {

/// y = a b, or y + a b.
class Product {
 public:
  virtual ~Product() = default;
  /// Begins to compile what finish() waits for, as a kernel's does.
  virtual void begin() const {}
  virtual Status finish() { return {}; }
  /// Whether it computes from and to these addresses.
  virtual bool takes(const char* /*a*/, const char* /*b*/, const char* /*y*/) const { return true; }
  /// Addresses of the contraction's operands, which it takes; `scratch` has scratch_bytes. UNSUPPORTED where cuBLASLt
  /// refuses it and another way may begin anew.
  virtual Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const = 0;
  std::uint64_t scratch_bytes = 0;
  ProductKind kind = ProductKind::kPlain;
};

/// Takes all addresses. Where cuBLASLt takes only some, or refuses at a launch, others are copied or computed by the
/// plugin's own kernel.
Result<std::unique_ptr<Product>> make_product(const Context& context, const Contraction& contraction,
                                              const ProductTypes& types, bool adds);

/// Of operands in 8 bits as they are; null where cuBLASLt does not take them, which is said.
Result<std::unique_ptr<Product>> make_narrow_product(const Context& context, const Contraction& contraction,
                                                     const ProductTypes& types, bool adds);
/// Of copies in bf16 of operands in 8 bits. Takes all addresses.
Result<std::unique_ptr<Product>> make_widened_product(const Context& context, const Contraction& contraction,
                                                      const ProductTypes& types, bool adds);

/// Which operands a converted product copies.
enum class Copied {
  kDiffering,  ///< to fp32 those whose dtypes cuBLASLt does not take together
  kAll         ///< all to where they are aligned, in their own dtypes
};
/// By cuBLASLt after copies; null where it does not take the contraction so either, or where copies of kAll are larger
/// than the workspace that its algorithms may have.
Result<std::unique_ptr<Product>> make_converted_product(const Context& context, const Contraction& contraction,
                                                        const ProductTypes& types, bool adds, Copied copied);

/// Copies between two layouts of one shape, or writes zeros; 16 bytes at a time where all lies so.
class Mover {
 public:
  Mover() = default;
  static Result<Mover> make(const Context& context, baleen_dtype_t dtype, std::span<const std::int64_t> shape,
                            const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from);
  static Result<Mover> zeros(const Context& context, baleen_dtype_t dtype, std::span<const std::int64_t> shape,
                             const std::vector<std::int64_t>& to);
  /// `from` is null for zeros, and for them alone.
  Status run(const Launch& launch, void* to, const void* from) const;

 private:
  static Result<Mover> of(const Context& context, baleen_dtype_t dtype, const Walk<2>& walk);

  Walk<2> walk_, packs_;
  CUfunction function_ = nullptr, pack_function_ = nullptr;  ///< the second one may be null
};

/// Copies between two layouts of one shape and two floating dtypes, neither of them fp64.
class Converter {
 public:
  Converter() = default;
  static Result<Converter> make(const Context& context, std::span<const std::int64_t> shape,
                                const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from);
  Status run(const Launch& launch, const Values& to, const Values& from) const;

 private:
  Walk<2> walk_;
  CUfunction function_ = nullptr;
};

}  // namespace baleen::cuda
