/// \file What lies in memory that ranks share.
#pragma once
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baleen/event.hpp"

namespace baleen::shm {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::size_t kLine = 128;                ///< two cache lines: processors fetch them in pairs
constexpr std::size_t kTinyBytes = 56;            ///< travel in the line of the flag
constexpr std::size_t kMailBytes = 8 << 10;       ///< largest part of a rank that goes through the mail
constexpr std::size_t kSegmentBytes = 256 << 10;  ///< of the staging area's halves
constexpr std::size_t kChannelBytes = 128 << 10;  ///< of a channel's halves

/// Wakes who sleeps on a bell, after something it may wait for has changed.
inline void ring(baleen_event_t& bell) {
  const std::uint64_t word = __atomic_load_n(&bell.word, __ATOMIC_SEQ_CST);
  if (word & 1) event_signal(bell, (word >> 1) + 1);
}

/// A member's arrival at a meeting: its number, and the number of the slot that it is about.
struct alignas(kLine) Arrival {
  static constexpr unsigned kSlotBits = 24;
  std::atomic<std::uint64_t> word;
  std::byte tiny[kTinyBytes];
};
static_assert(sizeof(Arrival) == kLine);

/// One per member in a group's memory. Meetings alternate between the two of each: who arrives at meeting m + 2 knows
/// that all were at m + 1, so that all are done with what was shown at m.
struct MemberBoard {
  std::array<Arrival, 2> arrivals;
  std::array<std::array<std::byte, kMailBytes>, 2> mail;
};

/// At the head of each rank's own memory; then the staging halves.
// Padded: what is written while ranks wait keeps a line of its own.
struct alignas(kLine) RankBoard {  // NOLINT(clang-analyzer-optin.performance.Padding)
  baleen_event_t bell;
  alignas(kLine) cpu_set_t cores;  ///< that the rank may use
  std::atomic<std::uint32_t> left;
  std::array<char, 1024> why;  ///< it left, ending with a zero; empty where it had come to its end

  static constexpr std::size_t kHead = 4096, kBytes = kHead + 2 * kSegmentBytes;
  std::byte* half(std::size_t number) { return reinterpret_cast<std::byte*>(this) + kHead + number * kSegmentBytes; }
};
static_assert(sizeof(RankBoard) <= RankBoard::kHead);

/// From a sender to a receiver: how many segments were shown and taken, ever.
struct ChannelBoard {
  struct alignas(kLine) Count {
    std::atomic<std::uint64_t> value;
  };
  Count shown, taken;
  std::array<std::array<std::byte, kChannelBytes>, 2> halves;
};

}  // namespace baleen::shm
