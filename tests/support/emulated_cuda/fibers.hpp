/// \file A block of CUDA threads as fibers of the calling thread.
#pragma once
#include <cstdint>

#include "emulated_device.hpp"

namespace baleen::emulated {

struct Dimensions {
  unsigned x = 1, y = 1, z = 1;
};

/// Calls `kernel(args)` once per thread of every block, blocks one after the other. Shared memory, asked for or
/// declared, is filled with NaN bytes before each. False where threads wait at a barrier that the others do not reach.
bool run_grid(void (*kernel)(const void*), const void* args, Dimensions grid, unsigned threads,
              std::uint64_t shared_bytes);

}  // namespace baleen::emulated
