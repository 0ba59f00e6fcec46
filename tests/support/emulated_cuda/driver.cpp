/// \file The part of NVIDIA's driver that the plugin calls. What the device is can be set by environment variables:
/// EMULATED_CUDA_VERSION, _DEVICES, _CAPABILITY, _MEMORY and _PINNED (MiB), and _FAULT: the kernel that fails.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fibers.hpp"
#include "streams.hpp"

namespace em = baleen::emulated;

struct CUmod_st {
  void* library = nullptr;
};
struct CUfunc_st {
  std::string name;
  void (*kernel)(const void*) = nullptr;
  std::size_t bytes = 0;
  unsigned most_threads = 0;
  std::uint64_t shared_bytes = 48 << 10;
};
struct CUevent_st {
  std::atomic<bool> done{false};
  std::chrono::steady_clock::time_point time;
};

namespace {

constexpr char kMark[] = "EMULATED";
constexpr int kSharedMost = 227 << 10;

int number(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoi(text) : fallback;
}

CUresult state() { return static_cast<CUresult>(em::failure()); }

/// Bytes in use, and of each allocation.
struct Used {
  std::mutex mutex;
  std::map<CUdeviceptr, std::size_t> blocks;
  std::size_t bytes = 0;
};
Used& used() {
  static Used& one = *new Used;
  return one;
}
std::size_t total_bytes() { return static_cast<std::size_t>(number("EMULATED_CUDA_MEMORY", 1024)) << 20; }

/// Pinned memory of the host; more than EMULATED_CUDA_PINNED MiB there is not.
struct Pinned {
  std::mutex mutex;
  std::map<const void*, std::size_t> blocks;
  std::size_t bytes = 0;
};
Pinned& pinned() {
  static Pinned& one = *new Pinned;
  return one;
}
bool pin(const void* at, std::size_t bytes) {
  const std::lock_guard lock(pinned().mutex);
  const auto most = static_cast<std::size_t>(number("EMULATED_CUDA_PINNED", 1024)) << 20;
  if (!at || pinned().bytes + bytes > most || !pinned().blocks.emplace(at, bytes).second) return false;
  pinned().bytes += bytes;
  return true;
}
bool unpin(const void* at) {
  const std::lock_guard lock(pinned().mutex);
  const auto found = pinned().blocks.find(at);
  if (found == pinned().blocks.end()) return false;
  pinned().bytes -= found->second;
  pinned().blocks.erase(found);
  return true;
}

em::Queue* queue(CUstream stream) { return reinterpret_cast<em::Queue*>(stream); }

void on(CUstream stream, std::function<void()> work) {
  em::enqueue(queue(stream), [work = std::move(work)] {
    const em::Access access;
    work();
  });
}

/// A library that is the bytes of a file. Each needs a name of its own: dlopen knows libraries by their names.
void* open_bytes(const char* bytes, std::size_t size) {
  char path[] = "/tmp/emulated_kernel_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return nullptr;
  const bool written = write(file, bytes, size) == static_cast<ssize_t>(size);
  close(file);
  void* library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path);
  return library;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return number("EMULATED_CUDA_DEVICES", 1) > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDriverGetVersion(int* version) {
  *version = number("EMULATED_CUDA_VERSION", CUDA_VERSION);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
          : error == CUDA_ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
                                              : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an emulated failure";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = number("EMULATED_CUDA_DEVICES", 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "Emulated device", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  const int capability = number("EMULATED_CUDA_CAPABILITY", 90);
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? capability / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? capability % 10
           : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? kSharedMost
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 132  // an H200's
           : which == CU_DEVICE_ATTRIBUTE_CLOCK_RATE                        ? 1'980'000
           : which == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE                 ? 3'201'000
           : which == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH           ? 6144
                                                                            : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = total_bytes();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static int one;
  *context = reinterpret_cast<CUcontext>(&one);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(used().mutex);
  *total = total_bytes();
  *free = *total - std::min(*total, used().bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* at, std::size_t bytes) {
  if (state() != CUDA_SUCCESS) return state();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(used().mutex);
  if (used().bytes + bytes > total_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = reinterpret_cast<CUdeviceptr>(em::allocate(bytes));
  used().blocks[*at] = bytes;
  used().bytes += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr at) {
  const std::lock_guard lock(used().mutex);
  const auto found = used().blocks.find(at);
  if (found == used().blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  used().bytes -= found->second;
  used().blocks.erase(found);
  em::release(reinterpret_cast<void*>(at));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  *at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!pin(*at, bytes)) {
    std::free(*at);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::memset(*at, 0xff, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* at) {
  if (!unpin(at)) return CUDA_ERROR_INVALID_VALUE;
  std::free(at);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void* at, std::size_t bytes, unsigned) {
  return pin(at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemHostUnregister(void* at) { return unpin(at) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; }
CUresult cuMemHostGetDevicePointer(CUdeviceptr* at, void* host, unsigned) {
  *at = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (state() != CUDA_SUCCESS) return state();
  on(stream, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  if (state() != CUDA_SUCCESS) return state();
  on(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(em::make_queue());
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  em::destroy_queue(queue(stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  em::finish(queue(stream));
  return state();
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned) {
  em::enqueue(queue(stream), [=] {
    const auto* word = reinterpret_cast<const std::uint32_t*>(at);
    while (em::failure() == 0 && static_cast<std::int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) < 0)
      usleep(20);
  });
  return state();
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  em::enqueue(queue(stream), [=] { function(data); });
  return state();
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const char* bytes = static_cast<const char*>(image);
  *module = new CUmod_st;
  if (std::memcmp(bytes, kMark, sizeof kMark - 1) != 0) return CUDA_SUCCESS;  // nvcc's: its kernels are in here
  std::uint64_t size = 0;
  std::memcpy(&size, bytes + 8, sizeof size);
  (*module)->library = open_bytes(bytes + 16, size);
  return (*module)->library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* library = module->library ? module->library : dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  const std::string emulated = std::string(name) + "_emulated";
  auto* kernel = reinterpret_cast<void (*)(const void*)>(dlsym(library, emulated.c_str()));
  auto* bytes = reinterpret_cast<unsigned long (*)()>(dlsym(library, (emulated + "_bytes").c_str()));
  auto* threads = reinterpret_cast<unsigned (*)()>(dlsym(library, (emulated + "_threads").c_str()));
  if (!kernel || !bytes || !threads) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{name, kernel, bytes(), threads()};
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  if (value > kSharedMost) return CUDA_ERROR_INVALID_VALUE;
  function->shared_bytes = static_cast<std::uint64_t>(value);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned shared_bytes, CUstream stream, void** parameters, void**) {
  if (state() != CUDA_SUCCESS) return state();
  if (x == 0 || y == 0 || z == 0 || x > 0x7fffffffu || y > 65535 || z > 65535 || threads == 0 ||
      threads > function->most_threads || shared_bytes > function->shared_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> args(function->bytes);
  std::memcpy(args.data(), parameters[0], args.size());
  const char* fault = std::getenv("EMULATED_CUDA_FAULT");
  const bool faulty = fault && function->name == fault;
  on(stream, [=, args = std::move(args)] {
    if (faulty)
      em::fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    else if (!em::run_grid(function->kernel, args.data(), {x, y, z}, threads, shared_bytes))
      em::fail(CUDA_ERROR_LAUNCH_FAILED);
  });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->done = false;
  em::enqueue(queue(stream), [=] {
    event->time = std::chrono::steady_clock::now();
    event->done = true;
  });
  return state();
}
CUresult cuEventSynchronize(CUevent event) {
  while (!event->done && state() == CUDA_SUCCESS) usleep(20);
  return state();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return CUDA_SUCCESS;
}

}  // extern "C"
