/// \file A rank's calls of its launcher; who is to hear of lost peers.
#include "core/launch/rank_link.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

namespace baleen {

Result<std::unique_ptr<RankLink>> RankLink::over(std::unique_ptr<LauncherMember> launcher) {
  auto link = std::unique_ptr<RankLink>(new RankLink(std::move(launcher)));
  BALEEN_TRY(link->launcher_->watch([raw = link.get()](const std::string& reason) { raw->lose(reason); }));
  return link;
}

RankLink::~RankLink() { launcher_.reset(); }

Status RankLink::put(const std::string& key, const std::string& value) { return launcher_->put(key, value); }
Result<std::string> RankLink::get(const std::string& key) { return launcher_->get(key); }
Status RankLink::barrier(const std::string& name) { return launcher_->fence(name); }

Status RankLink::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void RankLink::at(std::int64_t step, const char* phase) {
  step_.store(step, std::memory_order_relaxed);
  at(phase);
}

void RankLink::at(const char* phase) {
  phase_.store(phase, std::memory_order_relaxed);
  beat();
}

void RankLink::begins(std::int64_t collective) {
  collective_.store(collective, std::memory_order_relaxed);
  beat();
}

void RankLink::runs(const std::string& program) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t order = XXH3_64bits_withSeed(program.data(), program.size(), runs_ >> 32);
  program_ = names_.insert(program).first->c_str();
  runs_ = order << 32 | static_cast<std::uint32_t>(runs_ + 1);
  beat();
}

void RankLink::stands_in(const std::string& collective) {
  const std::lock_guard lock(mutex_);
  const char* const before = stands_in_.load(std::memory_order_relaxed);
  if (collective == before) return;
  stands_in_.store(names_.insert(collective).first->c_str(), std::memory_order_relaxed);
  beat();
}

void RankLink::beat() {
  const std::uint64_t runs = runs_;
  launcher_->beat({step_.load(std::memory_order_relaxed), collective_.load(std::memory_order_relaxed),
                   phase_.load(std::memory_order_relaxed), program_, static_cast<std::uint32_t>(runs),
                   static_cast<std::uint32_t>(runs >> 32), stands_in_.load(std::memory_order_relaxed)});
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
