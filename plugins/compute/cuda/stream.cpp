/// \file Waiting and signalling between streams and the host's events.
#include "stream.hpp"

namespace baleen::cuda {

void wait_either(baleen_event_t& event, std::uint64_t value, baleen_event_t& stop) {
  while (true) {
    for (int spin = 0; spin < 200; ++spin) {
      if (event_value(event) >= value || event_value(stop) > 0) return;
      event_pause();
    }
    const std::uint64_t word = event_prepare_sleep(event), other = event_prepare_sleep(stop);
    if (word >> 1 >= value || other >> 1 > 0) return;
    event_sleep(event, word, stop, other, nullptr);
  }
}

Result<std::unique_ptr<Stream>> Stream::create(const Driver& driver, NativeEvents& events) {
  std::unique_ptr<Stream> stream(new Stream(driver, events));
  BALEEN_TRY(stream->open());
  return stream;
}

Status Stream::open() {
  constexpr const char* kDoing = "making a stream";
  constexpr unsigned kPinned = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  BALEEN_TRY(driver_.check(driver_.cuStreamCreate(&native_, CU_STREAM_NON_BLOCKING), kDoing));
  BALEEN_TRY(driver_.check(driver_.cuMemAlloc(&record_, sizeof(IdRecord)), kDoing));
  BALEEN_TRY(driver_.check(driver_.cuMemsetD8Async(record_, 0, sizeof(IdRecord), native_), kDoing));
  void* pinned = nullptr;
  BALEEN_TRY(driver_.check(driver_.cuMemHostAlloc(&pinned, sizeof(IdRecord), kPinned), kDoing));
  record_copy_ = new (pinned) IdRecord;
  BALEEN_TRY(driver_.check(driver_.cuMemHostAlloc(&pinned, sizeof(std::uint32_t), kPinned), kDoing));
  released_ = new (pinned) std::uint32_t{0};
  BALEEN_TRY(driver_.check(driver_.cuMemHostGetDevicePointer(&released_on_device_, released_, 0), kDoing));
  BALEEN_TRY(driver_.check(driver_.cuStreamSynchronize(native_), kDoing));
  waiter_ = std::thread([this] { run_waits(); });
  return {};
}

Stream::~Stream() {
  event_signal(stop_, 1);
  if (waiter_.joinable()) waiter_.join();
  if (released_)  // whatever the stream still waits for is not going to come
    __atomic_store_n(released_, static_cast<std::uint32_t>(posted_waits_), __ATOMIC_RELEASE);
  if (native_) {
    if (driver_.cuStreamSynchronize(native_) != CUDA_SUCCESS) fail_signals();
    driver_.cuStreamDestroy(native_);
  }
  if (side_) {
    driver_.cuStreamSynchronize(side_);
    driver_.cuStreamDestroy(side_);
  }
  if (record_) driver_.cuMemFree(record_);
  if (record_copy_) driver_.cuMemFreeHost(record_copy_);
  if (released_) driver_.cuMemFreeHost(released_);
}

// The stream itself waits in order, so waiting in order here loses nothing.
void Stream::run_waits() {
  for (std::uint64_t number = 1; event_value(stop_) == 0; ++number) {
    wait_either(posted_, number, stop_);
    if (event_value(posted_) < number) return;
    const Wait wait = waits_[number % kSlots];
    wait_either(*wait.event, wait.value, stop_);
    if (event_value(stop_) > 0) return;
    __atomic_store_n(released_, static_cast<std::uint32_t>(number), __ATOMIC_RELEASE);
    event_signal(taken_, number);
  }
}

Status Stream::wait(baleen_event_t& event, std::uint64_t value) {
  if (Recording* const kept = events_.recording()) {
    if (kept->has(event, value)) return kept->wait(driver_, native_, event, value);
    if (kept->holds(native_)) return kept->refuse("a wait for what is signalled outside of them");
  }
  if (event_value(event) >= value) return {};
  BALEEN_TRY_ASSIGN(const bool waits, events_.wait(native_, event, value));
  if (waits) return {};
  const std::uint64_t number = ++posted_waits_;
  if (number > kSlots) event_wait(taken_, number - kSlots);
  waits_[number % kSlots] = {&event, value};
  event_signal(posted_, number);
  return driver_.check(driver_.cuStreamWaitValue32(native_, released_on_device_, static_cast<cuuint32_t>(number),
                                                   CU_STREAM_WAIT_VALUE_GEQ),
                       "making a stream wait");
}

void Stream::raise(void* slot) {
  auto& signal = *static_cast<Signal*>(slot);
  baleen_event_t* event = signal.event;
  const std::uint64_t value = signal.value;
  if (signal.pending.exchange(false)) event_signal(*event, value);
}

Status Stream::signal_natively(baleen_event_t& event, std::uint64_t value) {
  if (!side_)
    BALEEN_TRY(driver_.check(driver_.cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING), "making a stream for signals"));
  auto signal = events_.record(native_, event, value);
  CUresult result = signal ? driver_.cuStreamWaitEvent(side_, (*signal)->at, 0) : CUDA_SUCCESS;
  if (signal && result == CUDA_SUCCESS) result = driver_.cuLaunchHostFunc(side_, NativeEvents::raise, *signal);
  if (signal && result == CUDA_SUCCESS) return {};
  if (!signal) events_.fail(event);
  fail_signals();
  return signal ? driver_.check(result, "enqueueing a signal") : Status(signal.error());
}

Status Stream::signal(baleen_event_t& event, std::uint64_t value) {
  if (Recording* const kept = events_.recording(); kept && kept->holds(native_))
    return kept->signal(driver_, events_, native_, event, value);
  if (events_.in_use()) return signal_natively(event, value);
  Signal& slot = (*signals_)[++posted_signals_ % kSlots];
  if (slot.pending) BALEEN_TRY(synchronize());  // as many signals under way as there are slots
  slot.event = &event;
  slot.value = value;
  slot.pending = true;
  const CUresult result = driver_.cuLaunchHostFunc(native_, raise, &slot);
  if (result == CUDA_SUCCESS) return {};
  fail_signals();
  return driver_.check(result, "enqueueing a signal");
}

void Stream::fail_signals() {
  for (Signal& signal : *signals_)
    if (signal.pending.exchange(false)) event_signal(*signal.event, BALEEN_EVENT_FAILED);
  events_.fail_all();
}

Status Stream::synchronize() {
  CUresult result =
      driver_.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(record_copy_), record_, sizeof(IdRecord), native_);
  if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(native_);
  if (result == CUDA_SUCCESS && side_) result = driver_.cuStreamSynchronize(side_);
  if (result != CUDA_SUCCESS) {
    fail_signals();
    return internal("the device failed with " + driver_.text(result) + " " + log_.pending());
  }
  if (record_copy_->launch != 0) {
    const IdRecord found = *record_copy_;
    const Status cleared = driver_.check(driver_.cuMemsetD8Async(record_, 0, sizeof(IdRecord), native_), "clearing");
    log_.settle();
    return cleared ? Status(log_.wrong_id(found)) : cleared;
  }
  log_.settle();
  return {};
}

}  // namespace baleen::cuda
