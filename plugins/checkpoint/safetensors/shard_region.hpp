/// \file Where a piece of a tensor lies among the elements of the whole.
#pragma once
#include "baleen/checkpoint_shards.hpp"

namespace baleen::safetensors {

using namespace sdk;

/// The indices of a piece: a box, of which `flat` may leave only a part (baleen_shard_t).
struct Region {
  std::vector<std::int64_t> shape;                  ///< of the whole tensor
  std::vector<std::vector<baleen_range_t>> ranges;  ///< a list per dimension, never "all of it"
  std::optional<baleen_range_t> flat;

  /// Fails, without a name, where the indices do not lie in the tensor or do not ascend.
  static Result<Region> of(const std::vector<std::int64_t>& shape,
                           const std::vector<std::vector<baleen_range_t>>& ranges, std::optional<baleen_range_t> flat);
  std::int64_t elements() const;
  /// What its own tensor in a file has: the box's extents, or the number of elements where it is flat.
  std::vector<std::int64_t> local_shape() const;
  friend bool operator==(const Region& a, const Region& b);
};

/// Elements that follow each other both in the whole tensor, from `global`, and in the piece, from `local`; row-major.
struct Stretch {
  std::int64_t global = 0, local = 0, length = 0;
};
/// All of a region, ascending; as few as there can be.
std::vector<Stretch> stretches(const Region& region);

/// Elements of a shape; nothing where they are more than 2^63 - 1, or an extent is negative.
std::optional<std::int64_t> elements_of(const std::vector<std::int64_t>& shape);

}  // namespace baleen::safetensors
