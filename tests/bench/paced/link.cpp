/// \file The thread of a link.
#include "link.hpp"

#include <algorithm>

namespace baleen::paced {
namespace {

timespec timespec_of(Link::Clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  timespec result{};
  result.tv_sec = since / 1'000'000'000;
  result.tv_nsec = since % 1'000'000'000;
  return result;
}

bool is_carried(const Link::Transfer& transfer) { return event_value(*transfer.carried) >= transfer.carried_value; }

}  // namespace

Link::Link() {
  pending_.reserve(BALEEN_MAX_OUTSTANDING);
  thread_ = std::thread([this] { work(); });
}

Link::~Link() {
  fail();
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
    ring();
  }
  thread_.join();
}

bool Link::has_room() {
  std::lock_guard lock(mutex_);
  return pending_.size() < BALEEN_MAX_OUTSTANDING;
}

void Link::add(const Transfer& transfer) {
  std::lock_guard lock(mutex_);
  pending_.push_back({transfer, Clock::now()});
  // With others before it the thread waits for those, and needs no waking.
  if (pending_.size() == 1) ring();
}

void Link::fail() {
  std::lock_guard lock(mutex_);
  for (Pending& pending : pending_) pending.failed = true;
  ring();
}

void Link::settle() {
  fail();
  const auto unfinished = [this] {
    std::lock_guard lock(mutex_);
    return !pending_.empty();
  };
  while (unfinished()) std::this_thread::yield();
}

void Link::work() {
  std::unique_lock lock(mutex_);
  while (!leaving_ || !pending_.empty()) {
    Pending* pending = next();
    if (!pending)
      sleep_until_carried(lock);
    else if (!pending->failed && Clock::now() < pending->over)
      sleep_until_over(lock, pending->over);
    else
      finish(*pending);
  }
}

/// The one that holds the link: whose turn it was, or else the first that is carried out.
Link::Pending* Link::next() {
  for (Pending& pending : pending_)
    if (pending.holds) return &pending;
  for (Pending& pending : pending_) {
    if (!is_carried(pending.transfer)) {
      if (pending.transfer.may_wait) continue;
      return nullptr;
    }
    pending.holds = true;
    pending.failed |= event_value(*pending.transfer.carried) == BALEEN_EVENT_FAILED;
    // What was there before the link became free follows at once, however late this thread woke up.
    pending.over = std::max(free_, waited_ ? Clock::now() : pending.added) + pending.transfer.time;
    waited_ = false;
    return &pending;
  }
  return nullptr;
}

void Link::finish(Pending& pending) {
  const Transfer transfer = pending.transfer;
  const bool failed = pending.failed;
  if (!failed) free_ = pending.over;
  pending_.erase(pending_.begin() + (&pending - pending_.data()));
  if (transfer.done) event_signal(*transfer.done, failed ? BALEEN_EVENT_FAILED : transfer.done_value);
}

void Link::sleep_until_over(std::unique_lock<std::mutex>& lock, Clock::time_point over) {
  const std::uint64_t word = event_prepare_sleep(bell_);
  const timespec deadline = timespec_of(over);
  lock.unlock();
  event_sleep(bell_, word, &deadline);
  lock.lock();
}

void Link::sleep_until_carried(std::unique_lock<std::mutex>& lock) {
  waited_ = true;
  const std::uint64_t word = event_prepare_sleep(bell_);
  if (pending_.empty()) {
    lock.unlock();
    event_sleep(bell_, word, nullptr);
    lock.lock();
    return;
  }
  Transfer& first = pending_.front().transfer;
  const std::uint64_t first_word = event_prepare_sleep(*first.carried);
  if (first_word >> 1 >= first.carried_value) return;
  // Several may be the next: a look at all of them now and then.
  constexpr std::chrono::microseconds kNap{200};
  const timespec deadline = timespec_of(Clock::now() + kNap);
  baleen_event_t& carried = *first.carried;
  const bool several = first.may_wait;
  lock.unlock();
  event_sleep(carried, first_word, bell_, word, several ? &deadline : nullptr);
  lock.lock();
}

}  // namespace baleen::paced
