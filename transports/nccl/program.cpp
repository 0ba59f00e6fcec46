/// \file One case per operation.
#include "program.hpp"

#include "maps.hpp"

namespace baleen::nccl {
namespace {

/// Collects calls, and cuts them into groups at the same places on every member.
class Writer {
 public:
  Writer(const Collective& c, Program& program, bool by_copy_engines = false)
      : by_copy_engines(by_copy_engines), c_(c), program_(program), type_(*data_type(c.dtype)) {
    if (is_reducing(c.op)) op_ = *red_op(c.reduction);
  }
  ~Writer() { end_group(); }
  Writer(const Writer&) = delete;

  const bool by_copy_engines;

  void end_group() {
    if (!group_.calls.empty()) program_.steps.push_back(std::move(group_));
    group_ = Step{};
  }
  void add(Call::Kind kind, Place from, Place to, std::uint64_t count, std::size_t peer = 0) {
    const int other = static_cast<int>(peer);
    if (count == 0) return;
    if (kind == Call::Kind::kSend) program_.sends.insert(other);
    if (kind == Call::Kind::kReceive) program_.receives.insert(other);
    group_.calls.push_back({kind, from, to, count, type_, op_, other});
  }
  /// Of `r` to everyone, into its place.
  void spread(std::size_t r, Place own, Place to, std::uint64_t count) {
    add(Call::Kind::kBroadcast, r == c_.place ? own : to, to, count, r);
  }

 private:
  const Collective& c_;
  Program& program_;
  const DataType type_;
  RedOp op_ = kSum;
  Step group_;
};

using Kind = Call::Kind;

void add_all_to_all(Writer& writer, const Collective& c, const CollectiveEntry& e, const EntryPlaces& at) {
  if (writer.by_copy_engines && e.sends.empty()) return writer.add(Kind::kAllToAll, at.input, at.output, e.block);
  std::uint64_t sent = 0, received = 0;
  for (std::size_t m = 0; m < c.members; ++m) {
    writer.add(Kind::kSend, at.input + sent * c.width(), {}, c.sends(e, m), m);
    writer.add(Kind::kReceive, {}, at.output + received * c.width(), c.receives(e, m), m);
    sent += c.sends(e, m);
    received += c.receives(e, m);
  }
}

void add_entry(Writer& writer, const Collective& c, const CollectiveEntry& e, const EntryPlaces& at) {
  const std::uint64_t width = c.width();
  const bool even = e.count == e.block * c.members;
  switch (c.op) {
    case BALEEN_ALL_REDUCE: return writer.add(Kind::kAllReduce, at.input, at.output, e.count);
    case BALEEN_REDUCE_SCATTER:
      if (even) return writer.add(Kind::kReduceScatter, at.input, at.output, e.block);
      for (std::size_t r = 0; r < c.members; ++r)
        writer.add(Kind::kReduce, at.input + e.block_of(r).begin * width, r == c.place ? at.output : Place{},
                   e.block_of(r).size(), r);
      return;
    case BALEEN_ALL_GATHER:
      if (even) return writer.add(Kind::kAllGather, at.input, at.output, e.block);
      for (std::size_t r = 0; r < c.members; ++r)
        writer.spread(r, at.input, at.output + e.block_of(r).begin * width, e.block_of(r).size());
      return;
    case BALEEN_BROADCAST: return writer.spread(c.root, at.input, at.output ? at.output : at.input, e.count);
    case BALEEN_REDUCE:
      return writer.add(Kind::kReduce, at.input, c.place == c.root ? at.output : Place{}, e.count, c.root);
    case BALEEN_ALL_TO_ALL: return add_all_to_all(writer, c, e, at);
    // The communicator is of the two alone.
    case BALEEN_SEND: return writer.add(Kind::kSend, at.input, {}, e.count, c.place < c.root ? 1 : 0);
    case BALEEN_RECEIVE: return writer.add(Kind::kReceive, {}, at.output, e.count, c.place < c.root ? 1 : 0);
    default: return;
  }
}

}  // namespace

namespace {

/// NCCL sends and receives at once, and so never from and to one place.
class Permutation {
 public:
  Permutation(const Collective& c, Program& program, std::uint64_t scratch)
      : c_(c), program_(program), most_(std::max<std::uint64_t>(scratch, c.width())) {}
  ~Permutation() { finish(); }
  Permutation(const Permutation&) = delete;

  void add(const CollectiveEntry& e, const EntryPlaces& at) {
    const std::uint64_t at_once = most_ / c_.width();
    for (std::uint64_t begin = 0; begin < e.count; begin += at_once) {
      const std::uint64_t count = std::min(at_once, e.count - begin);
      if (bytes_ + count * c_.width() > most_ || items_.size() == kMostCalls / 2) finish();
      items_.push_back({at.input + begin * c_.width(), at.output + begin * c_.width(), bytes_, count});
      bytes_ += count * c_.width();
    }
  }

 private:
  struct Item {
    Place from, to;
    std::uint64_t copy, count;
  };
  void finish() {
    const std::int32_t to = c_.destinations[c_.place], from = c_.source();
    for (Item& item : items_) {
      if (to < 0 || from < 0 || !(item.from == item.to)) continue;
      const Place copy{Place::In::kScratch, item.copy};
      program_.steps.push_back({Step::Kind::kCopy, {}, item.from, copy, item.count * c_.width(), 0, 0});
      program_.scratch = std::max(program_.scratch, item.copy + item.count * c_.width());
      item.from = copy;
    }
    Writer writer(c_, program_);
    for (const Item& item : items_) {
      if (to >= 0) writer.add(Kind::kSend, item.from, {}, item.count, static_cast<std::size_t>(to));
      if (from >= 0) writer.add(Kind::kReceive, {}, item.to, item.count, static_cast<std::size_t>(from));
    }
    items_.clear();
    bytes_ = 0;
  }

  const Collective& c_;
  Program& program_;
  const std::uint64_t most_;
  std::vector<Item> items_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Program plain_program(const Collective& c, const std::vector<EntryPlaces>& places, std::uint64_t scratch,
                      bool by_copy_engines) {
  Program program;
  if (c.op == BALEEN_BARRIER) return program;
  if (c.op == BALEEN_PERMUTE) {
    {
      Permutation permutation(c, program, scratch);
      for (std::size_t e = 0; e < c.entries.size(); ++e) permutation.add(c.entries[e], places[e]);
    }
    return program;
  }
  {
    Writer writer(c, program, by_copy_engines);
    const std::uint64_t at_once = std::max<std::uint64_t>(1, kMostCalls / (2 * c.members));
    for (std::size_t e = 0; e < c.entries.size(); ++e) {
      if (e > 0 && e % at_once == 0) writer.end_group();
      add_entry(writer, c, c.entries[e], places[e]);
    }
  }
  return program;
}

namespace {

/// A stretch of an entry whose blocks go through scratch memory together.
struct Piece {
  std::size_t entry;
  std::vector<ElementRange> parts;  // a member's share
  std::uint64_t largest = 0;        // elements, padded

  void add(ElementRange part) {
    parts.push_back(part);
    largest = std::max(largest, (part.size() + kTile - 1) / kTile * kTile);
  }
};

/// The same on every member.
std::vector<Piece> pieces_of(const Collective& c, std::uint64_t most) {
  std::vector<Piece> pieces;
  for (std::size_t number = 0; number < c.entries.size(); ++number) {
    const CollectiveEntry& e = c.entries[number];
    const bool scatters = c.op == BALEEN_REDUCE_SCATTER;
    const std::uint64_t whole = scatters ? std::min(e.block, e.count) : e.count,
                        at_once = scatters ? most : most * c.members;
    for (std::uint64_t begin = 0; begin < whole; begin += at_once) {
      const std::uint64_t size = std::min(at_once, whole - begin), share = (size + c.members - 1) / c.members;
      Piece piece{number, {}, 0};
      for (std::size_t m = 0; m < c.members; ++m) {
        if (scatters) {
          const ElementRange block = e.block_of(m);
          piece.add({std::min(block.begin + begin, block.end), std::min(block.begin + begin + size, block.end)});
        } else {
          piece.add({begin + std::min(m * share, size), begin + std::min((m + 1) * share, size)});
        }
      }
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

/// Pieces that share a round of messages.
class Round {
 public:
  Round(const Collective& c, const std::vector<EntryPlaces>& places, Program& program)
      : c_(c), places_(places), program_(program), width_(c.width()) {}

  std::uint64_t bytes_with(const Piece& piece) const { return bytes_ + (c_.members + 1) * piece.largest * width_; }
  bool is_full() const { return items_.size() * 2 * c_.members >= kMostCalls; }
  bool is_empty() const { return items_.empty(); }
  void add(const Piece& piece) {
    items_.push_back({&piece, {Place::In::kScratch, bytes_}, piece.largest * width_});
    bytes_ = bytes_with(piece);
    program_.scratch = std::max(program_.scratch, bytes_);
  }
  void finish() {
    exchange();
    for (const Item& item : items_) reduce(item);
    distribute();
    items_.clear();
    bytes_ = 0;
  }

 private:
  struct Item {
    const Piece* piece;
    Place base;  // an operand per member, then the result
    std::uint64_t stride;
  };
  Place input(const Item& item, std::size_t m) const {
    return places_[item.piece->entry].input + item.piece->parts[m].begin * width_;
  }
  Place output(const Item& item, std::size_t m) const {
    return places_[item.piece->entry].output + item.piece->parts[m].begin * width_;
  }
  Place result(const Item& item) const { return item.base + c_.members * item.stride; }
  std::uint64_t own(const Item& item) const { return item.piece->parts[c_.place].size(); }
  void copy(Place from, Place to, std::uint64_t elements) {
    if (elements > 0) program_.steps.push_back({Step::Kind::kCopy, {}, from, to, elements * width_, 0, 0});
  }

  void exchange() {
    {
      Writer writer(c_, program_);
      for (const Item& item : items_)
        for (std::size_t m = 0; m < c_.members; ++m) {
          if (m == c_.place) continue;
          writer.add(Kind::kSend, input(item, m), {}, item.piece->parts[m].size(), m);
          writer.add(Kind::kReceive, {}, item.base + m * item.stride, own(item), m);
        }
    }
    for (const Item& item : items_) copy(input(item, c_.place), item.base + c_.place * item.stride, own(item));
  }
  void reduce(const Item& item) {
    if (own(item) == 0) return;
    const std::uint64_t padded = (own(item) + kTile - 1) / kTile * kTile;
    program_.steps.push_back({Step::Kind::kReduce, {}, item.base, result(item), 0, item.stride, padded});
  }
  void distribute() {
    {
      Writer writer(c_, program_);
      for (const Item& item : items_) {
        for (std::size_t m = 0; m < c_.members; ++m) {
          const std::uint64_t size = item.piece->parts[m].size();
          if (c_.op == BALEEN_ALL_REDUCE) writer.spread(m, result(item), output(item, m), size);
          if (c_.op != BALEEN_REDUCE || m == c_.root) continue;
          if (c_.place == c_.root) writer.add(Kind::kReceive, {}, output(item, m), size, m);
          if (c_.place == m) writer.add(Kind::kSend, result(item), {}, size, c_.root);
        }
      }
    }
    for (const Item& item : items_) {
      const std::uint64_t skipped = c_.entries[item.piece->entry].block_of(c_.place).begin * width_;
      if (c_.op == BALEEN_REDUCE && c_.place == c_.root) copy(result(item), output(item, c_.place), own(item));
      if (c_.op == BALEEN_REDUCE_SCATTER && own(item) > 0)
        copy(result(item), {output(item, c_.place).in, output(item, c_.place).at - skipped}, own(item));
    }
  }

  const Collective& c_;
  const std::vector<EntryPlaces>& places_;
  Program& program_;
  const std::uint64_t width_;
  std::vector<Item> items_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Program ordered_program(const Collective& c, const std::vector<EntryPlaces>& places, std::uint64_t scratch) {
  Program program;
  const std::uint64_t share = scratch / ((c.members + 1) * c.width()) / kTile * kTile;
  const std::vector<Piece> pieces = pieces_of(c, std::max(kTile, share));
  Round round(c, places, program);
  for (const Piece& piece : pieces) {
    if (!round.is_empty() && (round.is_full() || round.bytes_with(piece) > scratch)) round.finish();
    round.add(piece);
  }
  if (!round.is_empty()) round.finish();
  return program;
}

}  // namespace baleen::nccl
