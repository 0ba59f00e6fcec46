/// \file The worker's loop: takes turns with callers, sleeps, and ends.
#include "worker.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "log_tap.hpp"

namespace baleen::ucx {
namespace {

// How often this thread has left its core to another one.
std::int64_t switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

}  // namespace

std::int64_t nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

Worker::Worker(const Host& host, Wire& wire, Peers& peers, FirstFailure& failure, std::function<void()> failed,
               bool integrity, bool spins)
    : host_(host),
      wire_(wire),
      peers_(peers),
      failure_(failure),
      failed_(std::move(failed)),
      spins_(spins),
      runner_(wire, peers, integrity, [this](Error error) { record(std::move(error)); }),
      sockets_(wire.file(), peers.patience()),
      watcher_(wire.file(), [this] { ring(); }) {
  patience_ = kHandOver;
  parked_.reserve(BALEEN_MAX_OUTSTANDING);
  thread_ = quiet_thread("baleen-ucx", [this] { work(); });
}

Worker::~Worker() {
  fail({BALEEN_PEER_LOST, "the transport was destroyed", {}});
  leaving_ = true;
  ring();
  thread_.join();
}

void Worker::record(Error error) {
  if (failure_.set(std::move(error))) failed_();
}

void Worker::fail(Error error) {
  record(std::move(error));
  ring();
}

void Worker::settle() {
  if (unfinished_.count() != 0) fail(internal("a group was destroyed while operations of this rank were unfinished"));
  unfinished_.settle();
}

void Worker::post(std::int32_t rank, std::string letter) {
  {
    std::lock_guard lock(letters_mutex_);
    letters_.emplace_back(rank, std::move(letter));
    has_letters_ = true;
  }
  ring();
}

Status Worker::start(const Operation& operation) {
  if (failure_) return failure_.status();
  BALEEN_TRY(unfinished_.check_room());
  if (unfinished_.count() == 0 && run_now(operation)) return {};
  unfinished_.add();
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  queue_[tail % queue_.size()] = operation;
  tail_.store(tail + 1, std::memory_order_seq_cst);
  ring();
  return {};
}

// What there is to hear about was stored before: either the sleeper, who said so first, sees it in its last look, or it
// is woken here.
void Worker::ring() {
  const std::uint64_t word = __atomic_fetch_add(&bell_.word, 0, __ATOMIC_SEQ_CST);  // a fence that sanitizers know
  if (word & 1) event_signal(bell_, (word >> 1) + 1);
  if (polls_.load(std::memory_order_seq_cst)) wire_.wake();
}

bool Worker::send_letters() {
  if (!has_letters_) return false;
  std::vector<std::pair<std::int32_t, std::string>> letters;
  {
    std::lock_guard lock(letters_mutex_);
    letters.swap(letters_);
    has_letters_ = false;
  }
  for (const auto& [rank, letter] : letters) peers_.send(rank, NoteKind::kLetter, letter);
  return true;
}

bool Worker::step(Run& run) {
  const bool did = runner_.advance(run);
  if (peers_.losses() > 0 && !failure_ && !run.done()) runner_.look_for_losses(run);
  return did;
}

bool Worker::advance_current() {
  bool did = false;
  while (!failure_) {
    if (!current_.slot) {
      const std::uint64_t head = head_.load(std::memory_order_relaxed);
      if (head == tail_.load(std::memory_order_seq_cst)) return did;
      current_ = queue_[head % queue_.size()];
      head_.store(head + 1, std::memory_order_relaxed);
    }
    Run& run = current_.slot->run;
    if (current_.slot->pair || !run.active()) {
      if (!current_.may_begin()) return did;
      did = true;
      if (current_.slot->pair) {
        parked_.push_back({current_});
        current_ = {};
        advance_parked();
        continue;
      }
      run.begin();
    }
    if (step(run)) did = true;
    if (!run.done() || failure_) return did;
    run.end();
    if (handed_over_ != 0) {  // were callers right to give up?
      patience_ = nanoseconds() - handed_over_ < kHandOver ? kHandOver : kShortly;
      handed_over_ = 0;
    }
    finish(std::exchange(current_, {}));
    did = true;
  }
  return did;
}

// In the order of their starts, so that the runs of a slot follow each other.
bool Worker::advance_parked() {
  bool did = false;
  for (std::size_t i = 0; i < parked_.size() && !failure_;) {
    Run& run = parked_[i].operation.slot->run;
    if (!parked_[i].begun && !run.active()) {
      parked_[i].begun = true;
      run.begin();
    }
    if (!parked_[i].begun) {
      ++i;
      continue;
    }
    if (step(run)) did = true;
    if (!run.done() || failure_) {
      ++i;
      continue;
    }
    run.end();
    const Operation finished = parked_[i].operation;
    parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(finished);
    did = true;
  }
  return did;
}

// UCX goes by the context that is current on a thread, in each of its calls.
void Worker::enter_device() {
  if (device_seen_ == device_.changes()) return;
  device_seen_ = device_.changes();
  if (Status entered = device_.enter(); !entered) record(std::move(entered).error());
}

bool Worker::turn() {
  enter_device();
  bool did = send_letters();
  if (wire_.progress()) did = true;
  wire_.tidy();
  if (!parked_.empty() && advance_parked()) did = true;
  if (advance_current()) did = true;
  return did;
}

bool Worker::has_news() const {
  return (failure_ && unfinished_.count() > 0) || (!current_.slot && head_ != tail_) || has_letters_ || leaving_;
}

std::vector<Run*> Worker::active_runs() const {
  std::vector<Run*> runs;
  if (current_.slot && !current_.slot->pair && current_.slot->run.active()) runs.push_back(&current_.slot->run);
  for (const Parked& parked : parked_)
    if (parked.begun) runs.push_back(&parked.operation.slot->run);
  return runs;
}

// Until no message reads or writes anyone's buffers: what peers have not taken soon is cut off.
void Worker::quiesce() {
  constexpr std::int64_t kGentle = 20'000'000, kMost = 5'000'000'000;
  const std::vector<Run*> runs = active_runs();
  for (Run* run : runs) runner_.cancel(*run);
  const auto under_way = [&] {
    std::uint64_t all = 0;
    for (const Run* run : runs) all += run->under_way();
    return all;
  };
  bool gentle = true;
  for (const std::int64_t begin = nanoseconds(); under_way() > 0; wire_.tidy()) {
    if (wire_.progress()) continue;
    const std::int64_t waited = nanoseconds() - begin;
    if (waited > kMost) {
      host_.log(BALEEN_WARNING, "ucx: " + std::to_string(under_way()) + " messages did not end after a failure");
      break;
    }
    if (gentle && waited > kGentle) {
      for (Run* run : runs) runner_.cut(*run);
      gentle = false;
    }
    sched_yield();
  }
  for (Run* run : runs) run->end();
}

void Worker::drain() {
  if (unfinished_.count() == 0) return;
  quiesce();
  if (current_.slot) finish(std::exchange(current_, {}));
  for (const Parked& parked : parked_) finish(parked.operation);
  parked_.clear();
  while (head_ != tail_) finish(queue_[head_++ % queue_.size()]);
}

void Worker::sleep_on_event(std::unique_lock<std::mutex>& turn) {
  baleen_event_t& event = *current_.after;
  const std::uint64_t bell = event_prepare_sleep(bell_), after = event_prepare_sleep(event);
  if (after >> 1 >= current_.after_value || has_news() || !wire_.arm()) return;
  watcher_.ask();
  const timespec tick = event_deadline(milliseconds_to_look() / 1000.0);
  turn.unlock();
  event_sleep(event, after, bell_, bell, &tick);
  turn.lock();
}

// Callers are at it, or were since the last look.
bool Worker::callers_are_busy() const {
  const std::uint64_t calls = calls_.load(std::memory_order_relaxed);
  return calls % 2 == 1 || calls != calls_seen_;
}

// Every message of theirs would wake this thread too, for nothing, and then they would wait for their turn.
void Worker::sleep_beside_callers(std::unique_lock<std::mutex>& turn) {
  constexpr double kTick = 0.002;
  const std::uint64_t bell = event_prepare_sleep(bell_);
  if (has_news()) return;
  turn.unlock();
  do {
    calls_seen_ = calls_.load(std::memory_order_relaxed);
    const timespec tick = event_deadline(kTick);
    if (event_sleep(bell_, bell, &tick)) break;
  } while (callers_are_busy() && nanoseconds() < next_look_);
  turn.lock();
}

void Worker::sleep(std::unique_lock<std::mutex>& turn) {
  // A pair's operation is never current for longer than its event takes.
  const bool waits = current_.slot && (current_.slot->pair || !current_.slot->run.active());
  if (waits && !failure_) return sleep_on_event(turn);
  if (unfinished_.count() == 0 && callers_are_busy()) return sleep_beside_callers(turn);
  polls_.store(true, std::memory_order_seq_cst);
  if (!has_news() && wire_.arm()) {
    pollfd ready{wire_.file(), POLLIN, 0};
    turn.unlock();
    poll(&ready, 1, milliseconds_to_look());
    turn.lock();
  }
  polls_.store(false, std::memory_order_seq_cst);
}

// What rings no bell is looked at then.
int Worker::milliseconds_to_look() const {
  return static_cast<int>(std::max<std::int64_t>(next_look_ - nanoseconds(), 0) / 1'000'000) + 1;
}

void Worker::look_at_sockets() {
  const std::int64_t now = nanoseconds();
  if (now < next_look_) return;
  next_look_ = now + Sockets::kLookMilliseconds * std::int64_t{1'000'000};
  peers_.suspect(sockets_.look());
  wire_.look();
  if (!failure_ && current_.slot && current_.slot->run.active()) runner_.look_for_another(current_.slot->run);
}

void Worker::work() {
  // Who sleeps may get a core back late, on a machine that others share too: milliseconds. So it is kept while nobody
  // else wants it.
  constexpr std::int64_t kAwake = 50'000, kAwakeAlone = 3'000'000, kAlone = 3;
  const LogTap tap(host_, true);
  std::int64_t idle_since = 0, switched = 0;
  int looks = 0;
  std::unique_lock turn_of_this_thread(turn_);
  while (true) {
    const bool did = turn();
    if (failure_) drain();
    if (leaving_ && unfinished_.count() == 0 && !has_letters_) return;
    if (did) {
      idle_since = looks = 0;
      continue;
    }
    const bool waits = unfinished_.count() > 0;  // else it would be in the way of callers
    if (waits && spins_ && ++looks < 100) {
      event_pause();
      continue;
    }
    if (idle_since == 0) {
      idle_since = nanoseconds();
      switched = switches();
    }
    const std::int64_t idle = nanoseconds() - idle_since;
    if (waits && (idle < kAwake || (idle < kAwakeAlone && switches() - switched < kAlone)))
      sched_yield();
    else
      sleep(turn_of_this_thread);
    look_at_sockets();
  }
}

}  // namespace baleen::ucx
