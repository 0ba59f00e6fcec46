/// \file How much of what ranks hold they keep when a layout changes among shards.
#pragma once
#include "compiler/layout/piece.hpp"

namespace baleen {

/// Elements that two pieces of one tensor have in common. Flat pieces are of one box.
std::int64_t common_elements(const Piece& a, const Piece& b);

/// The share of all elements that change their rank when `from` becomes `to`; these differ in splits along `axes`
/// alone. Exact for the ranks whose other coordinates are 0, which hold the largest pieces.
double moved_share(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                   const std::vector<int>& axes);

}  // namespace baleen
