/// \file Going through a common shape in row-major order, with the offsets of several differently strided operands.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace baleen::cpu {

/// A shape that several operands share, with neighbouring dimensions merged where all operands allow it and dimensions
/// of extent 1 left out. Offsets are in elements.
class Walk {
 public:
  Walk() = default;
  /// strides[i] are operand i's, one per dimension of `shape`.
  Walk(std::span<const std::int64_t> shape, std::span<const std::vector<std::int64_t>> strides);

  std::int64_t size() const { return size_; }
  std::size_t rank() const { return shape_.size(); }
  std::size_t operands() const { return operands_; }
  std::int64_t extent(std::size_t dim) const { return shape_[dim]; }
  std::int64_t stride(std::size_t operand, std::size_t dim) const { return strides_[operand][dim]; }
  /// Extent and stride of the innermost dimension; 1 and 1 for a single element.
  std::int64_t inner() const { return shape_.empty() ? 1 : shape_.back(); }
  std::int64_t inner_stride(std::size_t operand) const { return shape_.empty() ? 1 : strides_[operand].back(); }

  /// The operand's offset at a row-major position.
  std::int64_t offset(std::size_t operand, std::int64_t position) const {
    std::int64_t offset = 0;
    const auto& strides = strides_[operand];
    for (std::size_t dim = shape_.size(); dim-- > 0;) {
      if (dim == 0) return offset + position * strides[0];
      const std::int64_t outer = position / shape_[dim];
      offset += (position - outer * shape_[dim]) * strides[dim];
      position = outer;
    }
    return offset;
  }

 private:
  std::int64_t size_ = 1;
  std::size_t operands_ = 0;
  std::vector<std::int64_t> shape_;
  std::vector<std::vector<std::int64_t>> strides_;
};

}  // namespace baleen::cpu
