/// \file Ranks and their places in the mesh. The first axis is outermost: ranks that differ in the last axis alone are
/// neighbours. The virtual axis `micro` has no part in ranks; its coordinate is 0.
#pragma once
#include "compiler/layout/layout.hpp"

namespace baleen {

/// One per axis, in mesh order.
using Coordinates = std::vector<std::int64_t>;

bool is_virtual(const MeshAxis& axis);

/// Product of the real axes' sizes; 1 for the empty mesh.
std::int64_t rank_count(const Mesh& mesh);
Coordinates coordinates(const Mesh& mesh, std::int64_t rank);
std::int64_t rank_of(const Mesh& mesh, const Coordinates& at);

/// The ranks that differ from `rank` in the coordinates of `axes` alone, itself among them, ascending.
std::vector<std::int64_t> group(const Mesh& mesh, std::int64_t rank, const std::vector<int>& axes);
/// All such groups, by their first rank: the order in which communicators are made.
std::vector<std::vector<std::int64_t>> groups(const Mesh& mesh, const std::vector<int>& axes);

}  // namespace baleen
