/// \file Cuts calls: element by element alike, or each member's block alike.
#include "compiler/codegen/staged_call.hpp"

#include <algorithm>
#include <utility>

#include "compiler/codegen/memory.hpp"

namespace baleen {
namespace {

/// Alignment of the parts of a piece: a cache line.
constexpr std::uint64_t kLine = 64;

class Cutter {
 public:
  Cutter(const Collective& call, std::uint64_t piece_bytes) : c_(call), most_(piece_bytes) {}

  std::vector<StagedPiece> run() {
    if (c_.op == BALEEN_BARRIER) return {StagedPiece{}};
    const bool lists =
        std::any_of(c_.entries.begin(), c_.entries.end(), [](const CollectiveEntry& e) { return !e.sends.empty(); });
    for (std::uint32_t i = 0; i < c_.entries.size(); ++i)
      if (lists)
        add_lists(i);
      else
        cut(i);
    close();
    return std::move(pieces_);
  }

 private:
  bool by_blocks() const {
    return c_.op == BALEEN_REDUCE_SCATTER || c_.op == BALEEN_ALL_GATHER || c_.op == BALEEN_ALL_TO_ALL;
  }

  void close() {
    if (piece_.entries.empty()) return;
    pieces_.push_back(std::move(piece_));
    piece_ = {};
  }

  // Sizes of nobody's own count here: all members cut at the same elements.
  void cut(std::uint32_t number) {
    const CollectiveEntry& e = c_.entries[number];
    const std::uint64_t lanes = by_blocks() ? c_.members : 1, sides = c_.op == BALEEN_ALL_TO_ALL ? 2 : 1;
    const std::uint64_t unit = lanes * sides * c_.width(), all = by_blocks() ? e.block : e.count;
    for (std::uint64_t begin = 0; begin < all;) {
      std::uint64_t width = std::min(all - begin, (most_ - std::min(most_, piece_.bytes)) / unit);
      if (width == 0 && !piece_.entries.empty()) {
        close();
        continue;
      }
      width = std::max<std::uint64_t>(width, 1);
      add(number, begin, width);
      begin += width;
    }
  }

  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t at = piece_.bytes;
    piece_.bytes += align_up(bytes, kLine);
    return at;
  }

  /// Joins what follows what was there before on both sides.
  static void copy(std::vector<StagedCopy>& list, const StagedCopy& next) {
    if (next.bytes == 0) return;
    if (!list.empty()) {
      StagedCopy& last = list.back();
      if (last.entry == next.entry && last.tensor + last.bytes == next.tensor &&
          last.staged + last.bytes == next.staged) {
        last.bytes += next.bytes;
        return;
      }
    }
    list.push_back(next);
  }

  void add(std::uint32_t number, std::uint64_t begin, std::uint64_t width) {
    switch (c_.op) {
      case BALEEN_ALL_GATHER:
      case BALEEN_REDUCE_SCATTER: add_blocks(number, begin, width); break;
      case BALEEN_ALL_TO_ALL: add_exchange(number, begin, width); break;
      default: add_elements(number, begin, width);
    }
  }

  /// Elements [begin, begin + width), in place.
  void add_elements(std::uint32_t number, std::uint64_t begin, std::uint64_t width) {
    const CollectiveEntry& e = c_.entries[number];
    const std::uint64_t bytes = width * c_.width(), tensor = begin * c_.width(), at = take(bytes);
    const bool reads = c_.input_count(e) > 0;
    const bool writes = c_.output_count(e) > 0 && !(c_.op == BALEEN_BROADCAST && e.output == e.input);
    if (reads) copy(piece_.out, {number, tensor, at, bytes});
    if (writes) copy(piece_.in, {number, tensor, at, bytes});
    piece_.entries.push_back(
        {reads ? at : StagedPiece::kNowhere, writes ? at : StagedPiece::kNowhere, width, 0, {}, {}});
  }

  /// Elements [begin, begin + width) of each member's block, one block behind the other; the member's own in its place.
  void add_blocks(std::uint32_t number, std::uint64_t begin, std::uint64_t width) {
    const CollectiveEntry& e = c_.entries[number];
    const std::uint64_t z = c_.width(), at = take(c_.members * width * z), mine = at + c_.place * width * z;
    const bool gathers = c_.op == BALEEN_ALL_GATHER;
    const void* own_place = static_cast<const char*>(gathers ? e.output : e.input) + c_.place * e.block * z;
    const bool in_place = (gathers ? e.input : e.output) == own_place;
    EntryOf<std::uint64_t> entry{gathers ? mine : at, gathers ? at : mine, 0, width, {}, {}};
    for (std::size_t r = 0; r < c_.members; ++r) {
      const std::uint64_t held = e.block_of(r).size(), part = held > begin ? std::min(width, held - begin) : 0;
      const std::uint64_t lane = at + r * width * z, whole = (r * e.block + begin) * z;
      if (!gathers || r == c_.place) copy(piece_.out, {number, gathers ? begin * z : whole, lane, part * z});
      if (gathers ? r != c_.place || !in_place : r == c_.place)
        copy(piece_.in, {number, gathers ? whole : begin * z, lane, part * z});
      entry.count += part;
    }
    piece_.entries.push_back(std::move(entry));
  }

  /// The same elements of the pieces from each to each.
  void add_exchange(std::uint32_t number, std::uint64_t begin, std::uint64_t width) {
    const CollectiveEntry& e = c_.entries[number];
    const std::uint64_t z = c_.width(), all = c_.members * width * z, in = take(all), out = take(all);
    for (std::size_t r = 0; r < c_.members; ++r) {
      const std::uint64_t tensor = (r * e.block + begin) * z, lane = r * width * z;
      copy(piece_.out, {number, tensor, in + lane, width * z});
      copy(piece_.in, {number, tensor, out + lane, width * z});
    }
    piece_.entries.push_back({in, out, c_.members * width, width, {}, {}});
  }

  void add_lists(std::uint32_t number) {
    const CollectiveEntry& e = c_.entries[number];
    const std::uint64_t sent = c_.input_count(e) * c_.width(), received = c_.output_count(e) * c_.width();
    const std::uint64_t in = take(sent), out = take(received);
    copy(piece_.out, {number, 0, in, sent});
    copy(piece_.in, {number, 0, out, received});
    piece_.entries.push_back({in, out, 0, 0, e.sends, e.receives});
    if (e.sends.empty()) {
      piece_.entries.back().count = e.count;
      piece_.entries.back().block = e.block;
    }
  }

  const Collective& c_;
  const std::uint64_t most_;
  std::vector<StagedPiece> pieces_;
  StagedPiece piece_;
};

}  // namespace

std::vector<StagedPiece> cut_call(const Collective& call, std::uint64_t piece_bytes) {
  return Cutter(call, piece_bytes).run();
}

}  // namespace baleen
