/// \file Enqueueing.
#include "kernel.hpp"

namespace baleen::cuda {

Status Launch::enqueue(CUfunction function, const Geometry& geometry, const void* args) const {
  if (geometry.empty()) return {};
  void* parameters[] = {const_cast<void*>(args)};  // the driver copies; its interface is not const
  const CUresult result =
      driver.cuLaunchKernel(function, static_cast<unsigned>(geometry.blocks), static_cast<unsigned>(geometry.blocks_y),
                            static_cast<unsigned>(geometry.blocks_z), geometry.threads, 1, 1,
                            static_cast<unsigned>(geometry.shared_bytes), stream, parameters, nullptr);
  return driver.check(result, "launching a kernel");
}

}  // namespace baleen::cuda
