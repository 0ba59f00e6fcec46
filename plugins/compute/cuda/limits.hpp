/// \file What a CUDA device is and does at most, from the driver's attributes and NVIDIA's tables.
#pragma once
#include "baleen/compute.h"
#include "baleen/plugin.hpp"
#include "driver.hpp"
#include "geometry.hpp"

namespace baleen::cuda {

/// All but the free memory. Peaks: of dense products; 0 for architectures that are not known here.
Status describe_device(const Driver& driver, CUdevice device, baleen_device_limits_t& out);

/// What kernels may use of a device. Fails for one that is too old, or that is not of the option `architecture`.
Result<DeviceLimits> kernel_limits(const Driver& driver, CUdevice device, const std::string& name,
                                   const Settings& settings);

/// As describe_device, of a device by its number, with the free memory, for which the device is started for a moment.
Status describe_stopped(const Driver& driver, int index, baleen_device_limits_t& out);

}  // namespace baleen::cuda
