/// \file Opening by dlopen, and what to say where that fails.
#include "library.hpp"

#include <dlfcn.h>

#include "baleen/environment.hpp"

namespace baleen::nccl {
namespace {

constexpr const char* kRemedy = "; or choose the transport `shm` (one host) or `ucx`, which need none";

/// Never closed: NCCL's threads and exit handlers would not survive it.
Result<void*> open_library(const std::string& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* why = dlerror();
  std::string reason = why ? why : path + " cannot be opened";
  if (path.find('/') == path.npos)
    for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
      if (void* handle = dlopen((folder + path).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return Error{BALEEN_NOT_FOUND, std::move(reason), {}};
}

template <class Function>
void find(void* library, const char* name, Function& out, std::string* missing) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (!out && missing) *missing += (missing->empty() ? "" : ", ") + std::string(name);
}

}  // namespace

std::string version_text(int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

Result<Functions> open_nccl(const std::string& path) {
  auto opened = open_library(path);
  if (!opened)
    return Error{
        BALEEN_NOT_FOUND,
        "there is no NCCL on this machine (" + opened.error().message + "); install NCCL " +
            version_text(kOldestVersion) +
            " or later (NVIDIA's package libnccl2, or Debian's, in non-free), or say where it lies by `library`" +
            kRemedy,
        {}};
  Functions table;
  std::string missing;
  find(*opened, "ncclGetVersion", table.ncclGetVersion, nullptr);
  if (!table.ncclGetVersion || table.ncclGetVersion(&table.version) != kSuccess)
    return Error{BALEEN_NOT_FOUND, "the library " + path + " is not NCCL: it does not tell its version", {}};
  if (table.version < kOldestVersion)
    return unsupported("NCCL " + version_text(table.version) + " is too old: this plugin needs " +
                       version_text(kOldestVersion) + " or later; update the package libnccl2" + kRemedy);
#define BALEEN_NCCL_FIND(name, result, arguments) find(*opened, #name, table.name, &missing);
  BALEEN_NCCL_FUNCTIONS(BALEEN_NCCL_FIND)
#undef BALEEN_NCCL_FIND
#define BALEEN_NCCL_FIND(name, result, arguments) find(*opened, #name, table.name, nullptr);
  if (table.version >= kMemorySince) {
    BALEEN_NCCL_FUNCTIONS_SINCE_219(BALEEN_NCCL_FIND)
  }
  if (table.version >= kWindowsSince) {
    BALEEN_NCCL_FUNCTIONS_SINCE_227(BALEEN_NCCL_FIND)
  }
  if (table.version >= kCopyEnginesSince) {
    BALEEN_NCCL_FUNCTIONS_SINCE_228(BALEEN_NCCL_FIND)
  }
#undef BALEEN_NCCL_FIND
  find(*opened, "baleen_nccl_double_label", table.label, nullptr);
  if (!missing.empty())
    return unsupported("NCCL " + version_text(table.version) + " in " + path + " lacks " + missing +
                       "; install NVIDIA's package libnccl2" + kRemedy);
  return table;
}

std::string failure_text(const Functions& nccl, const char* call, Code code, Comm comm) {
  const char *meaning = nccl.ncclGetErrorString(code), *last = comm ? nccl.ncclGetLastError(comm) : nullptr;
  std::string text = std::string(call) + " failed: " + (meaning ? meaning : "error " + std::to_string(code));
  if (last && *last) text += " (" + std::string(last) + ")";
  return text;
}

Result<std::string> Driver::current_device() const {
  int device = 0;
  std::array<char, 16> uuid{};
  if (const int code = cuCtxGetDevice(&device); code != 0)
    return internal("no CUDA device is current (CUDA error " + std::to_string(code) + ")");
  if (const int code = cuDeviceGetUuid_v2(&uuid, device); code != 0)
    return internal("the device does not tell its identity (CUDA error " + std::to_string(code) + ")");
  std::string text;
  for (const char byte : uuid)
    for (const int digit : {(byte >> 4) & 15, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

bool Driver::is_device_memory(const void* at) const {
  constexpr int kMemoryType = 2;     // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  constexpr unsigned kOfDevice = 2;  // CU_MEMORYTYPE_DEVICE
  unsigned type = 0;
  return cuPointerGetAttribute(&type, kMemoryType, reinterpret_cast<std::uint64_t>(at)) == 0 && type == kOfDevice;
}

Result<Driver> open_driver(const std::string& path) {
  auto opened = open_library(path);
  if (!opened)
    return Error{BALEEN_NOT_FOUND,
                 "nccl joins GPUs, and there is no CUDA driver on this machine (" + opened.error().message +
                     "); install NVIDIA's driver" + kRemedy,
                 {}};
  Driver table;
  std::string missing;
  find(*opened, "cuInit", table.cuInit, &missing);
  find(*opened, "cuDeviceGetCount", table.cuDeviceGetCount, &missing);
  find(*opened, "cuCtxGetDevice", table.cuCtxGetDevice, &missing);
  find(*opened, "cuDeviceGetUuid_v2", table.cuDeviceGetUuid_v2, &missing);
  find(*opened, "cuPointerGetAttribute", table.cuPointerGetAttribute, &missing);
  if (!missing.empty())
    return unsupported("the CUDA driver " + path + " lacks " + missing + "; update NVIDIA's driver");
  sdk::set_where_unset("CUDA_DEVICE_MAX_CONNECTIONS", "32");  // a stream waits for its peer, and shall hold up no other
  int devices = 0;
  const int started = table.cuInit(0);
  if (started != 0 || table.cuDeviceGetCount(&devices) != 0 || devices == 0)
    return Error{BALEEN_NOT_FOUND,
                 std::string("nccl joins GPUs, and this machine has none that the CUDA driver can use") +
                     (started == 0 ? "" : " (CUDA error " + std::to_string(started) + ")") + kRemedy,
                 {}};
  return table;
}

}  // namespace baleen::nccl
