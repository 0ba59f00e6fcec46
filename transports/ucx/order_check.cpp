/// \file Compares the logs of two ranks' starts.
#include "order_check.hpp"

#include <algorithm>

namespace baleen::ucx {

void OrderCheck::learn(const Slot& slot) {
  if (slot.pair) return;
  std::lock_guard lock(mutex_);
  texts_.emplace(identity(slot), slot.text);
}

std::optional<Error> OrderCheck::note(const Slot& slot) {
  std::optional<Error> wrong;
  for (const std::int32_t peer : slot.group->ranks) {
    if (peer == rank_) continue;
    Side& mine = pairs_[static_cast<std::size_t>(peer)].mine;
    mine.add(identity(slot));
    if (auto found = compare(peer, mine.count - 1); found && !wrong) wrong = std::move(found);
  }
  return wrong;
}

std::optional<Error> OrderCheck::hear(std::int32_t peer, std::uint64_t identity) {
  Side& theirs = pairs_[static_cast<std::size_t>(peer)].theirs;
  theirs.add(identity);
  return compare(peer, theirs.count - 1);
}

std::optional<Error> OrderCheck::compare(std::int32_t peer, std::uint64_t at) {
  const auto& [mine, theirs] = pairs_[static_cast<std::size_t>(peer)];
  // One has not come there; or is so far ahead that it has overwritten its old entries.
  if (at >= std::min(mine.count, theirs.count) || std::max(mine.count, theirs.count) - at > kLogEntries) return {};
  const std::uint64_t a = mine.log[at % kLogEntries], b = theirs.log[at % kLogEntries];
  if (a == b) return {};
  std::lock_guard lock(mutex_);
  const auto side = [&](std::int32_t rank, std::uint64_t one) {
    const auto found = texts_.find(one);
    return "rank " + std::to_string(rank) + " starts " + (found == texts_.end() ? "a collective" : found->second);
  };
  const std::string own = side(rank_, a), other = side(peer, b);
  return invalid(rank_ > peer ? own + " where " + other : other + " where " + own);
}

}  // namespace baleen::ucx
