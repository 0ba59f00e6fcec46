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
inline std::uint64_t event_value(const baleen_event_t& event) {
  return __atomic_load_n(&event.word, __ATOMIC_ACQUIRE) >> 1;
}

/// Raises the event to `value` (release) and wakes all who wait. A lower value than the present one changes nothing.
/// [any thread]
inline void event_signal(baleen_event_t& event, std::uint64_t value) {
  std::uint64_t now = __atomic_load_n(&event.word, __ATOMIC_RELAXED);
  do {
    if (now >> 1 >= value) return;
  } while (!__atomic_compare_exchange_n(&event.word, &now, value << 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  // From here on the event may be gone; an address alone does no harm.
  if (now & 1) syscall(SYS_futex, &event.word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Tells the processor that this thread spins.
inline void event_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

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

/// The first half of falling asleep: whoever raises the event from now on wakes the sleeper. The caller looks once more
/// at what it waits for and then sleeps with the word that this returns. [any thread]
inline std::uint64_t event_prepare_sleep(baleen_event_t& event) {
  return __atomic_fetch_or(&event.word, 1, __ATOMIC_SEQ_CST) | 1;
}

/// The second half: sleeps until the event is raised, the deadline is over (then false) or for no reason. The event may
/// lie in memory that processes share. A null deadline is never over.
inline bool event_sleep(const baleen_event_t& event, std::uint64_t word, const timespec* deadline) {
  // The low half of a little-endian counter is what sleeps; it changes with every signal but one in 2^31.
  return syscall(SYS_futex, &event.word, FUTEX_WAIT_BITSET, static_cast<std::uint32_t>(word), deadline, nullptr,
                 FUTEX_BITSET_MATCH_ANY) == 0 ||
         errno != ETIMEDOUT;
}

/// As above, until one of two events is raised.
inline void event_sleep(const baleen_event_t& a, std::uint64_t word_a, const baleen_event_t& b, std::uint64_t word_b,
                        const timespec* deadline) {
  struct Word {  // struct futex_waitv of Linux 5.16, which older headers lack
    std::uint64_t value, address;
    std::uint32_t flags, reserved;
  };
  constexpr long kWaitMany = 449;
  constexpr std::uint32_t kWord32 = 2;
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const Word words[] = {{low(word_a), reinterpret_cast<std::uint64_t>(&a.word), kWord32, 0},
                        {low(word_b), reinterpret_cast<std::uint64_t>(&b.word), kWord32, 0}};
  if (syscall(kWaitMany, words, 2, 0, deadline, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN || errno == EINTR ||
      errno == ETIMEDOUT)
    return;
  const timespec nap{0, 500'000};  // a kernel that waits for one word only: look at the other now and then
  syscall(SYS_futex, &a.word, FUTEX_WAIT, low(word_a), &nap, nullptr, 0);
}

/// Waits until the event has reached `value`: spins for some microseconds, then sleeps. A negative `seconds` waits for
/// ever; otherwise false means that the time is over. [any thread]
inline bool event_wait(baleen_event_t& event, std::uint64_t value, double seconds = -1) {
  constexpr int kSpins = 200;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (event_value(event) >= value) return true;
    event_pause();
  }
  const timespec deadline = event_deadline(seconds < 0 ? 0 : seconds);
  while (true) {
    const std::uint64_t word = event_prepare_sleep(event);
    if (word >> 1 >= value) return true;
    if (!event_sleep(event, word, seconds < 0 ? nullptr : &deadline)) return event_value(event) >= value;
  }
}

}  // namespace baleen
