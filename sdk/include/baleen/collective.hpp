/// \file A collective's arguments as C++ values, the same from the compiler to a transport: who holds which elements,
/// what is refused, what two members must agree on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/collective_name.hpp"
#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "baleen/transport.h"

namespace baleen {

constexpr bool is_reducing(baleen_collective_t op) {
  return op == BALEEN_ALL_REDUCE || op == BALEEN_REDUCE_SCATTER || op == BALEEN_REDUCE;
}
constexpr bool is_pairwise(baleen_collective_t op) { return op == BALEEN_SEND || op == BALEEN_RECEIVE; }

/// Where the left half of the balanced tree over [low, high) ends.
constexpr std::size_t tree_middle(std::size_t low, std::size_t high) { return low + (high - low + 1) / 2; }

/// Elements [begin, end) of an entry.
struct ElementRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

/// baleen_collective_entry_t with lists of its own. `Input` and `Output` say where its sides lie: addresses, offsets,
/// numbers of a program's values.
template <class Input, class Output = Input>
struct EntryOf {
  Input input{};
  Output output{};
  std::uint64_t count = 0, block = 0;
  std::vector<std::uint64_t> sends, receives;

  /// What member `r` holds of the scattered side.
  ElementRange block_of(std::size_t r) const { return {std::min(count, r * block), std::min(count, (r + 1) * block)}; }
  /// The entry with other sides.
  template <class In, class Out, class Place>
  EntryOf<In, Out> with(Place&& place) const {
    return {place(input), place(output), count, block, sends, receives};
  }
};

/// baleen_collective_spec_t with lists of its own.
template <class Input, class Output = Input>
struct CollectiveOf {
  baleen_collective_t op = BALEEN_BARRIER;
  baleen_reduction_t reduction = 0;
  baleen_dtype_t dtype = BALEEN_U8;
  bool deterministic = false;
  std::size_t root = 0;
  std::vector<EntryOf<Input, Output>> entries;
  std::vector<std::int32_t> destinations;
  std::string where;

  /// The same but for the entries.
  template <class In, class Out = In>
  CollectiveOf<In, Out> around(std::vector<EntryOf<In, Out>> others) const {
    return {op, reduction, dtype, deterministic, root, std::move(others), destinations, where};
  }
  /// The same with other sides: `place` says where each lies, input before output, in the order of entries.
  template <class In, class Out = In, class Place>
  CollectiveOf<In, Out> with(Place&& place) const {
    std::vector<EntryOf<In, Out>> placed;
    placed.reserve(entries.size());
    for (const auto& e : entries) placed.push_back(e.template with<In, Out>(place));
    return around(std::move(placed));
  }
};

using CollectiveEntry = EntryOf<const void*, void*>;
/// One whose tensors are in memory.
using CollectiveArgs = CollectiveOf<const void*, void*>;

/// A collective in the form in which it crosses the ABI. Borrows it: it stays put and outlives this.
class CollectiveSpec {
 public:
  explicit CollectiveSpec(const CollectiveArgs& c);
  CollectiveSpec(const CollectiveSpec&) = delete;

  operator const baleen_collective_spec_t&() const { return spec_; }

 private:
  std::vector<baleen_collective_entry_t> entries_;
  baleen_collective_spec_t spec_;
};

/// One member's view of a collective: its place among `members`.
struct Collective : CollectiveArgs {
  std::size_t place = 0, members = 1;

  /// Refuses what this member alone can see to be wrong.
  static Result<Collective> make(const baleen_collective_spec_t& spec, std::size_t place, std::size_t members);

  std::size_t width() const { return dtype_size(dtype); }
  /// Elements to `to` (ALL_TO_ALL).
  std::uint64_t sends(const CollectiveEntry& e, std::size_t to) const {
    return e.sends.empty() ? e.block : e.sends[to];
  }
  std::uint64_t receives(const CollectiveEntry& e, std::size_t from) const {
    return e.receives.empty() ? e.block : e.receives[from];
  }
  /// The member whose input this one receives (PERMUTE), or -1.
  std::int32_t source() const {
    const auto found = std::find(destinations.begin(), destinations.end(), static_cast<std::int32_t>(place));
    return found == destinations.end() ? -1 : static_cast<std::int32_t>(found - destinations.begin());
  }
  /// Elements that this member reads from `e.input`, and writes to `e.output`.
  std::uint64_t input_count(const CollectiveEntry& e) const;
  std::uint64_t output_count(const CollectiveEntry& e) const;
  /// "all_reduce of 10 fp32 at train.lua:9".
  std::string text() const;
};

/// Bytes that this member sends when the collective runs once, by the table in transport.h.
std::uint64_t collective_bytes(const Collective& collective);

}  // namespace baleen

#include "baleen/collective_inline.hpp"
