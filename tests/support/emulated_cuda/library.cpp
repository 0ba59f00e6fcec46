/// \file What the real cuDNN asks of a driver when it makes plans for a described device: it compiles its kernels and
/// has them loaded. They are taken and never run.
#include <cstddef>

namespace {

int object;

int give(void** out) {
  *out = &object;
  return 0;
}

}  // namespace

// The driver's own names, without the versions that its header gives some of them.
extern "C" {

int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  return give(library);
}
int cuLibraryLoadFromFile(void** library, const char*, void*, void*, unsigned, void*, void*, unsigned) {
  return give(library);
}
int cuLibraryGetKernel(void** kernel, void*, const char*) { return give(kernel); }
int cuLibraryUnload(void*) { return 0; }
int cuKernelGetFunction(void** function, void*) { return give(function); }
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return 0;
}
int cuKernelSetAttribute(int, int, void*, int) { return 0; }
int cuCtxGetCurrent(void** context) { return give(context); }
int cuCtxPopCurrent(void** context) { return give(context); }
int cuCtxPushCurrent(void*) { return 0; }
int cuCtxGetLimit(std::size_t* value, int) {
  *value = 0;
  return 0;
}
int cuStreamGetCtx(void*, void** context) { return give(context); }
int cuOccupancyMaxPotentialClusterSize(int* size, void*, const void*) {
  *size = 1;
  return 0;
}

// Asked for, and not needed to make a plan: 801 is CUDA_ERROR_NOT_SUPPORTED.
int cuModuleLoadDataEx(void**, const void*, unsigned, void*, void**) { return 801; }
int cuLinkCreate(unsigned, void*, void**, void**) { return 801; }
int cuLinkAddData(void*, int, void*, std::size_t, const char*, unsigned, void*, void**) { return 801; }
int cuLinkComplete(void*, void**, std::size_t*) { return 801; }
int cuLinkDestroy(void*) { return 801; }
int cuLaunchKernelEx(const void*, void*, void**, void**) { return 801; }
int cuLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                              void**) {
  return 801;
}

}  // extern "C"
