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

/// The share that a change of nesting leaves on its rank, where all parts are blocks of one size: a rank keeps its
/// block if both orders give it one number, else nothing of it. None where parts are not such blocks.
std::optional<double> kept_by_renesting(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                                        const std::vector<int>& axes) {
  const auto placed = [](const Layout& layout, int axis) { return layout[static_cast<std::size_t>(axis)]; };
  const Placement first = placed(from, axes[0]);
  for (int axis : axes)
    if (!placed(from, axis).same_kind(first) || !placed(to, axis).same_kind(first)) return std::nullopt;
  if (!first.is_shard() && first.kind != Placement::Kind::shard_flat) return std::nullopt;
  if (!is_even(shape, from, mesh)) return std::nullopt;
  // A block's number is a sum over the axes: the coordinate times the parts that nest inside.
  const auto weights = [&](const Layout& layout) {
    std::vector<std::int64_t> result(mesh.axes.size(), 0);
    std::int64_t inside = 1;
    std::vector<int> order = split_order(layout, *first.cut());
    std::ranges::reverse(order);
    for (int axis : order) {
      result[static_cast<std::size_t>(axis)] = inside;
      inside *= mesh.size(axis);
    }
    return result;
  };
  const std::vector<std::int64_t> before = weights(from), after = weights(to);
  std::vector<std::int64_t> differences{0};  // of the two numbers, by rank
  for (int axis : axes) {
    const std::int64_t step = before[static_cast<std::size_t>(axis)] - after[static_cast<std::size_t>(axis)];
    std::vector<std::int64_t> more;
    for (std::int64_t difference : differences)
      for (std::int64_t c = 0; c < mesh.size(axis); ++c) more.push_back(difference + c * step);
    differences = std::move(more);
  }
  return static_cast<double>(std::ranges::count(differences, 0)) / static_cast<double>(differences.size());
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
  if (element_count(shape) == 0) return 0;
  if (const auto stays = kept_by_renesting(from, to, shape, mesh, axes)) return 1 - *stays;
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
