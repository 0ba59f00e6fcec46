/// \file Looks the driver's functions up.
#include "driver.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace baleen::ucx_double {
namespace {

/// Null where nobody has loaded a driver yet.
void* driver() {
  static std::atomic<void*> found{nullptr};
  if (!found) found = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  return found;
}
template <class Function>
Function* find(const char* name) {
  return driver() ? reinterpret_cast<Function*>(dlsym(driver(), name)) : nullptr;
}

}  // namespace

bool is_device_memory(const void* at) {
  const auto attribute = find<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
  unsigned type = 0;
  return attribute && attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(at)) == 0 &&
         type == CU_MEMORYTYPE_DEVICE;
}

bool has_context() {
  const auto device_of = find<decltype(cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice device = 0;
  return device_of && device_of(&device) == CUDA_SUCCESS;
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  static std::mutex mutex;
  static CUstream stream = nullptr;
  const std::lock_guard lock(mutex);
  if (!stream) find<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING);
  find<decltype(cuMemcpyAsync)>("cuMemcpyAsync")(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
                                                 bytes, stream);
  find<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream);
}

}  // namespace baleen::ucx_double
