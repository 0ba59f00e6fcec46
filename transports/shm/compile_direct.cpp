/// \file Zero-copy programs: a meeting (inputs are ready), the work, a meeting (all is written, all was read).
#include <algorithm>

#include "compile.hpp"

namespace baleen::shm {
namespace {

// Member r's share of `total` elements to reduce; shares begin at cache lines.
ElementRange share(std::uint64_t total, std::size_t r, std::size_t members, std::size_t width) {
  const std::uint64_t line = 64 / width;
  const std::uint64_t each = (total / members + (total % members ? 1 : 0) + line - 1) / line * line;
  return {std::min(total, r * each), std::min(total, (r + 1) * each)};
}

class Direct {
 public:
  explicit Direct(const Compilation& c)
      : c_(c),
        mine_(c.mine()),
        width_(mine_.width()),
        program_(is_reducing(mine_.op) ? best_reduction(mine_.dtype, mine_.reduction) : nullptr) {}

  Program build() {
    program_.end_step(true);
    if (mine_.op == BALEEN_ALL_REDUCE || mine_.op == BALEEN_REDUCE) {
      reduce_share();
    } else {
      for (std::size_t e = 0; e < mine_.entries.size(); ++e) add(e);
    }
    program_.end_step(true);
    return std::move(program_);
  }

 private:
  std::byte* output(std::size_t member, std::size_t e) const { return c_.peers[member].outputs[e]; }

  void reduce(std::size_t e, ElementRange range, const std::vector<std::byte*>& destinations) {
    std::vector<const std::byte*> sources;
    for (const Peer& peer : c_.peers) sources.push_back(peer.inputs[e] + range.begin * width_);
    program_.reduce(sources, destinations, range.size());
  }

  // This member's share of the list, taken as one array, for everyone who wants it.
  void reduce_share() {
    std::uint64_t total = 0;
    for (const CollectiveEntry& entry : mine_.entries) total += entry.count;
    const ElementRange mine = share(total, c_.place, mine_.members, width_);
    std::uint64_t first = 0;  // of the entry, in the list
    for (std::size_t e = 0; e < mine_.entries.size(); first += mine_.entries[e].count, ++e) {
      const std::uint64_t begin = std::max(first, mine.begin), end = std::min(first + mine_.entries[e].count, mine.end);
      if (begin >= end) continue;
      std::vector<std::byte*> destinations;
      for (std::size_t m = 0; m < mine_.members; ++m)
        if (mine_.op == BALEEN_ALL_REDUCE || m == mine_.root)
          destinations.push_back(output(m, e) + (begin - first) * width_);
      reduce(e, {begin - first, end - first}, destinations);
    }
  }

  void add(std::size_t e) {
    const CollectiveEntry& entry = mine_.entries[e];
    const std::uint64_t bytes = mine_.output_count(entry) * width_;
    if (bytes == 0) return;
    switch (mine_.op) {
      case BALEEN_REDUCE_SCATTER: return reduce(e, entry.block_of(c_.place), {output(c_.place, e)});
      case BALEEN_BROADCAST: return program_.copy(output(c_.place, e), c_.peers[mine_.root].inputs[e], bytes);
      case BALEEN_PERMUTE:
        return program_.copy(output(c_.place, e), c_.peers[static_cast<std::size_t>(mine_.source())].inputs[e], bytes);
      case BALEEN_ALL_GATHER: return gather(e);
      case BALEEN_ALL_TO_ALL: return exchange(e);
      default: return;
    }
  }

  void gather(std::size_t e) {
    for (std::size_t k = 0; k < mine_.members; ++k) {
      const std::size_t from = (c_.place + k) % mine_.members;  // so that not all read from one at a time
      const ElementRange block = mine_.entries[e].block_of(from);
      if (block.size() > 0)
        program_.copy(output(c_.place, e) + block.begin * width_, c_.peers[from].inputs[e], block.size() * width_);
    }
  }

  void exchange(std::size_t e) {
    std::uint64_t filled = 0;
    for (std::size_t from = 0; from < mine_.members; ++from) {
      const Collective& their = c_.peers[from].collective;
      std::uint64_t skipped = 0;
      for (std::size_t to = 0; to < c_.place; ++to) skipped += their.sends(their.entries[e], to);
      const std::uint64_t count = their.sends(their.entries[e], c_.place);
      if (count > 0)
        program_.copy(output(c_.place, e) + filled * width_, c_.peers[from].inputs[e] + skipped * width_,
                      count * width_);
      filled += count;
    }
  }

  const Compilation& c_;
  const Collective& mine_;
  const std::size_t width_;
  Program program_;
};

}  // namespace

Program compile_direct(const Compilation& c) { return Direct(c).build(); }

bool in_reach(const Compilation& c) {
  for (const Peer& peer : c.peers) {
    for (std::size_t e = 0; e < peer.collective.entries.size(); ++e) {
      const CollectiveEntry& entry = peer.collective.entries[e];
      const bool reads = peer.collective.input_count(entry) > 0, writes = peer.collective.output_count(entry) > 0;
      if ((reads && !peer.inputs[e]) || (writes && !peer.outputs[e])) return false;
      // Everyone would read what another overwrites.
      if (c.mine().op == BALEEN_PERMUTE && reads && peer.inputs[e] == peer.outputs[e]) return false;
    }
  }
  return true;
}

}  // namespace baleen::shm
