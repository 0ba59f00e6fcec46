/// \file How much of what ranks hold they keep when a layout changes among shards.
#pragma once
#include "core/layout/layout.hpp"

namespace baleen {

/// The share of all elements that change their rank when `from` becomes `to`; these differ in splits along `axes`
/// alone. Exact for the ranks whose other coordinates are 0, which hold the largest pieces.
double moved_share(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                   const std::vector<int>& axes);

}  // namespace baleen
