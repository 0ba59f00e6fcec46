/// \file A call of the transport cut into pieces that pass through the host's memory: what is copied out of the
/// device's memory, what the transport does there, what is copied back.
#pragma once
#include <cstdint>
#include <vector>

#include "baleen/collective.hpp"

namespace baleen {

/// Which collectives pass through pinned memory, since the transport works on their tensors only where the host reaches
/// them; the same on all ranks.
struct StagedCollectives {
  std::uint64_t piece_bytes = 0;   ///< in pieces of so many bytes; 0: none does
  baleen_operations_t direct = 0;  ///< these work on the tensors themselves all the same

  bool contains(baleen_collective_t op) const { return piece_bytes > 0 && !(direct & BALEEN_OPERATION(op)); }
};

/// Neighbouring bytes of a tensor of the call and of the piece's memory.
struct StagedCopy {
  std::uint32_t entry = 0;  ///< of the call: its input (out) or its output (in)
  std::uint64_t tensor = 0, staged = 0, bytes = 0;
};

/// A collective like the call's, with entries of its own.
struct StagedPiece {
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  std::vector<EntryOf<std::uint64_t>> entries;  ///< of offsets in the piece's memory; kNowhere: no side
  std::vector<StagedCopy> out, in;
  std::uint64_t bytes = 0;  ///< of memory, the same on all members unless the call has lists of `sends`
};

/// Pieces of `piece_bytes` or little more, the same on all members. Each element goes through the same sums as in the
/// whole, so the bits are the same. A call with lists of `sends`, whose sizes members do not know of each other, stays
/// whole. Of pointers only null and equality count.
std::vector<StagedPiece> cut_call(const Collective& call, std::uint64_t piece_bytes);

}  // namespace baleen
