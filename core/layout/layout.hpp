/// \file The mesh, placements and layouts: how one rank's piece of a tensor lies in the whole.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace baleen {

using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar.
std::int64_t element_count(const Shape& shape);
/// "[16, 128]".
std::string to_string(const Shape& shape);

/// A named axis of the mesh. `micro`, always innermost, is virtual: its coordinates are the micro-batches of one step.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
};

/// Outermost first.
struct Mesh {
  std::vector<MeshAxis> axes;

  /// Position of the axis `name`, or -1.
  int find(const std::string& name) const;
};

inline constexpr const char* kMicroAxis = "micro";

/// What one mesh axis does to a value (DESIGN 4).
struct Placement {
  enum class Kind { replicate, shard, shard_balanced, shard_flat, partial_sum, partial_max, at };
  Kind kind = Kind::replicate;
  int argument = 0;  ///< dimension (shard, shard_balanced) or coordinate (at)

  bool is_replicate() const { return kind == Kind::replicate; }
  bool is_shard() const { return kind == Kind::shard; }
  bool is_partial() const { return kind == Kind::partial_sum || kind == Kind::partial_max; }
  friend bool operator==(const Placement&, const Placement&) = default;

  static Placement replicate() { return {}; }
  static Placement shard(int dim) { return {Kind::shard, dim}; }
  static Placement partial() { return {Kind::partial_sum, 0}; }
};

/// A placement per mesh axis, in mesh order; empty means: replicated on all.
using Layout = std::vector<Placement>;

/// "R", "S0", "P", joined by ","; "" for the empty layout.
std::string to_string(const Layout& layout);

/// The shape of coordinate 0's piece (the largest): sharded dimensions are divided, rounding up.
Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh);

}  // namespace baleen
