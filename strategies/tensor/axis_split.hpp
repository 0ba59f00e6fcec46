/// \file How a mode cuts its mesh axis into several: a grid, grids one behind the other, a cube.
#pragma once
#include <string>

#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

using namespace sdk;

/// What the options ask for.
struct Shape {
  std::string axis, mode;
  std::int64_t depth = 0;  ///< 0: not given

  /// Errors: a depth without the mode that has one, or the mode without it.
  static Result<Shape> of(const Settings& settings);
};

/// The parts of the axis; nothing for 1d, and where one rank has all. Fails where the ranks are no square or cube, with
/// the nearest numbers that are.
Result<std::optional<AxisSplit>> split(const Shape& shape, MeshView mesh);

/// "4 (2 x 2)", "8 (2 x 2 x 2)": the ranks of `depth` squares, or of a cube, of this side. With an exponent of 1 "2".
std::string ranks_text(std::int64_t side, int exponent, std::int64_t depth = 1);

}  // namespace baleen::tensor_parallel
