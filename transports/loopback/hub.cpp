/// \file One mutex guards all; collectives run outside it.
#include "hub.hpp"

#include <algorithm>
#include <utility>

#include "execute.hpp"

namespace baleen::loopback {

Hub::Hub(std::int32_t ranks) : ranks_(static_cast<std::size_t>(ranks)), users_(static_cast<std::size_t>(ranks)) {}

Result<std::uint64_t> Hub::meet(const Proposal& mine) {
  std::unique_lock lock(mutex_);
  for (const std::int32_t rank : mine.present)
    if (rank != mine.rank) letters_[{mine.rank, rank}].push_back(mine);
  changed_.notify_all();
  std::vector<Proposal> all;
  for (const std::int32_t rank : mine.present) {
    if (rank == mine.rank) {
      all.push_back(mine);
      continue;
    }
    auto& box = letters_[{rank, mine.rank}];
    const Rank &me = ranks_[static_cast<std::size_t>(mine.rank)], &peer = ranks_[static_cast<std::size_t>(rank)];
    changed_.wait(lock, [&] { return !box.empty() || me.over || peer.gone; });
    if (box.empty()) return Error{BALEEN_PEER_LOST, mine.text() + ": " + (me.over ? me.why : left_text(rank)), {}};
    all.push_back(std::move(box.front()));
    box.pop_front();
  }
  BALEEN_TRY(agree(all));
  return all.front().number;
}

std::string Hub::left_text(std::int32_t rank) const {
  return "rank " + std::to_string(rank) + " has left (" + ranks_[static_cast<std::size_t>(rank)].why + ")";
}

Hub::Key Hub::key_of(const Operation& operation) {
  const Collective& c = operation.slot->collective;
  if (!is_pairwise(c.op)) return {operation.slot->group, 0, 0, operation.sequence};
  const std::size_t from = c.op == BALEEN_SEND ? c.place : c.root, to = c.op == BALEEN_SEND ? c.root : c.place;
  return {operation.slot->group, from * c.members + to + 1, operation.slot->number, operation.sequence};
}

std::size_t Hub::rank_of(const Operation& operation) {
  return static_cast<std::size_t>(operation.slot->ranks[operation.slot->collective.place]);
}

void Hub::finish(const std::vector<Operation>& operations, const Status& outcome) {
  std::vector<std::size_t> ranks;  // noted first: once finished, the slots may go
  ranks.reserve(operations.size());
  for (const Operation& operation : operations) ranks.push_back(rank_of(operation));
  for (const Operation& operation : operations) operation.finish(outcome);
  std::lock_guard lock(mutex_);
  for (const std::size_t rank : ranks) --ranks_[rank].running;
  changed_.notify_all();
}

Status Hub::hope_for(const Operation& operation) const {
  const Collective& c = operation.slot->collective;
  if (const Rank& me = ranks_[rank_of(operation)]; me.over) return Error{BALEEN_PEER_LOST, me.why, {}};
  for (std::size_t other = 0; other < c.members; ++other) {
    const std::int32_t rank = operation.slot->ranks[other];
    if (ranks_[static_cast<std::size_t>(rank)].gone && (!is_pairwise(c.op) || other == c.root))
      return Error{BALEEN_PEER_LOST, left_text(rank) + ", before " + c.text(), {}};
  }
  return {};
}

void Hub::post(Operation operation) {
  std::unique_lock lock(mutex_);
  if (const Status hope = hope_for(operation); !hope) {
    lock.unlock();
    return operation.finish(hope);
  }
  const Collective& c = operation.slot->collective;
  const bool pair = is_pairwise(c.op);
  const Key key = key_of(operation);
  Station& station = stations_[key];
  station.members.resize(pair ? 2 : c.members);
  station.members[pair ? (c.op == BALEEN_SEND ? 0 : 1) : c.place] = std::move(operation);
  if (++station.present < station.members.size()) return;
  const Station complete = std::move(station);
  stations_.erase(key);
  for (const Operation& member : complete.members) ++ranks_[rank_of(member)].running;
  lock.unlock();
  run(complete.members);
}

void Hub::run(const std::vector<Operation>& operations) {
  Status outcome;
  std::vector<const Collective*> members;
  const Slot& first = *operations[0].slot;
  for (const Operation& operation : operations) {
    const Slot& slot = *operation.slot;
    members.push_back(&slot.collective);
    if (!outcome || slot.number == first.number) continue;
    outcome = another_start(slot.ranks[slot.collective.place], slot.collective.text(),
                            first.ranks[first.collective.place], first.collective.text());
  }
  if (outcome) execute(members);
  finish(operations, outcome);
}

std::vector<Operation> Hub::take_those_who_wait_for(std::int32_t rank) {
  std::vector<Operation> taken;
  for (auto it = stations_.begin(); it != stations_.end();) {
    Station& station = it->second;
    const auto waits = [&](const Operation& member) {
      if (!member.slot) return false;
      const auto& ranks = member.slot->ranks;
      const Collective& c = member.slot->collective;
      return is_pairwise(c.op) ? ranks[c.root] == rank : std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    if (!std::any_of(station.members.begin(), station.members.end(), waits)) {
      ++it;
      continue;
    }
    for (Operation& member : station.members) {
      if (!member.slot) continue;
      ++ranks_[rank_of(member)].running;
      taken.push_back(std::move(member));
    }
    it = stations_.erase(it);
  }
  return taken;
}

void Hub::withdraw(std::int32_t rank, const Error& error) {
  std::vector<Operation> own;
  {
    std::lock_guard lock(mutex_);
    Rank& me = ranks_[static_cast<std::size_t>(rank)];
    if (!me.over) me.why = error.message;
    me.over = true;
    for (auto& [key, station] : stations_) {
      for (Operation& member : station.members) {
        if (!member.slot || rank_of(member) != static_cast<std::size_t>(rank)) continue;
        ++me.running;
        own.push_back(std::exchange(member, {}));
        --station.present;
      }
    }
  }
  changed_.notify_all();
  finish(own, error);
}

void Hub::leave(std::int32_t rank) {
  std::unique_lock lock(mutex_);
  Rank& me = ranks_[static_cast<std::size_t>(rank)];
  changed_.wait(lock, [&] { return me.running == 0; });
  me.gone = true;
  const std::vector<Operation> others = take_those_who_wait_for(rank);
  const Error error{BALEEN_PEER_LOST, left_text(rank), {}};
  lock.unlock();
  changed_.notify_all();
  finish(others, error);
}

bool Hub::forget() {
  std::lock_guard lock(mutex_);
  return --users_ == 0;
}

}  // namespace baleen::loopback
