/// \file The watchdog's thread: it sleeps until something is due, and not for long.
#include "frontend/lua/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace baleen {
namespace {

constexpr std::chrono::milliseconds kLongestSleep{250};
/// A thread that wakes so late was stopped with its process.
constexpr std::chrono::milliseconds kStopped{500};

Watchdog::Watched started(Watchdog::Shared stretch) {
  if (!stretch) return {};
  const Watchdog::Time told = stretch->told;
  return {std::move(stretch), {}, Watchdog::Clock::now(), told, false};
}

}  // namespace

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    called_off_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Watchdog::Watched Watchdog::begin(Shared stretch) {
  const std::lock_guard lock(mutex_);
  Watched before = watched_;
  // What is around it rests.
  if (before.since) before.ran = ran();
  set(started(std::move(stretch)));
  return before;
}

void Watchdog::restore(Watched watched) {
  const std::lock_guard lock(mutex_);
  if (watched.since) watched.since = Clock::now();
  set(std::move(watched));
}

bool Watchdog::pause() {
  const std::lock_guard lock(mutex_);
  if (!watched_.since) return false;
  watched_.ran = ran();
  watched_.since.reset();
  return true;
}

void Watchdog::resume() {
  const std::lock_guard lock(mutex_);
  Watched watched = watched_;
  if (watched.stretch && !watched.since) watched.since = Clock::now();
  set(std::move(watched));
}

void Watchdog::restart(Shared stretch) {
  const std::lock_guard lock(mutex_);
  set(started(stretch ? std::move(stretch) : watched_.stretch));
}

/// Wakes the thread only where it would sleep too long, since this is called in every step.
void Watchdog::set(Watched watched) {
  watched_ = std::move(watched);
  is_over_ = watched_.stretch && watched_.stretch->limit.count() > 0 && ran() >= watched_.stretch->limit;
  if (const auto due = until_due(); due && Clock::now() + *due < sleeps_until_) changed_.notify_all();
}

std::optional<Watchdog::Clock::duration> Watchdog::until_due() const {
  if (!watched_.since) return {};
  const Stretch& stretch = *watched_.stretch;
  std::optional<Clock::duration> next;
  const auto add = [&](Clock::duration at) { next = std::min(next.value_or(at), at); };
  if (stretch.told.count() > 0) add(watched_.next_told);
  if (stretch.limit.count() > 0 && !is_over()) add(stretch.limit);
  if (stretch.limit.count() > 0 && !watched_.has_ended) add(stretch.limit + stretch.patience);
  if (next) *next = std::max(*next - ran(), Clock::duration(0));
  return next;
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!called_off_) {
    sleeps_until_ = Clock::now() + std::min<Clock::duration>(until_due().value_or(kLongestSleep), kLongestSleep);
    changed_.wait_until(lock, sleeps_until_);
    const Clock::duration late = Clock::now() - sleeps_until_;
    if (watched_.since && late > kStopped) *watched_.since = std::min(*watched_.since + late, Clock::now());
    if (!called_off_) look(lock);
  }
}

void Watchdog::look(std::unique_lock<std::mutex>& lock) {
  if (!watched_.since) return;
  const Shared stretch = watched_.stretch;
  const Clock::duration time = ran();
  if (stretch->limit.count() > 0 && time >= stretch->limit) {
    is_over_ = true;
    if (!watched_.has_ended && time >= stretch->limit + stretch->patience) {
      watched_.has_ended = true;
      lock.unlock();
      if (actions_.end) actions_.end(*stretch);
      return lock.lock();
    }
  }
  if (stretch->told.count() == 0 || time < watched_.next_told) return;
  while (watched_.next_told <= time) watched_.next_told *= 2;
  lock.unlock();
  if (actions_.tell) actions_.tell(*stretch, std::chrono::duration_cast<Time>(time));
  lock.lock();
}

}  // namespace baleen
