/// \file What a compute plugin makes a kernel from: an op of a region, and its operands' views.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "baleen/compute.hpp"

namespace baleen::sdk {

/// One operand: its view, and where to find its address at launch.
struct RegionOperand {
  std::uint32_t number = 0;
  baleen_tensor_t tensor{};

  template <class T>
  T* at(const baleen_launch_t& launch) const {
    return static_cast<T*>(launch.tensors[number]);
  }
  std::int64_t extent(std::uint32_t dim) const { return tensor.shape[dim]; }
  std::int64_t stride(std::uint32_t dim) const { return tensor.stride[dim]; }
  std::uint32_t rank() const { return tensor.rank; }
  /// Stride of the last dimension; 1 where there is at most one element along it.
  std::int64_t inner_stride() const { return rank() == 0 || extent(rank() - 1) <= 1 ? 1 : stride(rank() - 1); }
};

/// One op of a region with its operands. Borrows the region.
class RegionOp {
 public:
  RegionOp(const baleen_region_t& region, std::uint64_t number = 0) : region_(&region), op_(op_of(region, number)) {}

  const Op& op() const { return op_; }
  std::string name() const { return std::string(op_.name()); }
  std::size_t inputs() const { return op_.inputs().size(); }
  std::size_t outputs() const { return op_.outputs().size(); }
  RegionOperand in(std::size_t i) const { return operand(op_.inputs()[i]); }
  RegionOperand out(std::size_t i) const { return operand(op_.outputs()[i]); }

 private:
  RegionOperand operand(std::uint32_t number) const { return {number, copy_in(&tensor_of(*region_, number))}; }

  const baleen_region_t* region_;
  Op op_;
};

/// The dtype in which numbers of this one are computed.
constexpr baleen_dtype_t computed_in(baleen_dtype_t dtype) { return dtype == BALEEN_F64 ? BALEEN_F64 : BALEEN_F32; }

/// Whether a region of two ops reduces what one expression makes of each x, which is read by nothing else; `kind` is
/// the reduction's. x is the first op's operand, the result the second one's.
inline bool is_reduced_expression(const baleen_region_t& region, std::string_view kind) {
  if (region.op_count != 2 || view(op_of(region, 0).kind) != "pointwise" || view(op_of(region, 1).kind) != "reduce")
    return false;
  const RegionOp first(region, 0), second(region, 1);
  if (first.inputs() != 1 || first.outputs() != 1 || second.inputs() != 1 || second.op().text("kind") != kind)
    return false;
  const RegionOperand x = first.in(0), interior = first.out(0);
  const std::span<const std::int64_t> from = shape(x.tensor), to = shape(interior.tensor);
  const baleen_dtype_t result = second.out(0).tensor.dtype;
  return interior.number == second.in(0).number && !(interior.tensor.flags & BALEEN_TENSOR_OUTPUT) &&
         is_floating(x.tensor.dtype) && is_floating(result) && computed_in(result) == computed_in(x.tensor.dtype) &&
         std::equal(from.begin(), from.end(), to.begin(), to.end());
}

/// Whether a region sums x * x up, as the norm of a gradient does: the squares need be stored nowhere.
inline bool is_sum_of_squares(const baleen_region_t& region) {
  if (!is_reduced_expression(region, "sum")) return false;
  const RegionOp squares(region, 0);
  // Squares of 16 bits would be rounded once more before they are added.
  if (squares.out(0).tensor.dtype != computed_in(squares.in(0).tensor.dtype)) return false;
  const auto code = squares.op().expression("expression");
  const auto& last = code[static_cast<std::size_t>(squares.op().integers("results")[0])];
  const auto is_x = [&](std::uint32_t value) { return code[value].opcode == BALEEN_X_INPUT && code[value].a == 0; };
  return last.opcode == BALEEN_X_MUL && is_x(last.a) && is_x(last.b);
}

/// What a region adds to the gradient of a norm's input, as that which passes beside the norm, and the sum, which
/// alone is stored, all of one dtype; nothing where a region is another one. The first op's other results are as ever.
/// The sum has to have the bits that two kernels give it, as not all ranks may join these ops.
struct NormGradAndSum {
  RegionOperand added, sum;
};
inline std::optional<NormGradAndSum> norm_grad_and_sum(const baleen_region_t& region) {
  if (region.op_count != 2 || view(op_of(region, 0).kind) != "norm_grad" || view(op_of(region, 1).kind) != "pointwise")
    return std::nullopt;
  const RegionOp first(region, 0), second(region, 1);
  if (second.inputs() != 2 || second.outputs() != 1) return std::nullopt;
  const auto code = second.op().expression("expression");
  const auto& last = code[static_cast<std::size_t>(second.op().integers("results")[0])];
  const auto is_input = [&](std::uint32_t value, std::uint32_t number) {
    return code[value].opcode == BALEEN_X_INPUT && code[value].a == number;
  };
  if (last.opcode != BALEEN_X_ADD ||
      !((is_input(last.a, 0) && is_input(last.b, 1)) || (is_input(last.a, 1) && is_input(last.b, 0))))
    return std::nullopt;
  const RegionOperand dx = first.out(0), x = first.in(0), sum = second.out(0);
  const bool is_left = second.in(0).number == dx.number;
  const RegionOperand added = second.in(is_left ? 1 : 0);
  if ((!is_left && second.in(1).number != dx.number) || added.number == dx.number) return std::nullopt;
  const auto is_alike = [&](const RegionOperand& one) {
    const std::span<const std::int64_t> own = shape(one.tensor), wanted = shape(x.tensor);
    return one.tensor.dtype == dx.tensor.dtype && std::equal(own.begin(), own.end(), wanted.begin(), wanted.end());
  };
  if ((dx.tensor.flags & BALEEN_TENSOR_OUTPUT) || is_fp8(dx.tensor.dtype) || !is_alike(dx) || !is_alike(added) ||
      !is_alike(sum))
    return std::nullopt;
  return NormGradAndSum{added, sum};
}

/// Whether a region finds the largest |x|, as scales of 8 bits need it: the magnitudes need be stored nowhere.
inline bool is_largest_magnitude(const baleen_region_t& region) {
  if (!is_reduced_expression(region, "max")) return false;
  const RegionOp magnitudes(region, 0);
  const baleen_dtype_t x = magnitudes.in(0).tensor.dtype, made = magnitudes.out(0).tensor.dtype;
  if (made != x && made != computed_in(x)) return false;
  const auto code = magnitudes.op().expression("expression");
  const auto& last = code[static_cast<std::size_t>(magnitudes.op().integers("results")[0])];
  return last.opcode == BALEEN_X_ABS && code[last.a].opcode == BALEEN_X_INPUT && code[last.a].a == 0;
}

}  // namespace baleen::sdk
