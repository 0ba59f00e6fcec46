/// \file The 64 bits that a message is matched by.
#pragma once
#include <cstdint>

namespace baleen::ucx {

/// A message is told by what it belongs to (a group's slot), by who sends it, and by its number among what that member
/// sends to this one within a run. Runs of a slot need no number: equal tags of one sender match in the order of their
/// sends, and the runs of a slot follow each other on every rank.
struct Tag {
  static constexpr unsigned kGroupBits = 15, kSlotBits = 18, kSourceBits = 12, kMessageBits = 17;
  static constexpr std::uint64_t kGroups = 1u << kGroupBits, kSlots = 1u << kSlotBits, kMembers = 1u << kSourceBits;

  /// The bits that are alike in all that a member sends to another for their group's collectives.
  static constexpr std::uint64_t kOfMember =
      ~(((kSlots - 1) << (kSourceBits + 1 + kMessageBits)) | ((std::uint64_t{2} << kMessageBits) - 1));

  bool pair = false;  ///< a SEND and its RECEIVE, numbered by their pair and not by the group
  std::uint64_t group = 0, slot = 0;
  std::uint64_t source = 0;   ///< the sender's place in the group
  bool taken = false;         ///< says to who sent message `message` that its bytes were read where they lie
  std::uint64_t message = 0;  ///< wraps around: far fewer are under way at a time

  constexpr std::uint64_t bits() const {
    std::uint64_t all = pair ? 1 : 0;
    all = all << kGroupBits | group;
    all = all << kSlotBits | slot;
    all = all << kSourceBits | source;
    all = all << 1 | (taken ? 1 : 0);
    return all << kMessageBits | (message & ((std::uint64_t{1} << kMessageBits) - 1));
  }
  static constexpr Tag of(std::uint64_t bits) {
    const auto take = [&bits](unsigned width) {
      const std::uint64_t value = bits & ((std::uint64_t{1} << width) - 1);
      bits >>= width;
      return value;
    };
    Tag tag;
    tag.message = take(kMessageBits);
    tag.taken = take(1) != 0;
    tag.source = take(kSourceBits);
    tag.slot = take(kSlotBits);
    tag.group = take(kGroupBits);
    tag.pair = bits != 0;
    return tag;
  }
};
static_assert(1 + Tag::kGroupBits + Tag::kSlotBits + Tag::kSourceBits + 1 + Tag::kMessageBits == 64);

}  // namespace baleen::ucx
