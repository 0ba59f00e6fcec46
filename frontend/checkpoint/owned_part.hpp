/// \file Which elements of a persistent tensor this rank writes to a checkpoint, and the digest of a tensor, which does
/// not depend on who holds what.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "baleen/checkpoint.h"
#include "compiler/codegen/executable.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {

/// Elements `begin` ... `end` - 1 of a rank's piece of a tensor, in the order in which they lie there.
struct OwnedPart {
  std::size_t buffer = 0;  ///< number of the tensor in the persistent layout
  Piece piece;             ///< all that the rank holds
  Range elements;          ///< of the piece

  std::int64_t count() const { return elements.length(); }
};

/// What the rank at `at` writes, so that every element of every tensor is written by exactly one rank: where several
/// hold the same piece each of them writes an equal share of it, or, of small ones, one of them all of it, each in its
/// turn. Pure: all ranks reckon alike.
std::vector<OwnedPart> owned_parts(const PersistentLayout& persistent, const Mesh& mesh, const Coordinates& at);

/// Where the next part begins in memory that holds several.
std::uint64_t aligned(std::uint64_t bytes);

/// Cuts parts so that no group has more than `most` bytes (but for `most` below 8), its parts `aligned` after each
/// other; a group has at most one part of a tensor. At least one group. most 0: one group of all.
std::vector<std::vector<OwnedPart>> grouped(const std::vector<OwnedPart>& parts, const PersistentLayout& persistent,
                                            std::uint64_t most);

/// A shard for the ABI and what it points to. Addresses stay when it is moved.
class ShardOf {
 public:
  /// `part` of a tensor of that name and type, with its elements at `data`.
  ShardOf(const PersistentSpec& spec, const OwnedPart& part, std::byte* data);
  const baleen_shard_t& get() const { return shard_; }

 private:
  std::vector<std::vector<baleen_range_t>> ranges_;
  baleen_shard_t shard_{};
};

/// The sum, modulo 2^64, over elements of a mix of their bits with their index in the whole tensor, row-major. Digests
/// of parts that make up a tensor add up to that of the whole, whatever the parts are.
std::uint64_t digest_of(const PersistentSpec& spec, const OwnedPart& part, std::span<const std::byte> data);

}  // namespace baleen
