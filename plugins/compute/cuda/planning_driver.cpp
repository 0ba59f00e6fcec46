/// \file What compiling kernels asks of a driver, answered without one.
#include "driver.hpp"

namespace baleen::cuda {
namespace {

/// Stands for every module and function.
int object;

}  // namespace

Driver planning_driver() {
  Driver driver;
  driver.cuGetErrorName = [](CUresult, const char** name) {
    *name = "no error of a driver";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = driver.cuGetErrorName;
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuModuleLoadData = [](CUmodule* module, const void*) {
    *module = reinterpret_cast<CUmodule>(&object);
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char*) {
    *function = reinterpret_cast<CUfunction>(&object);
    return CUDA_SUCCESS;
  };
  driver.cuFuncLoad = [](CUfunction) { return CUDA_SUCCESS; };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  return driver;
}

}  // namespace baleen::cuda
