/// \file A group's members in shared memory, and the slots they prepared.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "board.hpp"
#include "channel_end.hpp"
#include "memory.hpp"
#include "program.hpp"

namespace baleen::shm {

struct Group;

/// What is started: a program of meetings, or one end of a channel.
struct Slot {
  Group* group = nullptr;
  std::uint64_t number = 0;         ///< in its group, the same on every member
  std::array<Program, 2> programs;  ///< by parity of the meeting they begin with
  bool by_parity = false;           ///< else the first serves both
  bool brief = false;               ///< may be run within `start`
  std::unique_ptr<ChannelEnd> channel;
  std::string text;  ///< "all_reduce of 10 fp32 at train.lua:9"
};

/// Where the members of a group stand, as one of them sees it.
enum class Attendance { kIncomplete, kComplete, kDisagrees };

struct Group {
  std::vector<std::int32_t> ranks;
  std::size_t place = 0;
  SharedMemory memory;
  std::vector<RankBoard*> boards;  ///< by place
  std::uint64_t meeting = 0;       ///< the last this member came to
  std::uint64_t slot_count = 0;
  std::vector<std::unique_ptr<Slot>> slots;

  MemberBoard& member(std::size_t at) const { return reinterpret_cast<MemberBoard*>(memory.base())[at]; }
  static std::size_t bytes(std::size_t members) { return members * sizeof(MemberBoard); }

  /// Comes to the next meeting.
  void arrive(const Slot& slot);
  /// After a meeting: everyone who took part rings for those who fell asleep in it. So who arrives need not wait for
  /// its arrival to be seen before it looks for the others.
  void wake_sleepers() const;
  /// Who is there. Where not all are, `who` is one that is missing; where one came for another slot, it is that one.
  Attendance attendance(const Slot& slot, std::size_t& who) const;
  /// What a collective is called, by its number.
  void learn(const Slot& slot);
  /// That member came for another slot.
  Error disagreement(const Slot& mine, std::size_t who) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;  // of collectives, by number
};

}  // namespace baleen::shm
