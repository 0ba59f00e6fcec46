/// \file Events in C++: signal and wait on the counter of event.h by atomics and a futex. By the compilers' builtins:
/// libc++ 14 has no std::atomic_ref.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

#include "baleen/event.h"

namespace baleen {

/// The event's value now (acquire): what was written before the signal of that value is visible.
inline std::uint64_t event_value(baleen_event_t& event) {
  return __atomic_load_n(&event.value, __ATOMIC_ACQUIRE);
}

/// Raises the event to `value` (release) and wakes all who wait. A lower value than the present one changes nothing.
/// [any thread]
inline void event_signal(baleen_event_t& event, std::uint64_t value) {
  std::uint64_t now = __atomic_load_n(&event.value, __ATOMIC_RELAXED);
  while (now < value &&
         !__atomic_compare_exchange_n(&event.value, &now, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  if (__atomic_load_n(&event.waiters, __ATOMIC_SEQ_CST) != 0)
    syscall(SYS_futex, &event.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Tells the processor that this thread spins.
inline void event_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until the event has reached `value`: spins for some microseconds, then sleeps. A negative `seconds` waits for
/// ever; otherwise false means that the time is over. [any thread]
inline bool event_wait(baleen_event_t& event, std::uint64_t value, double seconds = -1) {
  constexpr int kSpins = 2000;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (event_value(event) >= value) return true;
    event_pause();
  }
  timespec deadline{};
  if (seconds >= 0) {
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    const auto whole = static_cast<std::int64_t>(seconds);
    deadline.tv_nsec += static_cast<long>((seconds - static_cast<double>(whole)) * 1e9);
    deadline.tv_sec += whole + deadline.tv_nsec / 1'000'000'000;
    deadline.tv_nsec %= 1'000'000'000;
  }
  __atomic_fetch_add(&event.waiters, 1, __ATOMIC_SEQ_CST);
  bool reached = false;
  while (true) {
    const std::uint64_t now = __atomic_load_n(&event.value, __ATOMIC_SEQ_CST);
    reached = now >= value;
    if (reached) break;
    // The low half of a little-endian counter is what sleeps; it changes with every signal but one in 2^32.
    const long slept = syscall(SYS_futex, &event.value, FUTEX_WAIT_BITSET, static_cast<std::uint32_t>(now),
                               seconds >= 0 ? &deadline : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (slept != 0 && errno == ETIMEDOUT) {
      reached = event_value(event) >= value;
      break;
    }
  }
  __atomic_fetch_sub(&event.waiters, 1, __ATOMIC_RELAXED);
  return reached;
}

}  // namespace baleen
