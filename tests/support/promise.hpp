/// \file Promises about time, judged on machines that have other things to do.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

namespace baleen::test {

/// Calls `once`, which returns how many seconds something took, until that was within the promise. A busy machine
/// delays one or another; what was promised in vain is late three times out of three. Nothing may take longer than
/// `hangs`.
inline void expect_kept(double promise, const std::function<double()>& once, double hangs = 60) {
  constexpr int kTries = 3;
  std::string late;
  for (int tries = 0; tries < kTries; ++tries) {
    const double took = once();
    if (testing::Test::HasFailure() || testing::Test::IsSkipped()) return;
    std::printf("%.2f s of %g that are promised\n", took, promise);
    if (took < promise) return;
    ASSERT_LT(took, hangs) << "it hangs";
    late += " " + std::to_string(took) + " s";
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
