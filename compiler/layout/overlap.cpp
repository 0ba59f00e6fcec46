/// \file Counts the elements that two pieces have in common.
#include "compiler/layout/piece.hpp"

#include <algorithm>

namespace baleen {
namespace {

/// How many of the first `count` indices of `all` are in `sub`.
std::int64_t below(const Ranges& all, const Ranges& sub, std::int64_t count) {
  Ranges first;
  for (const Range& run : all) {
    const std::int64_t take = std::min(count, run.length());
    if (take > 0) first.push_back({run.begin, run.begin + take});
    count -= take;
  }
  return length(common(first, sub));
}

/// Elements of the box `all` that lie in the box `sub`, among the first `count` in row-major order.
std::int64_t first_elements(const std::vector<Ranges>& all, const std::vector<Ranges>& sub, std::int64_t count) {
  std::int64_t found = 0, inner_all = 1, inner_sub = 1;
  for (std::size_t d = 0; d < all.size(); ++d) {
    inner_all *= length(all[d]);
    inner_sub *= length(common(all[d], sub[d]));
  }
  if (count >= inner_all) return inner_sub;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const std::int64_t extent = length(all[d]), own = length(common(all[d], sub[d]));
    if (own == 0) return found;
    inner_all /= extent;
    inner_sub /= own;
    const std::int64_t rows = count / inner_all;
    found += below(all[d], sub[d], rows) * inner_sub;
    count -= rows * inner_all;
    if (below(all[d], sub[d], rows + 1) == below(all[d], sub[d], rows)) return found;  // the rest is outside
  }
  return found;
}

}  // namespace

std::int64_t common_elements(const Piece& a, const Piece& b) {
  if (a.flat && b.flat) {  // over one box
    const Ranges both = common({*a.flat}, {*b.flat});
    return length(both);
  }
  if (b.flat) return common_elements(b, a);
  if (a.flat) return first_elements(a.dims, b.dims, a.flat->end) - first_elements(a.dims, b.dims, a.flat->begin);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < a.dims.size(); ++d) count *= length(common(a.dims[d], b.dims[d]));
  return count;
}

double moved_share(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                   const std::vector<int>& axes) {
  std::int64_t held = 0, kept = 0;
  for (std::int64_t rank : group(mesh, 0, axes)) {
    const Coordinates at = coordinates(mesh, rank);
    const Piece before = piece_of(shape, from, mesh, at), after = piece_of(shape, to, mesh, at);
    held += before.elements();
    kept += common_elements(before, after);
  }
  return held == 0 ? 0 : 1 - static_cast<double>(kept) / static_cast<double>(held);
}

}  // namespace baleen
