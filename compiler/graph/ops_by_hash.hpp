/// \file Finds ops by a hash, in one place of memory each: a graph of a deep model has hundreds of thousands.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "baleen/graph.h"

namespace baleen {

/// Numbers of ops by hash. An op may stand under several hashes; none is taken out.
class OpsByHash {
 public:
  void add(std::uint64_t hash, baleen_op_t op) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({folded(hash), op});
    ++count_;
  }

  /// The first op with this hash of which `is_it` holds, in the order of adding; BALEEN_NONE where there is none.
  template <class IsIt>
  baleen_op_t find(std::uint64_t hash, IsIt&& is_it) const {
    if (slots_.empty()) return BALEEN_NONE;
    const std::uint32_t own = folded(hash);
    for (std::size_t at = own & (slots_.size() - 1); slots_[at].op != BALEEN_NONE; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == own && is_it(slots_[at].op)) return slots_[at].op;
    return BALEEN_NONE;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    baleen_op_t op = BALEEN_NONE;
  };

  static std::uint32_t folded(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ hash >> 32); }

  void put(Slot slot) {
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].op != BALEEN_NONE) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  /// What stood first comes first again: a row of slots begins behind an empty one.
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    std::swap(old, slots_);
    std::size_t begin = 0;
    while (begin < old.size() && old[begin].op != BALEEN_NONE) ++begin;
    for (std::size_t i = 0; i < old.size(); ++i)
      if (const Slot& slot = old[(begin + i) & (old.size() - 1)]; slot.op != BALEEN_NONE) put(slot);
  }

  std::vector<Slot> slots_;  // a power of 2 of them, at most half full
  std::size_t count_ = 0;
};

}  // namespace baleen
