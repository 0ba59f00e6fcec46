/// \file Memory of NCCL's, registered memory and windows: who registers what, and what goes too early.
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "handles.hpp"

namespace em = baleen::nccl_double;
using namespace baleen::nccl;

namespace {

struct Use {
  Comm comm = nullptr;
  std::uintptr_t base = 0;
  bool is_window = false;
};

struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> blocks;  ///< from ncclMemAlloc
  std::map<void*, Use> uses;                     ///< by handle

  /// The block that holds all of a stretch; with the lock.
  bool holds(std::uintptr_t at, std::size_t bytes) const {
    auto found = blocks.upper_bound(at);
    if (found == blocks.begin()) return false;
    --found;
    return at + bytes <= found->first + found->second;
  }
  void* add(const Use& use) {
    void* const handle = new char;
    uses.emplace(handle, use);
    return handle;
  }
};
Memory& memory() {
  static Memory& one = *new Memory;
  return one;
}

/// A registration or window that is to end; false: there is none such.
bool end_use(Comm comm, void* handle, bool is_window) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().uses.find(handle);
  if (found == memory().uses.end() || found->second.comm != comm || found->second.is_window != is_window) return false;
  memory().uses.erase(found);
  delete static_cast<char*>(handle);
  return true;
}

/// Not zero, as on a device.
void soil(CUdeviceptr at, std::size_t size) {
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuMemsetD8Async(at, 0x5a, size, stream);
  cuStreamDestroy(stream);
}

}  // namespace

std::size_t em::forget_memory_of(Comm comm) {
  const std::lock_guard lock(memory().mutex);
  std::size_t windows = 0;
  for (auto use = memory().uses.begin(); use != memory().uses.end();) {
    if (use->second.comm != comm) {
      ++use;
      continue;
    }
    windows += use->second.is_window ? 1 : 0;
    delete static_cast<char*>(use->first);
    use = memory().uses.erase(use);
  }
  return windows;
}

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
DOUBLE_EXPORT Code ncclMemAlloc(void** at, std::size_t size) {
  if (!at || size == 0) return em::refuse(kInvalidArgument, "ncclMemAlloc: no bytes, or no place for the address");
  *at = nullptr;
  if (em::current_device().empty())
    return em::refuse(kUnhandledCudaError, "ncclMemAlloc: no device is current on this thread");
  CUdeviceptr base = 0;
  if (em::is_to_fail("NCCL_DOUBLE_FAIL", "ncclMemAlloc") || cuMemAlloc(&base, size) != CUDA_SUCCESS)
    return em::refuse(kUnhandledCudaError, "ncclMemAlloc: out of memory");
  soil(base, size);
  const std::lock_guard lock(memory().mutex);
  memory().blocks.emplace(base, size);
  *at = reinterpret_cast<void*>(base);
  return kSuccess;
}

DOUBLE_EXPORT Code ncclMemFree(void* at) {
  const auto base = reinterpret_cast<std::uintptr_t>(at);
  {
    const std::lock_guard lock(memory().mutex);
    if (memory().blocks.count(base) == 0) return em::refuse(kInvalidArgument, "ncclMemFree: not from ncclMemAlloc");
    for (const auto& [handle, use] : memory().uses)
      if (use.base == base) return em::refuse(kInvalidUsage, "ncclMemFree: the memory is still registered");
    memory().blocks.erase(base);
  }
  return cuMemFree(base) == CUDA_SUCCESS ? kSuccess : kUnhandledCudaError;
}

DOUBLE_EXPORT Code ncclCommRegister(Comm comm, void* buffer, std::size_t size, void** handle) {
  const auto one = em::find(comm);
  if (!one || !buffer || size == 0 || !handle) return em::refuse(kInvalidArgument, "ncclCommRegister: no buffer");
  em::log_line(one->rank, "registers memory");
  const std::lock_guard lock(memory().mutex);
  *handle = memory().add({comm, reinterpret_cast<std::uintptr_t>(buffer), false});
  return kSuccess;
}
DOUBLE_EXPORT Code ncclCommDeregister(Comm comm, void* handle) {
  if (!em::find(comm) || !end_use(comm, handle, false))
    return em::refuse(kInvalidArgument, "ncclCommDeregister: no handle");
  return kSuccess;
}

// As NCCL: that it returns success means no more than that the window is to come.
DOUBLE_EXPORT Code ncclCommWindowRegister(Comm comm, void* buffer, std::size_t size, Window* window, int flags) {
  const auto one = em::find(comm);
  if (!one || !window) return em::refuse(kInvalidArgument, "ncclCommWindowRegister: no communicator, or no window");
  *window = nullptr;
  if (!buffer || size == 0 || (flags & ~kSymmetric) != 0)
    return em::refuse(kInvalidArgument, "ncclCommWindowRegister: no buffer, or no such flags");
  if (em::is_to_fail("NCCL_DOUBLE_FAIL", "ncclCommWindowRegister"))
    return em::refuse(kSystemError, "ncclCommWindowRegister was failed by NCCL_DOUBLE_FAIL");
  if (!one->is_ready())
    return em::refuse(kInvalidUsage, "ncclCommWindowRegister: the communicator is still in progress");
  if (const char* none = std::getenv("NCCL_DOUBLE_WINDOWS"); none && *none == '0') return kSuccess;
  const auto base = reinterpret_cast<std::uintptr_t>(buffer);
  void* handle = nullptr;
  {
    const std::lock_guard lock(memory().mutex);
    if (!memory().holds(base, size))
      return em::refuse(kInvalidArgument, "ncclCommWindowRegister: the memory is not from ncclMemAlloc");
    for (const auto& [known, use] : memory().uses)
      if (use.is_window && use.comm == comm && use.base == base)
        return em::refuse(kInvalidUsage, "ncclCommWindowRegister: the memory is a window already");
    handle = memory().add({comm, base, true});
  }
  em::log_line(one->rank, "window of " + std::to_string(size));
  one->share({base, size, handle, window});
  return kSuccess;
}
DOUBLE_EXPORT Code ncclCommWindowDeregister(Comm comm, Window window) {
  const auto one = em::find(comm);
  if (!one) return em::refuse(kInvalidArgument, "ncclCommWindowDeregister: not a communicator");
  if (!window) return kSuccess;
  if (!end_use(comm, window, true)) return em::refuse(kInvalidArgument, "ncclCommWindowDeregister: no such window");
  em::log_line(one->rank, "a window ends");
  one->end_window(window);
  return kSuccess;
}
// NOLINTEND(readability-identifier-naming)
