/// \file Queue, meetings, parked ends of channels, sleep.
#include "worker.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <ctime>
#include <utility>

#include "baleen/transport.h"

namespace baleen::shm {
namespace {

std::int64_t nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// A wait of at most `budget` nanoseconds that stays awake: with a core for each rank by looking again at once; then by
// letting others run, for who is waited for may be queued for this very core.
class Spinner {
 public:
  Spinner(bool spins, std::int64_t budget) : looks_(spins ? 200 : 0), budget_(budget) {}

  bool again() {
    if (looks_ > 0) {
      --looks_;
      event_pause();
      return true;
    }
    if (end_ == 0) end_ = nanoseconds() + budget_;
    sched_yield();
    return nanoseconds() < end_;
  }

 private:
  int looks_;
  const std::int64_t budget_;
  std::int64_t end_ = 0;
};

// To wait awake for as long as a hand-over to the thread and back takes is never much worse than either choice. Where
// peers were later than that, they will be so again.
constexpr std::int64_t kHandOver = 200'000, kShortly = 10'000;

Error has_left(const std::string& who, const RankBoard& board, const Slot& slot) {
  const std::string why = board.why.data();
  return {BALEEN_PEER_LOST, who + " has left before " + slot.text + (why.empty() ? "" : " (because: " + why + ")"), {}};
}

std::thread without_signals(auto body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // they are for the program's own threads
  std::thread thread(body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Worker::Worker(RankBoard& board, FirstFailure& failure, bool spins)
    : board_(board), failure_(failure), spins_(spins), patience_(kHandOver) {
  parked_.reserve(BALEEN_MAX_OUTSTANDING);
  thread_ = without_signals([this] { work(); });
}

Worker::~Worker() {
  fail({BALEEN_PEER_LOST, "the transport was destroyed", {}});
  leaving_ = true;
  wake();
  thread_.join();
}

void Worker::fail(Error error) {
  failure_.set(std::move(error));
  wake();
}

void Worker::settle() {
  if (unfinished_.count() != 0) fail(internal("a group was destroyed while operations of this rank were unfinished"));
  unfinished_.settle();
}

void Worker::wake() {
  ring(board_.bell);
  ring(idle_);
}

Status Worker::start(Operation& operation) {
  if (failure_) return failure_.status();
  BALEEN_TRY(unfinished_.check_room());
  if (operation.may_begin() && unfinished_.count() == 0 && operation.slot->brief && run_now(operation)) {
    operation.raise();
    return {};
  }
  unfinished_.add();
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  queue_[tail % queue_.size()] = operation;
  tail_.store(tail + 1, std::memory_order_seq_cst);
  wake();
  return {};
}

// An operation for which everyone is there needs no other thread. What has to be waited for longer goes to the queue as
// far as it has come.
bool Worker::run_now(Operation& operation) {
  begin(operation);
  if (operation.slot->channel) {
    Spinner spinner(spins_, kShortly);
    do {
      if (operation.slot->channel->poll(operation.ticket)) return true;
    } while (!failure_ && spinner.again());
    return false;
  }
  return advance(operation, [&] {
    if (all_here(operation)) return true;
    Spinner spinner(spins_, patience_.load(std::memory_order_relaxed));
    while (!failure_ && spinner.again())
      if (all_here(operation)) return true;
    operation.waits_since = nanoseconds();
    return false;
  });
}

void Worker::begin(Operation& operation) {
  if (std::exchange(operation.begun, true)) return;
  Slot& slot = *operation.slot;
  if (slot.channel)
    operation.ticket = slot.channel->take_ticket();
  else
    operation.program = &slot.programs[slot.by_parity ? (slot.group->meeting + 1) % 2 : 0];
}

template <class Await>
bool Worker::advance(Operation& operation, const Await& await) {
  for (const Program& program = *operation.program; operation.step < program.steps(); ++operation.step) {
    if (!operation.arrived) {
      program.run(operation.step);
      if (!program.meets(operation.step)) continue;
      operation.slot->group->arrive(*operation.slot);
      operation.arrived = true;
    }
    if (!await()) return false;
    operation.slot->group->wake_sleepers();
    operation.arrived = false;
  }
  return true;
}

bool Worker::all_here(const Operation& operation) {
  const Slot& slot = *operation.slot;
  const Group& group = *slot.group;
  std::size_t who = 0;
  switch (group.attendance(slot, who)) {
    case Attendance::kComplete: return true;
    case Attendance::kDisagrees: fail(group.disagreement(slot, who)); return false;
    default: break;
  }
  if (group.boards[who]->left.load(std::memory_order_acquire) == 0) return false;
  const std::size_t gone = who;
  if (group.attendance(slot, who) != Attendance::kIncomplete || who != gone) return false;  // came first, then left
  fail(has_left("rank " + std::to_string(group.ranks[gone]), *group.boards[gone], slot));
  return false;
}

// True where something came to its end.
bool Worker::poll_parked() {
  bool progress = false;
  for (std::size_t i = 0; i < parked_.size();) {
    ChannelEnd& end = *parked_[i].slot->channel;
    const bool left = end.peer().left.load(std::memory_order_acquire) != 0;
    if (end.poll(parked_[i].ticket)) {
      const Operation finished = parked_[i];
      parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
      finish(finished);
      progress = true;
      continue;
    }
    if (left) {
      fail(has_left("the other side", end.peer(), *parked_[i].slot));
      break;
    }
    ++i;
  }
  return progress;
}

// Until `ready` or the failure; looks after the parked meanwhile. `operation`: what is waited for, or one without a
// slot.
template <class Ready>
bool Worker::wait(const Ready& ready, bool spin, const Operation& operation) {
  constexpr double kTick = 0.5;  // seconds between looks at what rings no bell
  if (spin) {
    Spinner spinner(spins_, kShortly);
    do {
      if (ready()) return true;
      if (failure_) return false;
      poll_parked();
    } while (spinner.again());
  }
  // Peers ring for every meeting; who waits for none of them is not to be disturbed.
  baleen_event_t& bell = operation.begun || !parked_.empty() ? board_.bell : idle_;
  while (true) {
    const std::uint64_t word = event_prepare_sleep(bell);
    if (ready()) return true;
    if (failure_) return false;
    if (poll_parked()) continue;
    const timespec tick = event_deadline(kTick);
    if (!operation.after || operation.begun) {
      event_sleep(bell, word, &tick);
      continue;
    }
    const std::uint64_t after_word = event_prepare_sleep(*operation.after);
    if (after_word >> 1 < operation.after_value) event_sleep(*operation.after, after_word, bell, word, &tick);
  }
}

// False where the failure came first.
bool Worker::run(Operation& operation) {
  if (!operation.begun && !operation.may_begin() && !wait([&] { return operation.may_begin(); }, false, operation))
    return false;
  begin(operation);
  if (operation.slot->channel) {
    parked_.push_back(operation);
    poll_parked();
    return true;
  }
  const auto await = [&] {
    if (!wait([&] { return all_here(operation); }, true, operation)) return false;
    if (const std::int64_t since = std::exchange(operation.waits_since, 0))
      patience_.store(nanoseconds() - since < kHandOver ? kHandOver : kShortly, std::memory_order_relaxed);
    return true;
  };
  if (!advance(operation, await)) return false;
  finish(operation);
  return true;
}

void Worker::drain() {
  for (const Operation& operation : parked_) finish(operation);
  parked_.clear();
  while (head_ != tail_) finish(queue_[head_++ % queue_.size()]);
}

void Worker::work() {
  pthread_setname_np(pthread_self(), "baleen-shm");
  const auto something = [&] { return head_ != tail_ || leaving_; };
  while (true) {
    if (wait(something, false, {}) && head_ != tail_ && !failure_) {
      Operation operation = queue_[head_++ % queue_.size()];
      if (!run(operation)) finish(operation);
      continue;
    }
    // Nothing runs any more. A start that was on its way still comes here to fail.
    drain();
    if (leaving_) return;
    const std::uint64_t word = event_prepare_sleep(idle_);
    if (!something()) event_sleep(idle_, word, nullptr);
  }
}

}  // namespace baleen::shm
