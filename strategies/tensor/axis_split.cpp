/// \file Splits an axis into the axes of a square, of several squares, or of a cube.
#include "axis_split.hpp"

#include <string>

namespace baleen::tensor_parallel {
namespace {

std::int64_t power(std::int64_t side, int exponent) { return exponent == 0 ? 1 : side * power(side, exponent - 1); }

/// The largest side of a square or cube of at most `ranks`.
std::int64_t side_of(std::int64_t ranks, int exponent) {
  std::int64_t side = 1;
  while (power(side + 1, exponent) <= ranks) ++side;
  return side;
}

/// "4 (2 x 2) or 9 (3 x 3)": the numbers of ranks next to `ranks`, with `depth` of each.
std::string nearest(std::int64_t ranks, int exponent, std::int64_t depth) {
  std::string text;
  const std::int64_t below = side_of(ranks / depth, exponent);
  for (std::int64_t side : {std::max<std::int64_t>(below, 2), std::max<std::int64_t>(below, 2) + 1})
    text += (text.empty() ? "" : " or ") + ranks_text(side, exponent, depth);
  return text;
}

}  // namespace

std::string ranks_text(std::int64_t side, int exponent, std::int64_t depth) {
  std::string ranks = std::to_string(depth * power(side, exponent));
  if (exponent == 1) return ranks;
  std::string product = depth > 1 ? std::to_string(depth) + " x " : "";
  for (int i = 0; i < exponent; ++i) product += (i ? " x " : "") + std::to_string(side);
  return ranks + " (" + product + ")";
}

Result<Shape> Shape::of(const Settings& settings) {
  Shape shape{std::string(settings.text("axis")), std::string(settings.text("mode")), settings.integer("depth")};
  if (shape.mode == "2.5d" && shape.depth == 0)
    return invalid("mode = \"2.5d\" needs `depth`, the number of square grids; with depth = 1 it is mode = \"2d\"");
  if (shape.mode != "2.5d" && shape.depth != 0)
    return invalid("`depth` is of mode = \"2.5d\", and the mode is \"" + shape.mode + "\"; leave it out");
  return shape;
}

Result<std::optional<AxisSplit>> split(const Shape& shape, MeshView mesh) {
  const auto axis = mesh.find(shape.axis);
  if (shape.mode == "1d" || !axis || mesh.size(*axis) == 1) return std::optional<AxisSplit>();
  const std::int64_t ranks = mesh.size(*axis), depth = std::max<std::int64_t>(shape.depth, 1);
  const int exponent = shape.mode == "3d" ? 3 : 2;
  const std::int64_t side = side_of(ranks / depth, exponent);
  if (side < 2 || depth * power(side, exponent) != ranks)
    return invalid("mode = \"" + shape.mode + "\" takes a " + (exponent == 3 ? "cube" : "square") + " of ranks" +
                   (depth > 1 ? " times depth = " + std::to_string(depth) : "") + ", and `" + shape.axis + "` has " +
                   std::to_string(ranks) + "; make it " + nearest(ranks, exponent, depth));
  AxisSplit parts{*axis, {{"row", side}, {"col", side}}};
  if (depth > 1) parts.parts.insert(parts.parts.begin(), {"depth", depth});
  if (exponent == 3) parts.parts.insert(parts.parts.begin(), {"depth", side});
  return std::optional(parts);
}

}  // namespace baleen::tensor_parallel
