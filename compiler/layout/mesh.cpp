/// \file Ranks and coordinates: mixed-radix numbers with the last axis as the lowest digit.
#include "compiler/layout/mesh.hpp"

#include <algorithm>

namespace baleen {

bool is_virtual(const MeshAxis& axis) { return axis.name == kMicroAxis; }

std::int64_t rank_count(const Mesh& mesh) {
  std::int64_t count = 1;
  for (const MeshAxis& axis : mesh.axes)
    if (!is_virtual(axis)) count *= axis.size;
  return count;
}

Coordinates coordinates(const Mesh& mesh, std::int64_t rank) {
  Coordinates at(mesh.axes.size(), 0);
  for (std::size_t i = mesh.axes.size(); i-- > 0;) {
    if (is_virtual(mesh.axes[i])) continue;
    at[i] = rank % mesh.axes[i].size;
    rank /= mesh.axes[i].size;
  }
  return at;
}

std::int64_t rank_of(const Mesh& mesh, const Coordinates& at) {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    if (!is_virtual(mesh.axes[i])) rank = rank * mesh.axes[i].size + at[i];
  return rank;
}

std::vector<std::int64_t> group(const Mesh& mesh, std::int64_t rank, const std::vector<int>& axes) {
  std::vector<Coordinates> members{coordinates(mesh, rank)};
  for (int axis : axes) {
    if (is_virtual(mesh.axes[static_cast<std::size_t>(axis)])) continue;
    std::vector<Coordinates> more;
    for (const Coordinates& member : members)
      for (std::int64_t c = 0; c < mesh.size(axis); ++c) {
        more.push_back(member);
        more.back()[static_cast<std::size_t>(axis)] = c;
      }
    members = std::move(more);
  }
  std::vector<std::int64_t> ranks;
  for (const Coordinates& member : members) ranks.push_back(rank_of(mesh, member));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<std::vector<std::int64_t>> groups(const Mesh& mesh, const std::vector<int>& axes) {
  std::vector<std::vector<std::int64_t>> result;
  for (std::int64_t rank = 0; rank < rank_count(mesh); ++rank)
    if (auto members = group(mesh, rank, axes); members.front() == rank) result.push_back(std::move(members));
  return result;
}

}  // namespace baleen
