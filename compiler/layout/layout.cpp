/// \file Meshes, placements, and the order in which axes cut a dimension.
#include "compiler/layout/layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace baleen {

std::int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

int Mesh::find(const std::string& name) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return static_cast<int>(i);
  return -1;
}

std::optional<int> Placement::cut() const {
  switch (kind) {
    case Kind::shard:
    case Kind::shard_balanced: return argument;
    case Kind::shard_flat: return kFlat;
    default: return std::nullopt;
  }
}

bool is_whole(const Layout& layout) {
  return std::all_of(layout.begin(), layout.end(), [](const Placement& p) { return p.is_replicate(); });
}

std::vector<int> split_order(const Layout& layout, int dim) {
  std::vector<int> order;
  for (std::size_t i = 0; i < layout.size(); ++i)
    if (layout[i].cut() == dim) order.push_back(static_cast<int>(i));
  std::ranges::sort(order, {}, [&](int axis) { return std::pair(layout[static_cast<std::size_t>(axis)].depth, axis); });
  return order;
}

Layout with_order(Layout layout, int dim, const std::vector<int>& order) {
  const bool plain = std::is_sorted(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (Placement& p = layout[static_cast<std::size_t>(order[i])]; p.cut() == dim)
      p.depth = plain ? 0 : static_cast<int>(i);
  return layout;
}

Layout canonical(Layout layout) {
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const auto dim = layout[i].cut();
    if (!dim) {
      layout[i].depth = 0;
      continue;
    }
    const std::vector<int> order = split_order(layout, *dim);
    const bool first = *std::min_element(order.begin(), order.end()) == static_cast<int>(i);
    if (first) layout = with_order(std::move(layout), *dim, order);
  }
  return layout;
}

Layout with_placement(Layout layout, int axis, Placement placement) {
  Placement& own = layout[static_cast<std::size_t>(axis)];
  const auto left = own.cut(), dim = placement.cut();
  own = placement;
  own.depth = 0;
  if (left && left != dim) {
    const std::vector<int> rest = split_order(layout, *left);
    layout = with_order(std::move(layout), *left, rest);
  }
  if (dim) {
    std::vector<int> order = split_order(layout, *dim);
    std::erase(order, axis);
    order.push_back(axis);
    layout = with_order(std::move(layout), *dim, order);
  }
  return layout;
}

namespace {

Status check_placement(const Placement& p, const Shape& shape, const MeshAxis& axis) {
  const std::string what = "axis `" + axis.name + "`: " + to_string(p);
  const auto dim = p.cut();
  if (dim && *dim != kFlat && (*dim < 0 || static_cast<std::size_t>(*dim) >= shape.size()))
    return invalid(what + " cuts dimension " + std::to_string(*dim) + ", and a value of shape " + to_string(shape) +
                   " has " + std::to_string(shape.size()) + " dimensions, counted from 0");
  if (p.is_at() && (p.argument < 0 || p.argument >= axis.size))
    return invalid(what + " is at coordinate " + std::to_string(p.argument) + ", and the axis has " +
                   std::to_string(axis.size) + " coordinates, counted from 0");
  return {};
}

}  // namespace

Status check(const Layout& layout, const Shape& shape, const Mesh& mesh) {
  if (layout.size() != mesh.axes.size())
    return invalid("a layout of " + std::to_string(layout.size()) + " placements for a mesh of " +
                   std::to_string(mesh.axes.size()) + " axes; give one placement per axis");
  std::optional<Placement::Kind> partial;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    BALEEN_TRY(check_placement(layout[i], shape, mesh.axes[i]));
    if (!layout[i].is_partial()) continue;
    if (partial && *partial != layout[i].kind)
      return invalid("axis `" + mesh.axes[i].name + "`: " + to_string(layout) +
                     " mixes sums and maxima, whose order would matter; resolve one of them first");
    partial = layout[i].kind;
  }
  if (canonical(layout) != layout)
    return invalid("the layout " + to_string(layout) + " is not in canonical form, " + to_string(canonical(layout)));
  return {};
}

}  // namespace baleen
