/// \file What the device does at most just now.
#pragma once
#include "kernel.hpp"

namespace baleen::cuda {

struct Peak {
  double flops_per_second = 0, bytes_per_second = 0;
};

/// Takes some tens of milliseconds and 256 MiB of the device's memory.
Result<Peak> measure_peak(const Context& context, CUstream stream);

}  // namespace baleen::cuda
