/// \file Views: how a tensor lies in a storage. Pure functions on shapes and strides.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/layout/layout.hpp"

namespace baleen {

using Strides = std::vector<std::int64_t>;

/// Row-major strides without gaps, in elements.
Strides contiguous_strides(const Shape& shape);
/// Dimensions of extent 1 do not matter.
bool is_contiguous(const Shape& shape, const Strides& strides);

/// Strides under which the same memory has the shape `to`, in row-major order of elements; nothing where there are
/// none.
std::optional<Strides> reshape_strides(const Shape& from, const Strides& strides, const Shape& to);
/// Result dimension i is dimension permutation[i].
Strides transpose_strides(const Strides& strides, const std::vector<std::int64_t>& permutation);

}  // namespace baleen
