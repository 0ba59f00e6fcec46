/// \file What a compute plugin makes a kernel from: an op of a region, and its operands' views.
#pragma once
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

}  // namespace baleen::sdk
