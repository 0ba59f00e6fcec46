/// \file The mesh, placements and layouts: how one rank's piece of a tensor lies in the whole.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen {

using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar.
std::int64_t element_count(const Shape& shape);
/// "[16, 128]".
std::string to_string(const Shape& shape);

/// A named axis of the mesh. `micro`, always the last, is virtual: its coordinates are the micro-batches of one step.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
};

/// Outermost first.
struct Mesh {
  std::vector<MeshAxis> axes;

  /// Position of the axis `name`, or -1.
  int find(const std::string& name) const;
  std::int64_t size(int axis) const { return axes[static_cast<std::size_t>(axis)].size; }
};

inline constexpr const char* kMicroAxis = "micro";

/// In place of a dimension: all of them as one, in row-major order (`shard_flat`).
inline constexpr int kFlat = -1;

/// What one mesh axis does to a value (docs/design.md, section 4).
struct Placement {
  enum class Kind { replicate, shard, shard_balanced, shard_flat, partial_sum, partial_max, at };
  Kind kind = Kind::replicate;
  int argument = 0;  ///< dimension (shard, shard_balanced) or coordinate (at)
  /// Where several axes cut one dimension: an axis of smaller depth cuts first (is further out); among equals mesh
  /// order.
  int depth = 0;

  bool is_replicate() const { return kind == Kind::replicate; }
  bool is_shard() const { return kind == Kind::shard; }
  bool is_partial() const { return kind == Kind::partial_sum || kind == Kind::partial_max; }
  bool is_at() const { return kind == Kind::at; }
  /// The dimension it cuts (kFlat for shard_flat), if it cuts one.
  std::optional<int> cut() const;
  /// Alike but for the depth.
  bool same_kind(const Placement& other) const { return kind == other.kind && argument == other.argument; }
  friend auto operator<=>(const Placement&, const Placement&) = default;

  static Placement replicate() { return {}; }
  static Placement shard(int dim) { return {Kind::shard, dim, 0}; }
  static Placement balanced(int dim) { return {Kind::shard_balanced, dim, 0}; }
  static Placement flat() { return {Kind::shard_flat, 0, 0}; }
  static Placement partial() { return {Kind::partial_sum, 0, 0}; }
  static Placement partial_max() { return {Kind::partial_max, 0, 0}; }
  static Placement at(int coordinate) { return {Kind::at, coordinate, 0}; }
};

/// A placement per mesh axis, in mesh order; empty means: replicated on all. Layouts are compared in canonical form.
using Layout = std::vector<Placement>;

/// "R", "S0" (balanced "B0", flat "F"), "P" (of maxima "Pmax"), "@1"; a depth follows: "S0.1".
std::string to_string(const Placement& placement);
/// Placements joined by ","; "" for the empty layout.
std::string to_string(const Layout& layout);
/// For users: "whole", "cut along dimension 2" (counted from 1), "cut into even runs of its elements", ...
std::string in_words(const Placement& placement);
/// The way back from `to_string`. Fails on anything that it does not write.
Result<Placement> parse_placement(const std::string& text);
Result<Layout> parse_layout(const std::string& text);

/// Replicated on every axis.
bool is_whole(const Layout& layout);

/// The axes that cut `dim` (or kFlat), outermost first.
std::vector<int> split_order(const Layout& layout, int dim);

/// The one form of a layout: depth 0 wherever mesh order is meant, else 0, 1, 2, ... from the outermost split on.
Layout canonical(Layout layout);
/// `layout` (canonical) with axis `axis` placed anew; where that cuts a dimension it is the innermost cut. Canonical.
Layout with_placement(Layout layout, int axis, Placement placement);
/// `layout` with the axes that cut `dim` in this order, outermost first; `order` names just these axes. Canonical.
Layout with_order(Layout layout, int dim, const std::vector<int>& order);

/// That a value of this shape may lie so: one placement per axis, dimensions that exist, coordinates on the axis, one
/// kind of partial, canonical. The error says which axis and why.
Status check(const Layout& layout, const Shape& shape, const Mesh& mesh);

}  // namespace baleen
