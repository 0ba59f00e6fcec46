/// \file Strides of reshapes, transposes and slices, and when they need a copy.
#include "compiler/codegen/view.hpp"

namespace baleen {

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

namespace {

/// A run of dimensions that behaves like one: `extent` elements, `stride` apart.
struct Block {
  std::int64_t extent, stride;
};

/// Merges neighbouring dimensions that lie without gaps, outermost first.
std::vector<Block> blocks_of(const Shape& shape, const Strides& strides) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!blocks.empty() && blocks.back().stride == strides[i] * shape[i])
      blocks.back() = {blocks.back().extent * shape[i], strides[i]};
    else
      blocks.push_back({shape[i], strides[i]});
  }
  return blocks;
}

}  // namespace

std::optional<Strides> reshape_strides(const Shape& from, const Strides& strides, const Shape& to) {
  if (element_count(from) == 0) return contiguous_strides(to);
  const std::vector<Block> blocks = blocks_of(from, strides);
  Strides result(to.size(), 1);
  // Innermost first: each new dimension takes a factor of the current block, which must divide evenly.
  std::size_t block = blocks.size();
  std::int64_t left = 1, stride = 1;
  for (std::size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) {
      result[i] = stride;
      continue;
    }
    if (left == 1) {
      if (block == 0) return std::nullopt;
      --block;
      left = blocks[block].extent;
      stride = blocks[block].stride;
    }
    if (left % to[i] != 0) return std::nullopt;
    result[i] = stride;
    stride *= to[i];
    left /= to[i];
  }
  return result;
}

Strides transpose_strides(const Strides& strides, const std::vector<std::int64_t>& permutation) {
  Strides result;
  result.reserve(permutation.size());
  for (std::int64_t dim : permutation) result.push_back(strides[static_cast<std::size_t>(dim)]);
  return result;
}

}  // namespace baleen
