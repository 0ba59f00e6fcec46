/// \file How much of the processors processes have used.
#pragma once
#include <sys/resource.h>

namespace baleen::test {

/// In user mode and in the kernel, of RUSAGE_SELF or RUSAGE_CHILDREN (those that were waited for).
inline double processor_seconds(int who) {
  rusage used{};
  getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace baleen::test
