/// \file Programs that show parts to others in shared areas. What a member shows, of all entries one after the other,
/// is its *stream*; everyone knows how everyone's stream is laid out.
#include <algorithm>

#include "board.hpp"
#include "compile.hpp"

namespace baleen::shm {
namespace {

// A stretch of a member's stream, and the elements of an entry that it is.
struct Stretch {
  std::size_t entry;
  std::int64_t to;  // the only member that wants it, or -1
  std::uint64_t first, count;
  std::uint64_t offset;  // in the stream, in bytes
};

// Blocks for several members go in turns of `turn` elements, so that each segment has something for each of them.
std::vector<Stretch> stream_of(const Collective& c, std::uint64_t turn) {
  std::vector<Stretch> stream;
  std::uint64_t offset = 0;
  const auto add = [&](std::size_t e, std::int64_t to, std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    stream.push_back({e, to, first, count, offset});
    offset += count * c.width();
  };
  for (std::size_t e = 0; e < c.entries.size(); ++e) {
    const CollectiveEntry& entry = c.entries[e];
    if (c.op != BALEEN_REDUCE_SCATTER && c.op != BALEEN_ALL_TO_ALL) {
      add(e, c.op == BALEEN_PERMUTE ? c.destinations[c.place] : -1, 0, c.input_count(entry));
      continue;
    }
    std::vector<ElementRange> parts;
    std::uint64_t begin = 0, longest = 0;
    for (std::size_t to = 0; to < c.members; ++to) {
      const std::uint64_t size = c.op == BALEEN_ALL_TO_ALL ? c.sends(entry, to) : entry.block_of(to).size();
      parts.push_back({begin, begin + size});
      begin += size;
      longest = std::max(longest, size);
    }
    for (std::uint64_t done = 0; done < longest; done += std::min(turn, longest - done))
      for (std::size_t to = 0; to < c.members; ++to)
        if (done < parts[to].size())
          add(e, static_cast<std::int64_t>(to), parts[to].begin + done, std::min(turn, parts[to].size() - done));
  }
  return stream;
}

std::uint64_t bytes_of(const std::vector<Stretch>& stream, std::size_t width) {
  return stream.empty() ? 0 : stream.back().offset + stream.back().count * width;
}

// What this member takes: from one member's stream, or (-1) reduced from all.
struct Want {
  std::int64_t from;
  std::uint64_t offset, bytes;
  std::byte* to;
};

struct Piece {
  const std::byte* from;
  std::uint64_t offset, bytes;
};

class Streams {
 public:
  Streams(const Compilation& c, std::uint64_t turn)
      : c_(c),
        mine_(c.mine()),
        width_(mine_.width()),
        program_(is_reducing(mine_.op) ? best_reduction(mine_.dtype, mine_.reduction) : nullptr) {
    for (const Peer& peer : c.peers) {
      streams_.push_back(stream_of(peer.collective, turn));
      longest_ = std::max(longest_, bytes_of(streams_.back(), width_));
    }
    add_pieces();
    add_wants();
  }

  std::uint64_t longest() const { return longest_; }

  Program mail(std::size_t parity) {
    const auto area = [&](std::size_t m) {
      return longest_ <= kTinyBytes ? c_.peers[m].tiny[parity] : c_.peers[m].mail[parity];
    };
    show(area(c_.place), 0, longest_);
    program_.end_step(true);
    take(area, 0, longest_);
    program_.end_step(false);
    return std::move(program_);
  }

  // Segment k is shown in half k % 2 and taken while k + 1 is shown. A last meeting: nobody still reads what the next
  // operation, perhaps of another group, overwrites.
  Program staged() {
    const std::uint64_t segments = (longest_ + kSegmentBytes - 1) / kSegmentBytes;
    for (std::uint64_t k = 0; k <= segments; ++k) {
      if (k > 0) {
        const auto half = [&](std::size_t m) { return c_.peers[m].halves[(k - 1) % 2]; };
        take(half, (k - 1) * kSegmentBytes, kSegmentBytes);
      }
      if (k < segments) show(c_.peers[c_.place].halves[k % 2], k * kSegmentBytes, kSegmentBytes);
      program_.end_step(true);
    }
    return std::move(program_);
  }

  // Each member reduces its share of a segment out of everyone's first half into its own second half; who wants the
  // result collects the shares.
  Program staged_reduce() {
    const std::uint64_t segments = (longest_ + kSegmentBytes - 1) / kSegmentBytes;
    for (std::uint64_t k = 0; k <= segments; ++k) {
      if (k > 0) collect((k - 1) * kSegmentBytes);
      if (k < segments) show(c_.peers[c_.place].halves[0], k * kSegmentBytes, kSegmentBytes);
      program_.end_step(true);
      if (k == segments) break;
      const auto [begin, end] = share(k * kSegmentBytes, c_.place);
      std::vector<const std::byte*> sources;
      for (const Peer& peer : c_.peers) sources.push_back(peer.halves[0] + begin);
      program_.reduce(sources, {c_.peers[c_.place].halves[1] + begin}, (end - begin) / width_);
      program_.end_step(true);
    }
    return std::move(program_);
  }

 private:
  void add_pieces() {
    for (const Stretch& s : streams_[c_.place])
      pieces_.push_back(
          {static_cast<const std::byte*>(mine_.entries[s.entry].input) + s.first * width_, s.offset, s.count * width_});
  }

  void add_wants() {
    const auto output = [&](std::size_t e) { return static_cast<std::byte*>(mine_.entries[e].output); };
    const auto place = static_cast<std::int64_t>(c_.place);
    if (is_reducing(mine_.op)) {
      if (mine_.op == BALEEN_REDUCE && c_.place != mine_.root) return;
      for (const Stretch& s : streams_[c_.place]) {
        if (s.to >= 0 && s.to != place) continue;
        const std::uint64_t skipped = s.to < 0 ? 0 : mine_.entries[s.entry].block_of(c_.place).begin;
        wants_.push_back({-1, s.offset, s.count * width_, output(s.entry) + (s.first - skipped) * width_});
      }
      return;
    }
    for (std::size_t from = 0; from < c_.peers.size(); ++from) {
      for (const Stretch& s : streams_[from]) {
        if ((s.to >= 0 && s.to != place) || !output(s.entry)) continue;
        std::byte* const to = output(s.entry) + (s.first + output_offset(from, s.entry)) * width_;
        const auto* own = static_cast<const std::byte*>(mine_.entries[s.entry].input) + s.first * width_;
        // In place it is there already, and somebody else may be reading it.
        if (from == c_.place && to == own) continue;
        wants_.push_back({static_cast<std::int64_t>(from), s.offset, s.count * width_, to});
      }
    }
  }

  // Where element 0 of a member's input would be in this member's output; modulo 2^64.
  std::uint64_t output_offset(std::size_t from, std::size_t e) const {
    const CollectiveEntry& entry = mine_.entries[e];
    if (mine_.op == BALEEN_ALL_GATHER) return entry.block_of(from).begin;
    if (mine_.op != BALEEN_ALL_TO_ALL) return 0;
    const Collective& their = c_.peers[from].collective;
    std::uint64_t offset = 0;
    for (std::size_t m = 0; m < from; ++m) offset += mine_.receives(entry, m);
    for (std::size_t to = 0; to < c_.place; ++to) offset -= their.sends(their.entries[e], to);
    return offset;
  }

  // Bytes [begin, begin + size) of this member's stream go to `area`.
  void show(std::byte* area, std::uint64_t begin, std::uint64_t size) {
    for (const Piece& piece : pieces_) {
      const std::uint64_t low = std::max(begin, piece.offset),
                          high = std::min(begin + size, piece.offset + piece.bytes);
      if (low < high) program_.copy(area + (low - begin), piece.from + (low - piece.offset), high - low);
    }
  }

  template <class Area>
  void take(const Area& area, std::uint64_t begin, std::uint64_t size) {
    for (const Want& want : wants_) {
      const std::uint64_t low = std::max(begin, want.offset), high = std::min(begin + size, want.offset + want.bytes);
      if (low >= high) continue;
      std::byte* to = want.to + (low - want.offset);
      if (want.from >= 0) {
        program_.copy(to, area(static_cast<std::size_t>(want.from)) + (low - begin), high - low);
        continue;
      }
      std::vector<const std::byte*> sources;
      for (std::size_t m = 0; m < c_.peers.size(); ++m) sources.push_back(area(m) + (low - begin));
      program_.reduce(sources, {to}, (high - low) / width_);
    }
  }

  // Member m's part of the segment that begins at `begin`, relative to it.
  std::pair<std::uint64_t, std::uint64_t> share(std::uint64_t begin, std::size_t m) const {
    const std::uint64_t size = std::min<std::uint64_t>(kSegmentBytes, longest_ - begin);
    const std::uint64_t each = (size / c_.peers.size() + 64) / 64 * 64;
    return {std::min(size, m * each), std::min(size, (m + 1) * each)};
  }

  void collect(std::uint64_t begin) {
    for (std::size_t m = 0; m < c_.peers.size(); ++m) {
      const auto [low, high] = share(begin, m);
      for (const Want& want : wants_) {
        const std::uint64_t first = std::max(begin + low, want.offset);
        const std::uint64_t last = std::min(begin + high, want.offset + want.bytes);
        if (first < last)
          program_.copy(want.to + (first - want.offset), c_.peers[m].halves[1] + (first - begin), last - first);
      }
    }
  }

  const Compilation& c_;
  const Collective& mine_;
  const std::size_t width_;
  Program program_;
  std::vector<std::vector<Stretch>> streams_;
  std::uint64_t longest_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Want> wants_;
};

constexpr std::uint64_t kOneTurn = ~std::uint64_t{0};

}  // namespace

std::uint64_t largest_stream(const Compilation& c) { return Streams(c, kOneTurn).longest(); }

Program compile_mail(const Compilation& c, std::size_t parity) { return Streams(c, kOneTurn).mail(parity); }

Program compile_staged(const Compilation& c) {
  const Collective& mine = c.mine();
  Streams streams(c, std::max<std::uint64_t>(kSegmentBytes / mine.members / mine.width(), 1));
  return mine.op == BALEEN_ALL_REDUCE || mine.op == BALEEN_REDUCE ? streams.staged_reduce() : streams.staged();
}

}  // namespace baleen::shm
