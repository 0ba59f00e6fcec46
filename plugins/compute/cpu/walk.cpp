/// \file Merges neighbouring dimensions of a walk.
#include "walk.hpp"

namespace baleen::cpu {

Walk::Walk(std::span<const std::int64_t> shape, std::span<const std::vector<std::int64_t>> strides)
    : operands_(strides.size()), strides_(strides.size()) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    size_ *= shape[dim];
    if (shape[dim] == 1) continue;
    bool merges = !shape_.empty();
    for (std::size_t i = 0; merges && i < operands_; ++i) merges = strides_[i].back() == strides[i][dim] * shape[dim];
    if (merges)
      shape_.back() *= shape[dim];
    else
      shape_.push_back(shape[dim]);
    for (std::size_t i = 0; i < operands_; ++i) {
      if (merges)
        strides_[i].back() = strides[i][dim];
      else
        strides_[i].push_back(strides[i][dim]);
    }
  }
}

}  // namespace baleen::cpu
