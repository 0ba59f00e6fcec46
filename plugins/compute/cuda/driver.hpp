/// \file NVIDIA's driver as a table of functions; libcuda is never linked.
#pragma once
#include <cuda.h>

#include "library.hpp"

namespace baleen::cuda {

// By hand: clang-format would make stairs of the list.
// clang-format off
#define BALEEN_DRIVER_FUNCTIONS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuDeviceGet) \
  X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) \
  X(cuMemFreeHost) X(cuMemHostGetDevicePointer) X(cuMemcpyAsync) X(cuMemsetD8Async) X(cuStreamCreate) \
  X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuStreamWaitValue32) X(cuLaunchHostFunc) \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncLoad) X(cuFuncSetAttribute) X(cuLaunchKernel) \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventElapsedTime) X(cuEventSynchronize) \
  X(cuMemHostRegister) X(cuMemHostUnregister) X(cuStreamBeginCapture) X(cuStreamEndCapture) \
  X(cuStreamGetCaptureInfo) X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphExecKernelNodeSetParams) \
  X(cuGraphExecDestroy) X(cuGraphDestroy)
// clang-format on

/// The functions in use.
struct Driver {
  BALEEN_DRIVER_FUNCTIONS(BALEEN_DECLARE_SYMBOL)

  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string text(CUresult result) const;
  /// A module's kernel, on the device already: a launch that loads one may wait for all streams, some of which wait for
  /// the host. Null where the module has none of that name.
  Result<CUfunction> function(CUmodule module, const char* name) const;
  /// OK, or an error that says what was being done.
  Status check(CUresult result, const char* doing) const;
};

/// Opens the driver and starts it. Says in one line where there is none, where it is too old, or why it refuses.
Result<Driver> open_driver(const std::vector<std::string>& folders);

/// For plans: no library is opened; modules and their functions are there, and nothing can be launched.
Driver planning_driver();

/// "13.0" of 13000.
std::string version_text(int version);

}  // namespace baleen::cuda
