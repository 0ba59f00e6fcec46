/// \file What a CUDA device is and does at most, from the driver's attributes and NVIDIA's tables.
#pragma once
#include "baleen/compute.h"
#include "driver.hpp"

namespace baleen::cuda {

/// All but the free memory. Peaks: of dense products; 0 for architectures that are not known here.
Status describe_device(const Driver& driver, CUdevice device, baleen_device_limits_t& out);

}  // namespace baleen::cuda
