/// \file A rank's calls of its launcher; who is to hear of lost peers.
#include "core/launch/rank_link.hpp"

#include <unistd.h>

#include <utility>

namespace baleen {

Result<std::unique_ptr<RankLink>> RankLink::over(std::unique_ptr<LauncherMember> launcher) {
  auto link = std::unique_ptr<RankLink>(new RankLink(std::move(launcher)));
  BALEEN_TRY(link->launcher_->watch([raw = link.get()](const std::string& reason) { raw->lose(reason); }));
  return link;
}

RankLink::~RankLink() { launcher_.reset(); }

Status RankLink::compare_places() {
  const auto key = [](int rank) { return "process of rank " + std::to_string(rank); };
  const std::string own = "process " + std::to_string(getpid()) + " on host `" + place().host + "`";
  const std::string number = "rank " + std::to_string(place().rank) + " of " + std::to_string(place().ranks);
  if (const Status is_first = put(key(place().rank), own); !is_first) {
    if (is_first.error().code != BALEEN_INVALID) return is_first;
    BALEEN_TRY_ASSIGN(const std::string other, get(key(place().rank)));
    return invalid(launcher_->title() + " says that two processes are " + number + ": " + other + ", and " + own);
  }
  for (int rank = 0; rank < place().ranks; ++rank) {
    const auto process = get(key(rank));
    if (process) continue;
    if (process.error().code != BALEEN_TIMEOUT) return process.error();
    return Error{BALEEN_TIMEOUT,
                 "no process says that it is rank " + std::to_string(rank) + " of " + std::to_string(place().ranks) +
                     ": " + process.error().text(),
                 {}};
  }
  return {};
}

Status RankLink::put(const std::string& key, const std::string& value) { return launcher_->put(key, value); }
Result<std::string> RankLink::get(const std::string& key) { return launcher_->get(key); }
Status RankLink::barrier(const std::string& name) { return launcher_->fence(name); }

Status RankLink::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void RankLink::at(std::int64_t step, const char* phase) {
  step_.store(step, std::memory_order_relaxed);
  phase_.store(phase, std::memory_order_relaxed);
  beat();
}

void RankLink::begins(std::int64_t collective) {
  collective_.store(collective, std::memory_order_relaxed);
  beat();
}

void RankLink::beat() {
  launcher_->beat({step_.load(std::memory_order_relaxed), collective_.load(std::memory_order_relaxed),
                   phase_.load(std::memory_order_relaxed)});
}

bool RankLink::fail(const Error& error, const std::vector<std::string>& recorded) {
  return launcher_->fail(error, recorded);
}

Status RankLink::finish() { return launcher_->finish(); }

void RankLink::lose(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!state_) return;
    state_ = Error{BALEEN_PEER_LOST, reason, {}};
  }
  const std::lock_guard lock(calling_);
  called_ = true;
  for (const auto& [number, callback] : callbacks_) callback(reason);
}

AbortWatch::AbortWatch(RankLink& link, std::function<void(const std::string& reason)> callback) : link_(link) {
  const std::lock_guard lock(link.calling_);
  number_ = ++link.last_callback_;
  if (link.called_)
    callback(link.state().error().message);
  else
    link.callbacks_.emplace(number_, std::move(callback));
}

AbortWatch::~AbortWatch() {
  const std::lock_guard lock(link_.calling_);
  link_.callbacks_.erase(number_);
}

}  // namespace baleen
