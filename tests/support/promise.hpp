/// \file Promises about time, judged on machines that have other things to do.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

#include "support/lateness.hpp"

namespace baleen::test {

namespace detail {

/// How often a promise may be tried: BALEEN_PROMISE_TRIES, or 3.
inline int promise_tries() {
  const char* text = std::getenv("BALEEN_PROMISE_TRIES");
  if (!text || !*text) return 3;
  const int tries = std::atoi(text);
  if (tries < 1) throw std::runtime_error("BALEEN_PROMISE_TRIES is no number of tries: " + std::string(text));
  return tries;
}

/// Lets a late try be seen though the test may pass: in its properties, on its output, and as a line of the file that
/// BALEEN_TEST_LATE names.
inline void tell_late(double promise, double took, int number) {
  const testing::TestInfo* running = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = running ? std::string(running->test_suite_name()) + "." + running->name() : "no test";
  char line[512];
  const int size = std::snprintf(line, sizeof line, "%s/%s: try %d took %.2f s of %g s\n",
                                 program_invocation_short_name, name.c_str(), number, took, promise);
  std::fputs(line, stdout);
  testing::Test::RecordProperty("late", number);
  const char* path = std::getenv("BALEEN_TEST_LATE");
  if (!path || !*path) return;
  // Whole lines, from whichever test: one write each at the file's end.
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool told = file >= 0 && size > 0 && write(file, line, std::min<std::size_t>(size, sizeof line - 1)) > 0;
  if (file >= 0) close(file);
  EXPECT_TRUE(told) << "cannot append to " << path;
}

}  // namespace detail

/// Calls `once`, which returns how many seconds something took, until that was within the promise. A busy machine
/// delays one or another; what was promised in vain is late every time. Late tries are told of, and up to four do not
/// count in which the machine let even a sleeping thread wait: launchers are patient on such a machine. Nothing may
/// take longer than `hangs`.
inline void expect_kept(double promise, const std::function<double()>& once, double hangs = 60) {
  constexpr double kDisturbed = 0.1;
  int tries = detail::promise_tries(), more = 4;
  std::string late;
  for (int number = 1; number <= tries; ++number) {
    Lateness machine;
    const double took = once(), waited = machine.end();
    if (testing::Test::HasFailure() || testing::Test::IsSkipped()) return;
    std::printf("%.2f s of %g that are promised\n", took, promise);
    if (took < promise) return;
    detail::tell_late(promise, took, number);
    ASSERT_LT(took, hangs) << "it hangs";
    late += " " + std::to_string(took) + " s";
    if (waited < kDisturbed || more == 0) continue;
    late += " (the machine woke a sleeping thread " + std::to_string(waited) + " s late)";
    --more;
    ++tries;
  }
  ADD_FAILURE() << "promised within " << promise << " s, it took" << late;
}
template <class Rep, class Period>
void expect_kept(std::chrono::duration<Rep, Period> promise, const std::function<double()>& once) {
  expect_kept(std::chrono::duration<double>(promise).count(), once);
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace baleen::test
