/// \file Pieces: each split keeps a part of the indices that the splits outside it left.
#include "compiler/layout/piece.hpp"

#include <algorithm>

namespace baleen {
namespace {

void append(Ranges& runs, Range run) {
  if (run.length() <= 0) return;
  if (!runs.empty() && runs.back().end == run.begin)
    runs.back().end = run.end;
  else
    runs.push_back(run);
}

/// Positions [begin, end) of the listed indices.
void append_positions(const Ranges& runs, std::int64_t begin, std::int64_t end, Ranges& out) {
  std::int64_t position = 0;
  for (const Range& run : runs) {
    const std::int64_t from = std::max(begin - position, std::int64_t{0}), to = std::min(end - position, run.length());
    if (from < to) append(out, {run.begin + from, run.begin + to});
    position += run.length();
  }
}

std::int64_t blocks_of(std::int64_t count, std::int64_t parts) { return (count + parts - 1) / parts; }

/// Extents that suffice for every part of `extent`; the largest is no smaller for a larger extent.
std::int64_t largest_part(std::int64_t extent, Placement::Kind kind, std::int64_t parts) {
  if (kind != Placement::Kind::shard_balanced) return blocks_of(extent, parts);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < parts; ++i) most = std::max(most, length(part_of({{0, extent}}, kind, parts, i)));
  return most;
}

const Placement& placement(const Layout& layout, int axis) { return layout[static_cast<std::size_t>(axis)]; }

}  // namespace

std::int64_t length(const Ranges& runs) {
  std::int64_t sum = 0;
  for (const Range& run : runs) sum += run.length();
  return sum;
}

Ranges part_of(const Ranges& runs, Placement::Kind kind, std::int64_t parts, std::int64_t index) {
  Ranges part;
  if (kind != Placement::Kind::shard_balanced) {
    const std::int64_t block = blocks_of(length(runs), parts);
    append_positions(runs, index * block, (index + 1) * block, part);
    return part;
  }
  const std::int64_t chunk = blocks_of(length(runs), 2 * parts);
  for (std::int64_t c : {index, 2 * parts - 1 - index}) append_positions(runs, c * chunk, (c + 1) * chunk, part);
  return part;
}

Ranges common(const Ranges& a, const Ranges& b) {
  Ranges both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    append(both, {std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)});
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return both;
}

Shape Piece::shape() const {
  if (flat) return {flat->length()};
  Shape shape;
  for (const Ranges& runs : dims) shape.push_back(length(runs));
  return shape;
}

std::int64_t Piece::elements() const { return held ? element_count(shape()) : 0; }

Piece piece_of(const Shape& global, const Layout& layout, const Mesh& mesh, const Coordinates& at) {
  Piece piece;
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (layout[i].is_at() && layout[i].argument != at[i]) piece.held = false;
  auto cut = [&](Ranges runs, int dim) {
    for (int axis : split_order(layout, dim))
      runs = part_of(runs, placement(layout, axis).kind, mesh.size(axis), at[static_cast<std::size_t>(axis)]);
    return runs;
  };
  Shape box;
  for (std::size_t d = 0; d < global.size(); ++d) {
    piece.dims.push_back(cut(global[d] > 0 ? Ranges{{0, global[d]}} : Ranges{}, static_cast<int>(d)));
    box.push_back(length(piece.dims.back()));
  }
  if (split_order(layout, kFlat).empty()) return piece;
  const std::int64_t elements = element_count(box);
  const Ranges flat = cut(elements > 0 ? Ranges{{0, elements}} : Ranges{}, kFlat);
  piece.flat = flat.empty() ? Range{elements, elements} : flat.front();
  return piece;
}

Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh, const Coordinates& at) {
  return piece_of(global, layout, mesh, at).shape();
}

Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh) {
  Shape local = global;
  for (std::size_t d = 0; d < local.size(); ++d)
    for (int axis : split_order(layout, static_cast<int>(d)))
      local[d] = largest_part(local[d], placement(layout, axis).kind, mesh.size(axis));
  const std::vector<int> flat = split_order(layout, kFlat);
  if (flat.empty()) return local;
  std::int64_t elements = element_count(local);
  for (int axis : flat) elements = blocks_of(elements, mesh.size(axis));
  return {elements};
}

bool is_even(const Shape& global, const Layout& layout, const Mesh& mesh) {
  const std::int64_t chunks = 2;  // a balanced part has two
  Shape local = global;
  auto divide = [&](std::int64_t& extent, int axis) {
    const std::int64_t parts =
        mesh.size(axis) * (placement(layout, axis).kind == Placement::Kind::shard_balanced ? chunks : 1);
    if (extent % parts != 0) return false;
    extent /= mesh.size(axis);
    return true;
  };
  for (std::size_t d = 0; d < local.size(); ++d)
    for (int axis : split_order(layout, static_cast<int>(d)))
      if (!divide(local[d], axis)) return false;
  std::int64_t elements = element_count(local);
  for (int axis : split_order(layout, kFlat))
    if (!divide(elements, axis)) return false;
  return true;
}

}  // namespace baleen
