/// \file Recognising by shape of the expression.
#include "epilogue.hpp"

#include <algorithm>

namespace baleen::cuda {
namespace {

/// The instructions, asked by value. Roundings to the operands' own dtype are looked through: what cuBLASLt keeps in
/// more digits is rounded once less.
class Matcher {
 public:
  Matcher(std::span<const baleen_instruction_t> code, std::uint32_t product, baleen_dtype_t type)
      : code_(code), product_(product), type_(static_cast<std::uint32_t>(type)) {}

  /// The input x of `opcode`(INPUT product, x), whichever comes first; x is another input, or what `inside` finds
  /// there.
  std::optional<std::uint32_t> beside_product(std::int64_t value, std::uint32_t opcode,
                                              std::uint32_t inside = 0) const {
    const baleen_instruction_t& i = at(value);
    if (i.opcode != opcode) return {};
    for (const auto& [one, other] : {std::pair{i.a, i.b}, {i.b, i.a}}) {
      if (input(one) != product_) continue;
      const std::uint32_t from = inside == 0 ? other : at(other).opcode == inside ? at(other).a : one;
      const auto found = input(from);
      if (found && *found != product_) return found;
    }
    return {};
  }
  std::optional<std::uint32_t> bias(std::int64_t value) const { return beside_product(value, BALEEN_X_ADD); }
  /// x of gelu_tanh(x).
  std::optional<std::int64_t> gelu(std::int64_t value) const {
    const baleen_instruction_t& i = at(value);
    if (i.opcode != BALEEN_X_GELU_TANH) return {};
    return i.a;
  }

 private:
  const baleen_instruction_t& at(std::int64_t value) const {
    const baleen_instruction_t& i = code_[static_cast<std::size_t>(value)];
    return i.opcode == BALEEN_X_ROUND && i.b == type_ ? at(i.a) : i;
  }
  std::optional<std::uint32_t> input(std::uint32_t value) const {
    if (at(value).opcode != BALEEN_X_INPUT) return {};
    return at(value).a;
  }
  std::span<const baleen_instruction_t> code_;
  std::uint32_t product_;
  std::uint32_t type_;
};

/// Operands of one floating dtype, and a result of the same, or of fp32 where they have 16 bits.
bool product_types_fit(const Source& product) {
  const baleen_dtype_t type = product.out(0).tensor.dtype, operand = product.in(0).tensor.dtype;
  if (!is_floating(type) || product.in(1).tensor.dtype != operand) return false;
  return operand == type || (dtype_size(operand) == 2 && type == BALEEN_F32);
}

/// Whether `dims` of operand number `operand` are what the product sums, and all others are that operand's alone.
bool sums_depth(std::string_view spec, std::size_t operand, std::span<const std::int64_t> dims) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == spec.npos || arrow == spec.npos) return false;
  const std::string_view a = spec.substr(0, comma), b = spec.substr(comma + 1, arrow - comma - 1);
  const std::string_view own = operand == 0 ? a : b, other = operand == 0 ? b : a, result = spec.substr(arrow + 2);
  for (std::size_t d = 0; d < own.size(); ++d) {
    const bool summed = std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end();
    if (summed != (result.find(own[d]) == result.npos) || summed != (other.find(own[d]) != other.npos)) return false;
  }
  return true;
}

}  // namespace

std::optional<Epilogue> recognize(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                                  std::uint32_t product, baleen_dtype_t type) {
  const Matcher match(code, product, type);
  if (results.size() == 1) {
    if (const auto bias = match.bias(results[0])) return Epilogue{Epilogue::Kind::kBias, *bias, 0, {}};
    if (const auto x = match.beside_product(results[0], BALEEN_X_MUL, BALEEN_X_GELU_TANH_GRAD))
      return Epilogue{Epilogue::Kind::kGeluGrad, *x, 0, {}};
    if (const auto sum = match.gelu(results[0]))
      if (const auto bias = match.bias(*sum)) return Epilogue{Epilogue::Kind::kGelu, *bias, 0, {}};
    return {};
  }
  if (results.size() != 2) return {};
  for (const std::size_t act : {std::size_t{0}, std::size_t{1}}) {
    const auto sum = match.gelu(results[act]);
    const auto bias = sum ? match.bias(*sum) : std::nullopt;
    if (bias && match.bias(results[1 - act]) == bias) return Epilogue{Epilogue::Kind::kGelu, *bias, act, 1 - act};
  }
  return {};
}

bool is_vector_along(const Operand& bias, const Operand& y, std::string_view spec, bool of_b) {
  const std::string_view a = spec.substr(0, spec.find(',')), rest = spec.substr(spec.find(',') + 1);
  const std::string_view b = rest.substr(0, rest.find("->")), letters = rest.substr(rest.find("->") + 2);
  if (bias.rank() != y.rank() || letters.size() != y.rank()) return false;
  std::int64_t expected = 1;
  for (std::uint32_t d = y.rank(); d-- > 0;) {
    const bool in_a = a.find(letters[d]) != a.npos, in_b = b.find(letters[d]) != b.npos;
    const bool along = of_b ? in_b && !in_a : in_a && !in_b;
    const bool varies = bias.extent(d) != 1 && bias.stride(d) != 0;
    if (y.extent(d) == 1) continue;
    if (along != varies || (along && (bias.extent(d) != y.extent(d) || bias.stride(d) != expected))) return false;
    if (along) expected *= y.extent(d);
  }
  return true;
}

bool is_fused_product(const baleen_region_t& region) {
  if (region.op_count != 2 || view(op_of(region, 0).kind) != "matmul" || view(op_of(region, 1).kind) != "pointwise")
    return false;
  const Source product(region, 0), after(region, 1);
  if (product.inputs() != 2 || product.outputs() != 1) return false;
  const Operand interior = product.out(0);
  if (interior.tensor.flags & BALEEN_TENSOR_OUTPUT) return false;
  const auto inputs = after.op().inputs();
  if (std::count(inputs.begin(), inputs.end(), interior.number) != 1) return false;
  const auto at = static_cast<std::uint32_t>(std::find(inputs.begin(), inputs.end(), interior.number) - inputs.begin());
  if (!product_types_fit(product)) return false;
  const baleen_dtype_t type = interior.tensor.dtype;
  for (const std::span<const std::uint32_t> numbers : {after.op().inputs(), after.op().outputs()})
    for (const std::uint32_t number : numbers)
      if (tensor_of(region, number).dtype != type) return false;
  for (std::size_t i = 0; i < after.outputs(); ++i)
    if (!std::ranges::equal(shape(after.out(i).tensor), shape(interior.tensor))) return false;
  return recognize(after.op().expression("expression"), after.op().integers("results"), at, type).has_value();
}

std::optional<ProductAndSum> product_and_sum(const baleen_region_t& region) {
  if (region.op_count != 2) return {};
  ProductAndSum found;
  found.product = view(op_of(region, 0).kind) == "matmul" ? 0 : 1;
  found.sum = 1 - found.product;
  if (view(op_of(region, found.product).kind) != "matmul" || view(op_of(region, found.sum).kind) != "reduce") return {};
  const Source product(region, found.product), sum(region, found.sum);
  if (product.inputs() != 2 || sum.op().text("kind") != "sum" || !product_types_fit(product)) return {};
  const baleen_dtype_t type = product.out(0).tensor.dtype;
  if (type == BALEEN_F64 || sum.out(0).tensor.dtype != type) return {};
  for (std::size_t i = 0; i < 2; ++i) {
    if (product.in(i).number != sum.in(0).number) continue;
    if (!sums_depth(product.op().text("spec"), i, sum.op().integers("dims"))) continue;
    found.operand = i;
    return found;
  }
  return {};
}

}  // namespace baleen::cuda
