/// \file The emulated CUDA driver as far as this process has loaded it.
#pragma once
#include <cstddef>

namespace baleen::ucx_double {

/// Whether an address is memory of a device's.
bool is_device_memory(const void* at);
/// Whether this thread has a current context.
bool has_context();
/// Copies on a stream of the device's, and waits. One side is a device's memory.
void copy(void* to, const void* from, std::size_t bytes);

}  // namespace baleen::ucx_double
