/// \file From what all members prepared to one member's program.
#pragma once
#include <array>
#include <vector>

#include "baleen/collective.hpp"
#include "program.hpp"

namespace baleen::shm {

/// A member of the group as this process sees it.
struct Peer {
  Collective collective;
  std::vector<const std::byte*> inputs;  ///< per entry, in this process; null where out of reach
  std::vector<std::byte*> outputs;
  std::array<std::byte*, 2> halves;      ///< of its staging area
  std::array<std::byte*, 2> tiny, mail;  ///< by parity of the meeting
};

struct Compilation {
  const std::vector<Peer>& peers;
  std::size_t place;  ///< whose program

  const Collective& mine() const { return peers[place].collective; }
};

/// Every member reads and writes its peers' buffers: all of them are in reach.
Program compile_direct(const Compilation& c);
/// Through the mail, in one meeting, for parts of at most kMailBytes. For meetings of that parity.
Program compile_mail(const Compilation& c, std::size_t parity);
/// Segment by segment through the staging areas.
Program compile_staged(const Compilation& c);

/// The most that a member shows to others, in bytes.
std::uint64_t largest_stream(const Compilation& c);
/// Whether compile_direct may be used.
bool in_reach(const Compilation& c);

}  // namespace baleen::shm
