/// \file Memory of the device for runs whose results nobody reads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "driver.hpp"

namespace baleen::cuda {

/// Buffers while one lives. At its end it waits for the stream.
class TrialMemory {
 public:
  TrialMemory(const Driver& driver, CUstream stream, std::span<const std::uint64_t> bytes, unsigned char fill)
      : driver_(driver), stream_(stream) {
    for (const std::uint64_t size : bytes) {
      const std::uint64_t at_least = std::max<std::uint64_t>(size, 256);
      CUdeviceptr memory = 0;
      if (driver_.cuMemAlloc(&memory, at_least) != CUDA_SUCCESS) return;
      buffers_.push_back(reinterpret_cast<void*>(memory));
      if (driver_.cuMemsetD8Async(memory, fill, at_least, stream_) != CUDA_SUCCESS) return;
    }
    is_ready_ = true;
  }
  ~TrialMemory() {
    driver_.cuStreamSynchronize(stream_);
    for (void* buffer : buffers_) driver_.cuMemFree(reinterpret_cast<CUdeviceptr>(buffer));
  }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  /// False where the device has too little of it.
  bool is_ready() const { return is_ready_; }
  std::span<void* const> buffers() const { return buffers_; }

 private:
  const Driver& driver_;
  CUstream stream_;
  std::vector<void*> buffers_;
  bool is_ready_ = false;
};

}  // namespace baleen::cuda
