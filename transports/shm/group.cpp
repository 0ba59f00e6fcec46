/// \file Meetings of a group: each member announces itself and waits for the others.
#include "group.hpp"

#include "baleen/proposal.hpp"

namespace baleen::shm {
namespace {

constexpr std::uint64_t kSlots = std::uint64_t{1} << Arrival::kSlotBits;

}  // namespace

void Group::arrive(const Slot& slot) {
  ++meeting;
  member(place).arrivals[meeting % 2].word.store(meeting * kSlots + slot.number, std::memory_order_release);
}

void Group::wake_sleepers() const {
  // Either a sleeper, who counted itself before its last look, saw this member's arrival, or this member sees the
  // count.
#if defined(__SANITIZE_THREAD__)  // knows no fences
  member(place).arrivals[meeting % 2].word.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  for (std::size_t at = 0; at < boards.size(); ++at)
    if (at != place) ring(boards[at]->bell);
}

Attendance Group::attendance(const Slot& slot, std::size_t& who) const {
  const std::uint64_t expected = meeting * kSlots + slot.number;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const std::uint64_t word = member(at).arrivals[meeting % 2].word.load(std::memory_order_seq_cst);
    if (word == expected) continue;
    who = at;
    return word / kSlots == meeting ? Attendance::kDisagrees : Attendance::kIncomplete;
  }
  return Attendance::kComplete;
}

void Group::learn(const Slot& slot) {
  std::lock_guard lock(mutex_);
  texts_.push_back(slot.text);
}

Error Group::disagreement(const Slot& mine, std::size_t who) const {
  const std::uint64_t theirs = member(who).arrivals[meeting % 2].word.load(std::memory_order_relaxed) % kSlots;
  std::lock_guard lock(mutex_);
  return sdk::another_start(ranks[place], mine.text, ranks[who],
                            theirs < texts_.size() ? texts_[theirs] : "a collective");
}

}  // namespace baleen::shm
