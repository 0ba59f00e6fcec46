/// \file The thread that lets the steps of composed collectives begin.
#include "conductor.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace baleen::hierarchy {
namespace {

// The most steps of composed collectives that each transport holds at a time. The rest of BALEEN_MAX_OUTSTANDING is for
// collectives that one transport carries out alone.
constexpr std::size_t kMostAhead = BALEEN_MAX_OUTSTANDING / 4;

// How often an idle thread looks whether a transport has failed, in seconds.
constexpr double kLook = 0.2;

}  // namespace

Conductor::Conductor(OpenTransport& inside, OpenTransport& between, Tell tell)
    : inside_(inside), between_(between), tell_(std::move(tell)) {
  thread_ = std::thread([this] { work(); });
}

Conductor::~Conductor() {
  settle();
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  ring();
  thread_.join();
}

Status Conductor::start(Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                        std::uint64_t done_value) {
  if (failure_) return failure_.status();
  std::unique_lock lock(mutex_);
  if (slot.direct && handed_ == tail_) {
    lock.unlock();
    SubSlot& step = slot.steps.front();
    return judged(step.transport->start(step.slot, after, after_value, done, done_value));
  }
  BALEEN_TRY(unfinished_.check_room());
  unfinished_.add();
  queue_[tail_++ % queue_.size()] = {&slot, {after, after_value, done, done_value}, ++slot.runs, 0};
  hand_over();
  const Operation first = queue_[head_ % queue_.size()];
  if (head_ + 1 != tail_ || handed_ != tail_ || slot.direct || !is_over(first)) {
    ring();
    return {};
  }
  forget(first);
  lock.unlock();
  unfinished_.finish(first.events, false);
  return {};
}

// With the mutex. Of what was started, as much as the transports take.
void Conductor::hand_over() {
  for (; handed_ != tail_; ++handed_) {
    Operation& operation = queue_[handed_ % queue_.size()];
    if (failure_) continue;
    const std::size_t more[] = {operation.slot->count(false), operation.slot->count(true)};
    const bool fits = ahead_[0] + more[0] <= kMostAhead && ahead_[1] + more[1] <= kMostAhead;
    if (!fits && handed_ != head_) return;
    if (Status status = operation.slot->direct ? hand_direct(operation) : hand(operation, handed_ == head_); !status) {
      fail(judged(std::move(status)).error());
      continue;
    }
    if (operation.slot->direct) continue;
    ahead_[0] += more[0];
    ahead_[1] += more[1];
  }
}

Status Conductor::hand_direct(Operation& o) {
  SubSlot& step = o.slot->steps.front();
  const StartedEvents& e = o.events;
  BALEEN_TRY(step.transport->start(step.slot, e.after, e.after_value, e.done, e.done_value));
  o.events.done = nullptr;  // the transport raises it
  return {};
}

// Where it is alone, the first steps need no gate; and where a short one is done within its start, nor does the next.
Status Conductor::hand(Operation& o, bool alone) {
  const bool may_begin = o.events.may_begin();
  for (SubSlot& step : o.slot->steps) {
    bool ready = alone;
    for (const std::size_t earlier : step.after) ready = ready && is_over(o.slot->steps[earlier], o.run);
    if (!ready)
      BALEEN_TRY(step.transport->start(step.slot, &step.gate, o.run, &step.done, o.run));
    else if (may_begin)
      BALEEN_TRY(step.transport->start(step.slot, nullptr, 0, &step.done, o.run));
    else
      BALEEN_TRY(step.transport->start(step.slot, o.events.after, o.events.after_value, &step.done, o.run));
    ++o.handed;
  }
  return {};
}

bool Conductor::is_over(const SubSlot& step, std::uint64_t run) {
  const std::uint64_t now = event_value(step.done);
  return now >= run && now != BALEEN_EVENT_FAILED;
}

bool Conductor::is_over(const Operation& o) {
  const auto& steps = o.slot->steps;
  return o.handed == steps.size() && o.events.may_begin() &&
         std::all_of(steps.begin(), steps.end(), [&](const SubSlot& step) { return is_over(step, o.run); });
}

void Conductor::await_handed() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (handed_ == tail_) return;
    }
    std::this_thread::yield();
  }
}

void Conductor::settle() {
  if (unfinished_.count() > 0) fail(internal("a group was destroyed while operations of this rank were unfinished"));
  unfinished_.settle();
}

void Conductor::fail(Error error) {
  const std::string text = error.text();
  if (!failure_.set(std::move(error))) return;
  inside_.abort(text);
  between_.abort(text);
  ring();
}

Status Conductor::check() {
  look();
  return failure_.status();
}

Status Conductor::judged(Status said) {
  if (said) return said;
  Status known = check();
  return known ? said : known;
}

void Conductor::look() {
  if (failure_) return;
  if (Status status = between_.check(); !status) fail(tell_(false, std::move(status).error()));
  if (Status status = inside_.check(); !status) fail(tell_(true, std::move(status).error()));
}

// Until an operation is there, or the conductor goes.
bool Conductor::take(Operation& operation) {
  while (true) {
    const std::uint64_t word = event_prepare_sleep(bell_);
    {
      std::lock_guard lock(mutex_);
      if (head_ != handed_) {
        operation = queue_[head_ % queue_.size()];
        return true;
      }
      if (leaving_) return false;
    }
    const timespec deadline = event_deadline(kLook);
    event_sleep(bell_, word, &deadline);
    look();
  }
}

void Conductor::work() {
  Operation operation;
  // Of a direct one nothing is left to do, unless it was not handed over.
  while (take(operation)) finish(operation, !operation.slot->direct && perform(operation));
}

// False where a transport has failed; then no step touches anything any more.
bool Conductor::perform(const Operation& o) {
  bool well = !failure_ && (!o.events.after || await(*o.events.after, o.events.after_value, false));
  auto& steps = o.slot->steps;
  for (SubSlot& step : steps) {
    for (const std::size_t earlier : step.after) well = well && await(steps[earlier].done, o.run, true);
    if (!well) break;
    event_signal(step.gate, o.run);
  }
  for (SubSlot& step : steps) well = well && await(step.done, o.run, true);
  if (!well)
    for (std::size_t i = 0; i < o.handed; ++i) event_wait(steps[i].done, o.run);
  return well;
}

void Conductor::finish(const Operation& o, bool well) {
  {
    std::lock_guard lock(mutex_);
    forget(o);
    hand_over();
  }
  unfinished_.finish(o.events, !well);
}

// With the mutex. The first operation is over.
void Conductor::forget(const Operation& o) {
  if (!o.slot->direct && o.handed == o.slot->steps.size())
    for (const bool inside : {false, true}) ahead_[inside] -= o.slot->count(inside);
  ++head_;
}

// False where a transport has failed.
bool Conductor::await(baleen_event_t& event, std::uint64_t value, bool of_step) {
  while (true) {
    const std::uint64_t bell = event_prepare_sleep(bell_), word = event_prepare_sleep(event), now = word >> 1;
    if (now >= value && !(of_step && now == BALEEN_EVENT_FAILED)) return true;
    look();
    if (now >= value) fail(internal("a step has failed without a reason"));
    if (failure_) return false;
    const timespec deadline = event_deadline(kLook);
    event_sleep(event, word, bell_, bell, &deadline);
  }
}

}  // namespace baleen::hierarchy
