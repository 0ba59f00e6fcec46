/// \file Whether ranks start the collectives they share in one order, and the words for it when they do not.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "group.hpp"

namespace baleen::ucx {

/// Checked mode: ranks tell each other what they start, or what notes say; equal numbers must be equal collectives. One
/// thread at a time, but `learn`.
class OrderCheck {
 public:
  OrderCheck(std::int32_t rank, std::int32_t ranks, bool by_notes)
      : by_notes_(by_notes), rank_(rank), pairs_(static_cast<std::size_t>(ranks)) {}

  bool by_notes() const { return by_notes_; }

  /// What stands for a collective in a note.
  static std::uint64_t identity(const Slot& slot) { return slot.group->number << Tag::kSlotBits | slot.number; }
  /// A slot that was prepared. [any thread]
  void learn(const Slot& slot);
  /// This rank starts it; or a peer has started one. An error where the other has started another one in its place.
  std::optional<Error> note(const Slot& slot);
  std::optional<Error> hear(std::int32_t peer, std::uint64_t identity);

 private:
  static constexpr std::size_t kLogEntries = 1024;
  // Of the two, who is ahead, and what it has started that the other has not yet.
  struct Side {
    std::uint64_t count = 0;
    std::array<std::uint64_t, kLogEntries> log{};
    void add(std::uint64_t identity) { log[count++ % kLogEntries] = identity; }
  };
  struct Pair {
    Side mine, theirs;
  };

  std::optional<Error> compare(std::int32_t peer, std::uint64_t at);

  const bool by_notes_;
  const std::int32_t rank_;
  std::vector<Pair> pairs_;  // by rank
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> texts_;  // by identity
};

}  // namespace baleen::ucx
