/// \file Products of contractions: by cuBLASLt where it takes them, else by the plugin's own kernel.
#pragma once
#include "blas.hpp"

namespace baleen::cuda {

/// y = a b, or y + a b. Immutable.
class Product {
 public:
  virtual ~Product() = default;
  /// Addresses of the contraction's operands; `scratch` has scratch_bytes.
  virtual Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const = 0;
  std::uint64_t scratch_bytes = 0;
};

Result<std::unique_ptr<Product>> make_product(const Context& context, const Contraction& contraction,
                                              const ProductTypes& types, bool adds);

/// By cuBLASLt after copies; null where it does not take the contraction so either.
Result<std::unique_ptr<Product>> make_converted_product(const Context& context, const Contraction& contraction,
                                                        const ProductTypes& types, bool adds);

/// Copies between two layouts of one shape (or writes zeros), 16 bytes at a time where both lie so.
class Mover {
 public:
  Mover() = default;
  static Result<Mover> make(const Context& context, baleen_dtype_t dtype, std::span<const std::int64_t> shape,
                            const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from);
  /// A null `from` stands for zeros.
  Status run(const Launch& launch, void* to, const void* from) const;

 private:
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
