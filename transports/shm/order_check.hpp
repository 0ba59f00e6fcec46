/// \file Whether ranks start the collectives they share in one order, and the words for it when they do not.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "group.hpp"

namespace baleen::shm {

/// Where checked, each rank keeps a log per peer of the collectives it started that both belong to; equal numbers must
/// be equal collectives. [any thread]
class OrderCheck {
 public:
  OrderCheck(bool checked, std::int32_t rank, std::vector<RankBoard*> boards);

  bool checked() const { return checked_; }
  /// A slot that was prepared.
  void learn(const Slot& slot);
  /// A slot is started. An error where a peer has already started another one in its place; that peer is woken.
  std::optional<Error> note(const Slot& slot);
  /// The same question for the peers of a slot that is being waited for.
  std::optional<Error> verify(const Slot& slot);
  /// "rank 1 starts ... where rank 0 starts ...", whichever of the two asks.
  Error disagreement(const Slot& mine, std::int32_t peer, std::uint64_t peer_slot) const;

 private:
  static std::uint64_t identity(const Group& group, std::uint64_t slot) {
    return group.number << Arrival::kSlotBits | slot;
  }
  Error disagreement(std::uint64_t mine, std::int32_t peer, std::uint64_t theirs) const;
  std::optional<Error> compare(std::int32_t peer);

  const bool checked_;
  const std::int32_t rank_;
  const std::vector<RankBoard*> boards_;  // by rank
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> texts_;  // by identity
  std::vector<std::uint64_t> compared_;         // starts, per peer
};

}  // namespace baleen::shm
