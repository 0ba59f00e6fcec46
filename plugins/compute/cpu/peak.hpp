/// \file How fast this processor computes and moves bytes at most, measured when asked.
#pragma once
#include "kernel.hpp"

namespace baleen::cpu {

struct Peak {
  double flops_per_second = 0, bytes_per_second = 0;
};

/// The best of some runs on all threads of the context, about a quarter of a second. Needs 128 MiB for that time.
Peak measure_peak(const Context& context);

}  // namespace baleen::cpu
