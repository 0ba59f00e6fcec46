/// \file Choosing how a contraction is computed.
#include "product.hpp"

#include <algorithm>
#include <optional>

#include "device/contract.hpp"
#include "device/move.hpp"
#include "functions.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

constexpr std::int64_t kPackBytes = 16;

class LibraryProduct : public Product {
 public:
  LibraryProduct(std::unique_ptr<BlasProduct> product, bool adds) : product_(std::move(product)), adds_(adds) {
    scratch_bytes = product_->workspace_bytes();
  }
  bool takes_any_address() const { return product_->takes_any_address(); }
  std::string text() const { return product_->text(); }
  bool takes(const char* a, const char* b, const char* y) const override { return product_->takes(a, b, y); }
  Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const override {
    return product_->run(launch.stream, a, b, y, adds_, scratch);
  }

 private:
  std::unique_ptr<BlasProduct> product_;
  bool adds_;
};

/// One product where it takes the addresses, until cuBLASLt refuses it; else the other.
class ProductOrOther : public Product {
 public:
  static std::unique_ptr<Product> make(const Context& context, std::unique_ptr<Product> one,
                                       std::unique_ptr<Product> other) {
    const char* instead = other->kind == ProductKind::kOwn ? "it is computed by a slow kernel of the plugin's own"
                                                           : "it is computed from copies of its operands";
    return std::make_unique<ProductOrOther>(context.products, std::move(one), std::move(other), instead);
  }
  ProductOrOther(ProductReport& report, std::unique_ptr<Product> one, std::unique_ptr<Product> other,
                 const char* instead)
      : refusal_(report, instead), one_(std::move(one)), other_(std::move(other)) {
    scratch_bytes = std::max(one_->scratch_bytes, other_->scratch_bytes);
    kind = one_->kind;
  }
  void begin() const override {
    one_->begin();
    other_->begin();
  }
  Status finish() override {
    BALEEN_TRY(one_->finish());
    return other_->finish();
  }
  bool takes(const char* a, const char* b, const char* y) const override {
    return one_->takes(a, b, y) || other_->takes(a, b, y);
  }
  Status run(const Launch& launch, const char* a, const char* b, char* y, void* scratch) const override {
    const auto other = [&] { return other_->run(launch, a, b, y, scratch); };
    if (!one_->takes(a, b, y)) return other();
    return refusal_.run([&] { return one_->run(launch, a, b, y, scratch); }, other);
  }

 private:
  Refusal refusal_;
  std::unique_ptr<Product> one_, other_;
};

class OwnProduct : public Product {
 public:
  static Result<std::unique_ptr<Product>> make(const Context& context, const Contraction& c, const ProductTypes& types,
                                               bool adds) {
    auto product = std::make_unique<OwnProduct>();
    product->kind = ProductKind::kOwn;
    BALEEN_TRY_ASSIGN(product->function_, context.functions.find(std::string("baleen_contract") + suffix(types.y)));
    ContractArgs& args = product->args_;
    args.a.stored = stored(types.a);
    args.b.stored = stored(types.b);
    args.y.stored = stored(types.y);
    args.batch = walk<3>(c.batch, [](const Loop& l) { return std::array{l.a, l.b, l.y}; });
    args.m = walk<2>(c.m, [](const Loop& l) { return std::array{l.a, l.y}; });
    args.n = walk<2>(c.n, [](const Loop& l) { return std::array{l.b, l.y}; });
    args.k = walk<2>(c.k, [](const Loop& l) { return std::array{l.a, l.b}; });
    args.adds = adds;
    product->geometry_ = {ceil_div(args.n.size, kContractTile), ceil_div(args.m.size, kContractTile), args.batch.size};
    constexpr std::int64_t kMostBlocks = 65535;
    if (product->geometry_.blocks_y > kMostBlocks || product->geometry_.blocks_z > kMostBlocks)
      return unsupported("a product of strides that cuBLASLt does not take has too many rows or batches");
    return std::unique_ptr<Product>(std::move(product));
  }
  Status run(const Launch& launch, const char* a, const char* b, char* y, void*) const override {
    ContractArgs args = args_;
    args.a.data = const_cast<char*>(a);  // the kernel reads it only
    args.b.data = const_cast<char*>(b);
    args.y.data = y;
    return launch.run(function_, geometry_, args);
  }

 private:
  template <int kOperands, class Pick>
  static Walk<kOperands> walk(const std::vector<Loop>& loops, const Pick& pick) {
    Strides shape;
    std::array<Strides, kOperands> strides;
    for (const Loop& loop : loops) {
      shape.push_back(loop.extent);
      const auto picked = pick(loop);
      for (std::size_t i = 0; i < kOperands; ++i) strides[i].push_back(picked[i]);
    }
    return make_walk<kOperands>(shape, strides);
  }

  ContractArgs args_{};
  CUfunction function_ = nullptr;
  Geometry geometry_;
};

}  // namespace

Result<std::unique_ptr<Product>> make_product(const Context& context, const Contraction& contraction,
                                              const ProductTypes& types, bool adds) {
  if (is_fp8(types.a) || is_fp8(types.b)) {
    BALEEN_TRY_ASSIGN(auto widened, make_widened_product(context, contraction, types, adds));
    BALEEN_TRY_ASSIGN(auto narrow, make_narrow_product(context, contraction, types, adds));
    return narrow ? ProductOrOther::make(context, std::move(narrow), std::move(widened)) : std::move(widened);
  }
  auto own = OwnProduct::make(context, contraction, types, adds);
  const auto plan = plan_gemm(contraction);
  if (!plan || !context.blas || (!own && own.error().code != BALEEN_UNSUPPORTED)) return own;
  const auto or_own = [&](std::unique_ptr<Product> product) {
    return own ? ProductOrOther::make(context, std::move(product), *std::move(own)) : std::move(product);
  };
  // Some of cuBLASLt's kernels round a product to 16 bits before they add it (seen on an H100, 13.0).
  std::unique_ptr<BlasProduct> blas;
  if (!adds || !types.has_half_result()) {
    BALEEN_TRY_ASSIGN(blas, BlasProduct::make(*context.blas, *plan, types));
  }
  if (!blas) {
    BALEEN_TRY_ASSIGN(auto converted, make_converted_product(context, contraction, types, adds, Copied::kDiffering));
    return converted ? or_own(std::move(converted)) : std::move(own);
  }
  auto product = std::make_unique<LibraryProduct>(std::move(blas), adds);
  if (product->takes_any_address()) return or_own(std::move(product));
  const std::string text = product->text();
  BALEEN_TRY_ASSIGN(auto copied, make_converted_product(context, contraction, types, adds, Copied::kAll));
  context.products.once(BALEEN_INFO, "cuBLASLt has no algorithm for " + text +
                                         ", where an operand begins at no multiple of 16 bytes: such operands are " +
                                         (copied ? "copied" : "multiplied by a slow kernel of the plugin's own"));
  if (!copied) return or_own(std::move(product));
  return ProductOrOther::make(context, std::move(product), or_own(std::move(copied)));
}

namespace {

/// The walk in units of `count` neighbours; nothing where some operand does not lie in such units.
std::optional<Walk<2>> in_units(const Walk<2>& walk, std::int64_t count) {
  const int last = walk.rank - 1;
  if (last < 0 || walk.size == 0 || walk.extent[last] % count != 0) return {};
  Strides shape(walk.extent, walk.extent + walk.rank);
  std::array<Strides, 2> strides;
  for (std::size_t i = 0; i < 2; ++i) {
    if (walk.stride[i][last] != 1) return {};
    for (int dim = 0; dim < last; ++dim) {
      if (walk.stride[i][dim] % count != 0) return {};
      strides[i].push_back(walk.stride[i][dim] / count);
    }
    strides[i].push_back(1);
  }
  shape.back() /= count;
  return make_walk<2>(shape, strides);
}

}  // namespace

Result<Mover> Mover::of(const Context& context, baleen_dtype_t dtype, const Walk<2>& walk) {
  Mover mover;
  mover.walk_ = walk;
  BALEEN_TRY_ASSIGN(mover.function_, context.functions.find("baleen_move_" + std::to_string(dtype_size(dtype))));
  if (const auto packs = in_units(walk, kPackBytes / static_cast<std::int64_t>(dtype_size(dtype)))) {
    mover.packs_ = *packs;
    BALEEN_TRY_ASSIGN(mover.pack_function_, context.functions.find("baleen_move_16"));
  }
  return mover;
}

Result<Mover> Mover::make(const Context& context, baleen_dtype_t dtype, std::span<const std::int64_t> shape,
                          const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
  return of(context, dtype, make_walk<2>(shape, {to, from}));
}

// Zeros come from nowhere: what counts is where they go.
Result<Mover> Mover::zeros(const Context& context, baleen_dtype_t dtype, std::span<const std::int64_t> shape,
                           const std::vector<std::int64_t>& to) {
  return of(context, dtype, make_walk<2>(shape, {to, to}));
}

Status Mover::run(const Launch& launch, void* to, const void* from) const {
  const auto all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if (pack_function_ && all % kPackBytes == 0)
    return launch.run(pack_function_, thread_per_element(packs_.size), MoveArgs{packs_, to, from});
  return launch.run(function_, thread_per_element(walk_.size), MoveArgs{walk_, to, from});
}

Result<Converter> Converter::make(const Context& context, std::span<const std::int64_t> shape,
                                  const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
  Converter converter;
  converter.walk_ = make_walk<2>(shape, {to, from});
  BALEEN_TRY_ASSIGN(converter.function_, context.functions.find("baleen_convert"));
  return converter;
}

Status Converter::run(const Launch& launch, const Values& to, const Values& from) const {
  return launch.run(function_, thread_per_element(walk_.size), ConvertArgs{walk_, to, from});
}

}  // namespace baleen::cuda
