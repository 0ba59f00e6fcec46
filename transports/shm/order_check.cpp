/// \file Compares the logs of two ranks' starts.
#include "order_check.hpp"

#include <algorithm>
#include <utility>

namespace baleen::shm {

OrderCheck::OrderCheck(bool checked, std::int32_t rank, std::vector<RankBoard*> boards)
    : checked_(checked), rank_(rank), boards_(std::move(boards)), compared_(boards_.size()) {}

void OrderCheck::learn(const Slot& slot) {
  if (slot.channel) return;
  std::lock_guard lock(mutex_);
  texts_.emplace(identity(*slot.group, slot.number), slot.text);
}

std::optional<Error> OrderCheck::note(const Slot& slot) {
  if (!checked_ || slot.channel) return {};
  std::lock_guard lock(mutex_);
  std::optional<Error> wrong;
  for (const std::int32_t peer : slot.group->ranks) {
    if (peer == rank_) continue;
    StartLog& log = boards_[static_cast<std::size_t>(rank_)]->log(static_cast<std::size_t>(peer));
    const std::uint64_t count = log.count.load(std::memory_order_relaxed);
    log.slots[count % kLogEntries].store(identity(*slot.group, slot.number), std::memory_order_relaxed);
    log.count.store(count + 1, std::memory_order_seq_cst);
    auto found = compare(peer);
    if (!found) continue;
    ring(boards_[static_cast<std::size_t>(peer)]->bell);
    if (!wrong) wrong = std::move(found);
  }
  return wrong;
}

std::optional<Error> OrderCheck::verify(const Slot& slot) {
  if (!checked_ || slot.channel) return {};
  std::lock_guard lock(mutex_);
  for (const std::int32_t peer : slot.group->ranks)
    if (peer != rank_)
      if (auto wrong = compare(peer)) return wrong;
  return {};
}

std::optional<Error> OrderCheck::compare(std::int32_t peer) {
  const StartLog& mine = boards_[static_cast<std::size_t>(rank_)]->log(static_cast<std::size_t>(peer));
  const StartLog& theirs = boards_[static_cast<std::size_t>(peer)]->log(static_cast<std::size_t>(rank_));
  const std::uint64_t mine_count = mine.count.load(std::memory_order_seq_cst);
  const std::uint64_t their_count = theirs.count.load(std::memory_order_seq_cst);
  std::uint64_t& at = compared_[static_cast<std::size_t>(peer)];
  for (; at < std::min(mine_count, their_count); ++at) {
    // Who is far ahead has overwritten its old entries.
    if (std::max(mine_count, their_count) - at >= kLogEntries) continue;
    const std::uint64_t a = mine.slots[at % kLogEntries].load(std::memory_order_relaxed);
    const std::uint64_t b = theirs.slots[at % kLogEntries].load(std::memory_order_relaxed);
    if (a != b && theirs.count.load(std::memory_order_seq_cst) - at < kLogEntries) return disagreement(a, peer, b);
  }
  return {};
}

Error OrderCheck::disagreement(const Slot& mine, std::int32_t peer, std::uint64_t peer_slot) const {
  std::lock_guard lock(mutex_);
  return disagreement(identity(*mine.group, mine.number), peer, identity(*mine.group, peer_slot));
}

Error OrderCheck::disagreement(std::uint64_t mine, std::int32_t peer, std::uint64_t theirs) const {
  const auto side = [&](std::int32_t rank, std::uint64_t slot) {
    const auto found = texts_.find(slot);
    return "rank " + std::to_string(rank) + " starts " + (found == texts_.end() ? "a collective" : found->second);
  };
  const std::string a = side(rank_, mine), b = side(peer, theirs);
  return invalid(rank_ > peer ? a + " where " + b : b + " where " + a);
}

}  // namespace baleen::shm
