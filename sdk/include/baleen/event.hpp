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
inline std::uint64_t event_value(baleen_event_t& event) { return __atomic_load_n(&event.value, __ATOMIC_ACQUIRE); }

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

namespace detail {

/// `seconds` from now on the monotonic clock.
inline timespec event_deadline(double seconds) {
  timespec deadline{};
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  const auto whole = static_cast<std::int64_t>(seconds);
  deadline.tv_nsec += static_cast<long>((seconds - static_cast<double>(whole)) * 1e9);
  deadline.tv_sec += whole + deadline.tv_nsec / 1'000'000'000;
  deadline.tv_nsec %= 1'000'000'000;
  return deadline;
}

/// Sleeps once, where the value is not reached; false when the deadline (may be null) is over.
inline bool event_sleep_until(baleen_event_t& event, std::uint64_t value, const timespec* deadline) {
  __atomic_fetch_add(&event.waiters, 1, __ATOMIC_SEQ_CST);
  const std::uint64_t now = __atomic_load_n(&event.value, __ATOMIC_SEQ_CST);
  bool in_time = true;
  // The low half of a little-endian counter is what sleeps; it changes with every signal but one in 2^32.
  if (now < value)
    in_time = syscall(SYS_futex, &event.value, FUTEX_WAIT_BITSET, static_cast<std::uint32_t>(now), deadline, nullptr,
                      FUTEX_BITSET_MATCH_ANY) == 0 ||
              errno != ETIMEDOUT;
  __atomic_fetch_sub(&event.waiters, 1, __ATOMIC_RELAXED);
  return in_time;
}

}  // namespace detail

/// Sleeps until the event has reached `value` or `seconds` (not negative) are over. May return earlier, so callers loop.
/// The event may lie in memory that processes share. [any thread]
inline void event_sleep(baleen_event_t& event, std::uint64_t value, double seconds) {
  const timespec deadline = detail::event_deadline(seconds);
  detail::event_sleep_until(event, value, &deadline);
}

/// As above, for two events: until one of them has reached its value.
inline void event_sleep(baleen_event_t& a, std::uint64_t value_a, baleen_event_t& b, std::uint64_t value_b,
                        double seconds) {
  struct Word {  // struct futex_waitv of Linux 5.16, which older headers lack
    std::uint64_t value, address;
    std::uint32_t flags, reserved;
  };
  constexpr long kWaitMany = 449;
  constexpr std::uint32_t kWord32 = 2;
  const timespec deadline = detail::event_deadline(seconds);
  __atomic_fetch_add(&a.waiters, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&b.waiters, 1, __ATOMIC_SEQ_CST);
  const std::uint64_t now_a = __atomic_load_n(&a.value, __ATOMIC_SEQ_CST);
  const std::uint64_t now_b = __atomic_load_n(&b.value, __ATOMIC_SEQ_CST);
  if (now_a < value_a && now_b < value_b) {
    const Word words[] = {{static_cast<std::uint32_t>(now_a), reinterpret_cast<std::uint64_t>(&a.value), kWord32, 0},
                          {static_cast<std::uint32_t>(now_b), reinterpret_cast<std::uint64_t>(&b.value), kWord32, 0}};
    if (syscall(kWaitMany, words, 2, 0, &deadline, CLOCK_MONOTONIC) < 0 && errno != EAGAIN && errno != EINTR &&
        errno != ETIMEDOUT) {
      const timespec nap{0, 500'000};  // a kernel that waits for one word only: look at the other now and then
      syscall(SYS_futex, &a.value, FUTEX_WAIT, static_cast<std::uint32_t>(now_a), &nap, nullptr, 0);
    }
  }
  __atomic_fetch_sub(&b.waiters, 1, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&a.waiters, 1, __ATOMIC_RELAXED);
}

/// Waits until the event has reached `value`: spins for some microseconds, then sleeps. A negative `seconds` waits for
/// ever; otherwise false means that the time is over. [any thread]
inline bool event_wait(baleen_event_t& event, std::uint64_t value, double seconds = -1) {
  constexpr int kSpins = 200;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (event_value(event) >= value) return true;
    event_pause();
  }
  const timespec deadline = detail::event_deadline(seconds < 0 ? 0 : seconds);
  bool in_time = true;
  while (in_time && event_value(event) < value)
    in_time = detail::event_sleep_until(event, value, seconds < 0 ? nullptr : &deadline);
  return event_value(event) >= value;
}

}  // namespace baleen
