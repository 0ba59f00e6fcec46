/// \file What ranks write to each other at plan time.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "baleen/proposal.hpp"

namespace baleen::shm {

using namespace sdk;

/// Where a buffer lies: in an arena that its rank shares, or (-1) in memory of its own; or there is none.
struct Location {
  std::int64_t arena = -1;
  std::uint64_t offset = 0;
  bool exists = false;
  bool shared() const { return arena >= 0; }
};

/// An arena that came (its file travels along, in order) or went (0 bytes).
struct ArenaNews {
  std::uint64_t arena = 0, bytes = 0;
};

struct Letter {
  Proposal proposal;
  std::vector<std::pair<Location, Location>> places;  ///< of the collective's entries: input, output
  std::vector<ArenaNews> news;
  std::uint64_t memory_bytes = 0;  ///< of a board or channel whose file travels last; or 0
};

std::string encode(const Letter& letter);
Result<Letter> decode(const std::string& bytes);

}  // namespace baleen::shm
