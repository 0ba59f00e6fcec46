/// \file The rows of operands: positions of their shared leading dimensions.
#pragma once
#include <initializer_list>

#include "kernel.hpp"
#include "walk.hpp"

namespace baleen::cpu {

/// A walk over the first `dims` dimensions that all `operands` share.
inline Walk leading_walk(std::uint32_t dims, std::initializer_list<const Operand*> operands) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Operand* operand : operands) all.emplace_back(operand->tensor.stride, operand->tensor.stride + dims);
  return Walk({(*operands.begin())->tensor.shape, dims}, all);
}

/// Rows per task, so that a task touches about 64 KiB.
inline std::int64_t rows_per_task(std::int64_t width, std::size_t element) {
  const std::int64_t rows = (std::int64_t{1} << 16) / static_cast<std::int64_t>(element) / (width > 0 ? width : 1);
  return rows > 0 ? rows : 1;
}

}  // namespace baleen::cpu
