/// \file What every text that NVRTC compiles may use: how a kernel is declared, shared memory, 16-bit elements, random
/// bits. It needs no headers.
#pragma once

namespace baleen::cuda {

extern const char kKernelPrelude[];

}  // namespace baleen::cuda
