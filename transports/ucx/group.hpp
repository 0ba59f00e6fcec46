/// \file Groups, and what their members prepared.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"
#include "run.hpp"
#include "tag.hpp"

namespace baleen::ucx {

struct Group;

/// What is started.
struct Slot {
  Group* group = nullptr;
  std::uint64_t number = 0;  ///< the same on every member: in the group, or (SEND, RECEIVE) of the pair
  bool pair = false;
  bool brief = false;  ///< may be run within `start`
  std::string text;    ///< "all_reduce of 10 fp32 at train.lua:9"
  Scratch scratch;     ///< of a pair, whose runs are under way beside others
  Program program;
  Run run;

  /// Of messages from a member, by place; `taken`: of its answers to messages.
  Tag tag(std::uint64_t source, std::uint64_t message, bool taken) const;
};

struct Group {
  std::vector<std::int32_t> ranks;
  std::size_t place = 0;
  std::uint64_t number = 0;  ///< the same on every member, of no other group of theirs
  std::uint64_t slot_count = 0;
  std::map<std::size_t, std::uint64_t> pair_count;  ///< slots shared with that member alone
  std::vector<std::unique_ptr<Slot>> slots;         ///< longer only in one's turn to use UCX: it is read there

  /// Of the collective with that number.
  std::string text(std::uint64_t slot) const {
    const auto found =
        std::find_if(slots.begin(), slots.end(), [&](const auto& mine) { return !mine->pair && mine->number == slot; });
    return found == slots.end() ? "a collective" : (*found)->text;
  }
  /// Of a member.
  std::size_t place_of(std::int32_t rank) const {
    return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
};

inline Tag Slot::tag(std::uint64_t source, std::uint64_t message, bool taken) const {
  return {pair, group->number, number, source, taken, message};
}

}  // namespace baleen::ucx
