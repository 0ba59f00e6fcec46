/// \file What a compute plugin makes a kernel from: an op of a region, and its operands' views.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Whether a region of two ops sums x * x up, as the norm of a gradient does: the squares need be stored nowhere. x is
/// the first op's operand, the sum the second one's result.
inline bool is_sum_of_squares(const baleen_region_t& region) {
  if (region.op_count != 2 || view(op_of(region, 0).kind) != "pointwise" || view(op_of(region, 1).kind) != "reduce")
    return false;
  const RegionOp squares(region, 0), sum(region, 1);
  if (squares.inputs() != 1 || squares.outputs() != 1 || sum.inputs() != 1 || sum.op().text("kind") != "sum")
    return false;
  const RegionOperand x = squares.in(0), interior = squares.out(0);
  const std::span<const std::int64_t> from = shape(x.tensor), to = shape(interior.tensor);
  const auto computed_in = [](baleen_dtype_t dtype) { return dtype == BALEEN_F64 ? BALEEN_F64 : BALEEN_F32; };
  // Squares of 16 bits would be rounded once more before they are added.
  if (interior.number != sum.in(0).number || interior.tensor.flags & BALEEN_TENSOR_OUTPUT ||
      interior.tensor.dtype != computed_in(x.tensor.dtype) || !is_floating(x.tensor.dtype) ||
      !is_floating(sum.out(0).tensor.dtype) || computed_in(sum.out(0).tensor.dtype) != interior.tensor.dtype ||
      !std::equal(from.begin(), from.end(), to.begin(), to.end()))
    return false;
  const auto code = squares.op().expression("expression");
  const auto& last = code[static_cast<std::size_t>(squares.op().integers("results")[0])];
  const auto is_x = [&](std::uint32_t value) { return code[value].opcode == BALEEN_X_INPUT && code[value].a == 0; };
  return last.opcode == BALEEN_X_MUL && is_x(last.a) && is_x(last.b);
}

}  // namespace baleen::sdk
