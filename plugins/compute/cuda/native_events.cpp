/// \file The list of signals under way, which begins at the event itself.
#include "native_events.hpp"

#include <utility>

namespace baleen::cuda {

NativeEvents::~NativeEvents() {
  for (const auto& signal : all_) driver_.cuEventDestroy(signal->at);
}

Status NativeEvents::use() {
  if (in_use_) return {};
  for (int i = 0; i < kAtFirst; ++i) BALEEN_TRY(add());
  in_use_ = true;
  return {};
}

Status NativeEvents::add() {
  auto signal = std::make_unique<Signal>();
  BALEEN_TRY(driver_.check(driver_.cuEventCreate(&signal->at, CU_EVENT_DISABLE_TIMING), "making an event"));
  signal->owner = this;
  const std::lock_guard lock(mutex_);
  free_.push_back(signal.get());
  all_.push_back(std::move(signal));
  return {};
}

Result<NativeEvents::Signal*> NativeEvents::take() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Signal* const signal = free_.back();
        free_.pop_back();
        return signal;
      }
    }
    BALEEN_TRY(add());
  }
}

void NativeEvents::give_back(Signal* signal) {
  const std::lock_guard lock(mutex_);
  free_.push_back(signal);
}

// Another device's signals are behind another lock: who waits for those waits for the counter.
NativeEvents::Signal* NativeEvents::newest(const baleen_event_t& event) const {
  auto* const signal = static_cast<Signal*>(__atomic_load_n(&event.native, __ATOMIC_ACQUIRE));
  return signal && signal->owner == this ? signal : nullptr;
}

void NativeEvents::unlink(Signal* signal) {
  Signal* at = newest(*signal->event);
  if (at == signal) __atomic_store_n(&signal->event->native, static_cast<void*>(signal->older), __ATOMIC_RELEASE);
  while (at && at->older != signal) at = at->older;
  if (at) at->older = signal->older;
}

void NativeEvents::settle(Signal* signal) {
  if (!signal->pending && !signal->expected && signal->users == 0) free_.push_back(signal);
}

Result<NativeEvents::Signal*> NativeEvents::record(CUstream stream, baleen_event_t& event, std::uint64_t value) {
  BALEEN_TRY_ASSIGN(Signal* const signal, take());
  if (Status done = driver_.check(driver_.cuEventRecord(signal->at, stream), "recording an event"); !done) {
    give_back(signal);
    return done.error();
  }
  const std::lock_guard lock(mutex_);
  signal->event = &event;
  signal->value = value;
  signal->pending = signal->expected = true;
  signal->older = newest(event);
  if (signal->older || !__atomic_load_n(&event.native, __ATOMIC_ACQUIRE))
    __atomic_store_n(&event.native, static_cast<void*>(signal), __ATOMIC_RELEASE);
  return signal;
}

void NativeEvents::raise(void* handle) {
  auto* const signal = static_cast<Signal*>(handle);
  NativeEvents& self = *signal->owner;
  const std::lock_guard lock(self.mutex_);
  signal->expected = false;
  if (signal->pending) {
    signal->pending = false;
    self.unlink(signal);
    event_signal(*signal->event, signal->value);
  }
  self.settle(signal);
}

Result<bool> NativeEvents::wait(CUstream stream, baleen_event_t& event, std::uint64_t value) {
  Signal* best = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (Signal* signal = newest(event); signal; signal = signal->older)
      if (signal->value >= value && (!best || signal->value <= best->value)) best = signal;
    if (!best) return false;
    ++best->users;
  }
  const CUresult result = driver_.cuStreamWaitEvent(stream, best->at, 0);
  {
    const std::lock_guard lock(mutex_);
    --best->users;
    settle(best);
  }
  BALEEN_TRY(driver_.check(result, "making a stream wait for another"));
  return true;
}

void NativeEvents::fail_locked(baleen_event_t& event) {
  for (Signal* signal = newest(event); signal; signal = signal->older) {
    signal->pending = false;
    settle(signal);
  }
  if (newest(event)) __atomic_store_n(&event.native, static_cast<void*>(nullptr), __ATOMIC_RELEASE);
  event_signal(event, BALEEN_EVENT_FAILED);
}

void NativeEvents::fail(baleen_event_t& event) {
  const std::lock_guard lock(mutex_);
  fail_locked(event);
}

void NativeEvents::fail_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& signal : all_)
    if (std::exchange(signal->pending, false)) fail_locked(*signal->event);
}

bool NativeEvents::keep_in(Recording* recording) {
  const std::lock_guard lock(mutex_);
  if (recording && recording_) return false;
  recording_ = recording;
  recorder_ = std::this_thread::get_id();
  return true;
}

Recording* NativeEvents::recording() const {
  const std::lock_guard lock(mutex_);
  return recorder_ == std::this_thread::get_id() ? recording_ : nullptr;
}

}  // namespace baleen::cuda
