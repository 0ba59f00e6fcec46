/// \file From a collective and an algorithm to a program. All members compile theirs from equal arguments, so that
/// every message has two ends.
#pragma once
#include <cstdint>

#include "algorithm.hpp"
#include "baleen/collective.hpp"
#include "program.hpp"

namespace baleen::ucx {

struct Compilation {
  const Collective& mine;
  std::uint64_t segment;  ///< bytes that are reduced, or passed on, at a time
  Scratch& scratch;
  bool adds = true;                      ///< messages may be added while they arrive
  const DirectAccess* access = nullptr;  ///< what needs not be sent
  /// Some member's buffers lie in a device's memory; what this one has of it. Nothing is summed then.
  const DeviceArenas* devices = nullptr;

  std::size_t me() const { return mine.place; }
  std::size_t members() const { return mine.members; }
  /// The member `distance` on, around the group.
  std::size_t after(std::size_t distance) const { return (me() + distance) % members(); }
  std::size_t before(std::size_t distance) const { return (me() + members() - distance) % members(); }
  /// Bytes, a multiple of an element.
  std::uint64_t step() const { return segment / 16 * 16; }
  ProgramBuilder builder(std::uint64_t limit) const;
};

/// Share r of a stream of so many bytes; shares begin at cache lines.
Range share_of(std::uint64_t bytes, std::size_t r, std::size_t members);
/// Part number `k`, of `step` bytes, of a range; may be short or empty.
Range part_of(Range range, std::uint64_t k, std::uint64_t step);
/// How many parts the range has.
std::uint64_t parts_of(Range range, std::uint64_t step);

/// What `choose` is asked about a collective.
Question question_of(const Collective& mine);

Program compile(const Compilation& c, Algorithm algorithm);

// One per file.
Program compile_direct_reduce(const Compilation& c);
Program compile_doubling(const Compilation& c);
Program compile_halving(const Compilation& c);
Program compile_pairwise_reduce(const Compilation& c);
Program compile_ring_reduce(const Compilation& c);
Program compile_subtree_reduce(const Compilation& c);
Program compile_gather(const Compilation& c, Algorithm algorithm);
Program compile_broadcast(const Compilation& c, Algorithm algorithm);
Program compile_exchange(const Compilation& c, Algorithm algorithm);
Program compile_permute(const Compilation& c);
Program compile_pair(const Compilation& c);
Program compile_barrier(const Compilation& c);

}  // namespace baleen::ucx
