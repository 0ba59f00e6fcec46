/// \file From a region to a kernel.
#pragma once
#include "kernel.hpp"

namespace baleen::cuda {

/// 0 where there is no kernel for the region.
std::uint32_t region_score(const DeviceLimits& limits, const baleen_region_t& region);

Result<std::unique_ptr<Kernel>> make_kernel(const Context& context, const baleen_region_t& region);

}  // namespace baleen::cuda
