/// \file The part of NVIDIA's driver that the plugin calls. What the device is can be set by environment variables:
/// EMULATED_CUDA_VERSION, _DEVICES, _CAPABILITY, _MEMORY and _PINNED (MiB), _FAULT: the kernel that fails, and
/// _GRAPHS: 0 where nothing can be captured.
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver_parts.hpp"

namespace em = baleen::emulated;
using em::forbidden, em::kSharedMost, em::number, em::on, em::queue, em::state;

struct CUevent_st {
  /// Who waits means the record of then, whatever comes later.
  struct Record {
    std::atomic<bool> done{false};
    std::chrono::steady_clock::time_point time;
    std::shared_ptr<em::Captured> captured;  ///< where it was recorded in one
    em::Queue* queue = nullptr;
    std::size_t position = 0;  ///< works of the capture before it
  };
  std::shared_ptr<Record> last = std::make_shared<Record>();
};

namespace {

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

bool is_on_device(CUdeviceptr at) {
  const std::lock_guard lock(used().mutex);
  auto found = used().blocks.upper_bound(at);
  if (found == used().blocks.begin()) return false;
  --found;
  return at < found->first + found->second;
}

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

/// The address of a device's byte is its context.
constexpr int kMostDevices = 64;
const char* contexts() {
  static const char one_each[kMostDevices]{};
  return one_each;
}
CUcontext& current() {
  static thread_local CUcontext context = nullptr;
  return context;
}

/// Streams that wait for a word of the host's memory, by the device.
std::atomic<int>& parked(CUcontext context) {
  static std::atomic<int> counts[kMostDevices + 1]{};
  return counts[context ? reinterpret_cast<const char*>(context) - contexts() : kMostDevices];
}

/// Whether host functions are to wait.
std::atomic<bool>& host_is_held() {
  static std::atomic<bool> held{false};
  return held;
}

}  // namespace

/// For tests: host functions wait from now on, or no more.
extern "C" __attribute__((visibility("default"))) void baleen_emulated_hold_host_functions(int held) {
  host_is_held() = held != 0;
}

/// For what waits for all of a device's streams.
extern "C" __attribute__((visibility("default"))) int baleen_emulated_parked_streams(int device) {
  return parked(reinterpret_cast<CUcontext>(const_cast<char*>(contexts() + device)));
}

extern "C" {

CUresult cuInit(unsigned) {
  const char* const queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  em::tell("EMULATED_CUDA_INIT", queues ? queues : "as the driver likes");
  return number("EMULATED_CUDA_DEVICES", 1) > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
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
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
           : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
               ? number("EMULATED_CUDA_SHARED", kSharedMost)
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT    ? 132  // an H200's
           : which == CU_DEVICE_ATTRIBUTE_CLOCK_RATE              ? 1'980'000
           : which == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE       ? 3'201'000
           : which == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ? 6144
                                                                  : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = total_bytes();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "emulated %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(const_cast<char*>(&contexts()[device % kMostDevices]));
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  current() = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = static_cast<CUdevice>(reinterpret_cast<const char*>(current()) - contexts());
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(used().mutex);
  *total = total_bytes();
  *free = *total - std::min(*total, used().bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* at, std::size_t bytes) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(used().mutex);
  const auto found = used().blocks.find(at);
  if (found == used().blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  used().bytes -= found->second;
  used().blocks.erase(found);
  em::release(reinterpret_cast<void*>(at));
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr at) {
  if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !is_on_device(at)) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
  if (std::getenv("EMULATED_CUDA_COPIES") && is_on_device(to) != is_on_device(from))
    em::tell("EMULATED_CUDA_COPIES", (is_on_device(to) ? "in " : "out ") + std::to_string(bytes));
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
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  em::finish(queue(stream));
  em::tell("EMULATED_CUDA_WAITS", "a stream was waited for");
  return state();
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  em::enqueue(queue(stream), [=, &waiting = parked(current())] {
    em::drop_access();
    ++waiting;
    const auto* word = reinterpret_cast<const std::uint32_t*>(at);
    useconds_t pause = 20;  // nobody tells when memory of the host is written
    for (; em::failure() == 0 && static_cast<std::int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) < 0;
         pause = std::min<useconds_t>(2 * pause, 160))
      usleep(pause);
    --waiting;
  });
  return state();
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  em::enqueue(queue(stream), [=] {
    em::drop_access();
    while (host_is_held() && em::failure() == 0) usleep(20);
    function(data);
  });
  return state();
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
  event->last = std::make_shared<CUevent_st::Record>();
  event->last->captured = em::captured(queue(stream));
  event->last->queue = queue(stream);
  if (event->last->captured) {
    event->last->position = event->last->captured->works.size();
    return CUDA_SUCCESS;
  }
  em::enqueue(queue(stream), [record = event->last] {
    record->time = std::chrono::steady_clock::now();
    em::change([&] { record->done = true; });
  });
  return state();
}
CUresult cuEventSynchronize(CUevent event) {
  em::wait_until([record = event->last] { return record->done.load(); });
  return state();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->last->time - begin->last->time).count();
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const std::shared_ptr<CUevent_st::Record> record = event->last;
  if (!record->queue) return CUDA_SUCCESS;  // nothing was recorded
  const auto captured = em::captured(queue(stream));
  if (!record->captured && captured) {
    captured->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!record->captured) {
    em::enqueue(queue(stream), [=] {
      if (record->done) return;
      em::drop_access();
      em::wait_until([&] { return record->done.load(); });
    });
    return state();
  }
  if (record->captured->ended) return CUDA_ERROR_CAPTURED_EVENT;
  if (captured && captured != record->captured) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  if (!captured) em::join_capture(queue(stream), record->captured);
  const auto from = record->captured->joined.find(record->queue);
  if (from != record->captured->joined.end() && from->second <= record->position)
    record->captured->open.erase(record->queue);
  return CUDA_SUCCESS;
}

}  // extern "C"
