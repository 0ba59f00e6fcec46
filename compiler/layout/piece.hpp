/// \file The piece of a tensor that one rank holds: runs of global indices, and local shapes.
#pragma once
#include "compiler/layout/mesh.hpp"

namespace baleen {

/// Indices begin, begin + 1, ..., end - 1.
struct Range {
  std::int64_t begin = 0, end = 0;

  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
/// Ascending, disjoint, none empty, neighbours merged. Local index i is the i-th of them.
using Ranges = std::vector<Range>;

std::int64_t length(const Ranges& runs);
/// Part `index` of `parts` of the listed indices: a block of ceil(n/parts), the last short or empty; or balanced,
/// chunks r and 2 parts − 1 − r of ceil(n / 2 parts).
Ranges part_of(const Ranges& runs, Placement::Kind kind, std::int64_t parts, std::int64_t index);
/// Indices in both.
Ranges common(const Ranges& a, const Ranges& b);

struct Piece {
  bool held = true;           ///< false where another coordinate of an `at` axis has the value; the rest is then void
  std::vector<Ranges> dims;   ///< global indices of each dimension
  std::optional<Range> flat;  ///< under shard_flat: which of the box's elements, row-major in local indices

  /// What the rank allocates: an extent per dimension; under shard_flat one dimension.
  Shape shape() const;
  std::int64_t elements() const;
};

/// What the rank at `at` holds of a tensor. Splits of one dimension nest in the layout's order, each cutting what the
/// one outside it left.
Piece piece_of(const Shape& global, const Layout& layout, const Mesh& mesh, const Coordinates& at);

/// The shape of that piece.
Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh, const Coordinates& at);
/// The extents that are enough for every rank.
Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh);

/// That every rank's piece has one shape.
bool is_even(const Shape& global, const Layout& layout, const Mesh& mesh);

/// Elements that two pieces of one tensor have in common. Flat pieces are of one box.
std::int64_t common_elements(const Piece& a, const Piece& b);

/// The share of all elements that change their rank when `from` becomes `to`; these differ in splits along `axes`
/// alone. Exact for the ranks whose other coordinates are 0, which hold the largest pieces.
double moved_share(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                   const std::vector<int>& axes);

}  // namespace baleen
