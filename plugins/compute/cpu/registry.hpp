/// \file From a region to a kernel.
#pragma once
#include "kernel.hpp"

namespace baleen::cpu {

/// 0 where there is no kernel for the region.
std::uint32_t region_score(const baleen_region_t& region);

/// Builds the kernel of a region; operands whose last dimension is not packed are copied where the kernel needs it so.
Result<std::unique_ptr<Kernel>> make_kernel(const Context& context, const baleen_region_t& region);

}  // namespace baleen::cpu
