/// \file Modules, launches and graphs of the emulated driver.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "driver_parts.hpp"
#include "fibers.hpp"

namespace em = baleen::emulated;
using em::forbidden, em::number, em::on, em::queue, em::state;

struct CUmod_st {
  void* library = nullptr;
};
struct CUfunc_st {
  std::string name;
  void (*kernel)(const void*) = nullptr;
  std::size_t bytes = 0;
  unsigned most_threads = 0;
  std::uint64_t shared_bytes = 48 << 10;
  bool loaded = false;
};
struct CUgraph_st {
  std::shared_ptr<em::Captured> captured;
};
struct CUgraphExec_st {
  const em::Captured* of = nullptr;
  std::vector<std::function<void()>> works;
};

namespace {

constexpr char kMark[] = "EMULATED";
constexpr unsigned kPeakBlocks = 4;

/// Whether a kernel's name begins as EMULATED_CUDA_FAULT says: "baleen_softmax", or "baleen_softmax@1" on device 1
/// alone.
bool is_to_fail(const std::string& kernel) {
  const char* given = std::getenv("EMULATED_CUDA_FAULT");
  const std::string fault = given ? given : "";
  const std::size_t at = fault.find('@');
  CUdevice device = -1;
  if (at != fault.npos) cuCtxGetDevice(&device);
  const bool is_here = at == fault.npos || fault.substr(at + 1) == std::to_string(device);
  return !fault.empty() && is_here && kernel.starts_with(fault.substr(0, at));
}

/// A kernel with its arguments as they are now.
std::function<void()> launch_of(CUfunction function, em::Dimensions grid, unsigned threads, std::uint64_t shared_bytes,
                                void** parameters) {
  std::vector<char> args(function->bytes);
  std::memcpy(args.data(), parameters[0], args.size());
  const char* file = std::getenv("EMULATED_CUDA_FAULT_WHEN");
  const bool faulty = is_to_fail(function->name);
  // What the device does at most is no number here, and would take minutes.
  if (function->name.starts_with("baleen_peak_")) grid.x = std::min(grid.x, kPeakBlocks);
  return [=, args = std::move(args), when = std::string(file ? file : "")] {
    if (faulty && (when.empty() || access(when.c_str(), F_OK) == 0))
      em::fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    else if (!em::run_grid(function->kernel, args.data(), grid, threads, shared_bytes))
      em::fail(CUDA_ERROR_LAUNCH_FAILED);
  };
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

/// The plugin's own kernels, which lie beside this library.
void* plugin_kernels() {
  static void* const library = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&cuInit), &self);
    const std::filesystem::path folder = std::filesystem::canonical(self.dli_fname).parent_path();
    return dlopen((folder / "libemulated_kernels.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const char* bytes = static_cast<const char*>(image);
  *module = new CUmod_st;
  if (std::memcmp(bytes, kMark, sizeof kMark - 1) != 0) {  // nvcc's
    (*module)->library = plugin_kernels();
    return (*module)->library ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
  }
  std::uint64_t size = 0;
  std::memcpy(&size, bytes + 8, sizeof size);
  em::tell("EMULATED_CUDA_MODULES", "code of " + std::to_string(size) + " bytes");
  (*module)->library = open_bytes(bytes + 16, size);
  return (*module)->library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  void* const library = module->library;
  const std::string emulated = std::string(name) + "_emulated";
  auto* kernel = reinterpret_cast<void (*)(const void*)>(dlsym(library, emulated.c_str()));
  auto* bytes = reinterpret_cast<unsigned long (*)()>(dlsym(library, (emulated + "_bytes").c_str()));
  auto* threads = reinterpret_cast<unsigned (*)()>(dlsym(library, (emulated + "_threads").c_str()));
  if (!kernel || !bytes || !threads) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{name, kernel, bytes(), threads()};
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction function) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  function->loaded = true;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  if (value > em::kSharedMost) return CUDA_ERROR_INVALID_VALUE;
  function->shared_bytes = static_cast<std::uint64_t>(value);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned shared_bytes, CUstream stream, void** parameters, void**) {
  if (state() != CUDA_SUCCESS) return state();
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!function->loaded) return CUDA_ERROR_ILLEGAL_STATE;  // the driver would load it now, and may wait for all streams
  if (x == 0 || y == 0 || z == 0 || x > 0x7fffffffu || y > 65535 || z > 65535 || threads == 0 ||
      threads > function->most_threads || shared_bytes > function->shared_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  on(stream, launch_of(function, {x, y, z}, threads, shared_bytes, parameters));
  return CUDA_SUCCESS;
}

// A graph is the list of what was captured; a node is known by the address of its place there.

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (!stream || em::captured(queue(stream))) return CUDA_ERROR_ILLEGAL_STATE;
  em::begin_capture(queue(stream));
  em::capturing() = stream;
  return state();
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                                const CUgraphNode** nodes, const CUgraphEdgeData**, std::size_t* count) {
  static thread_local CUgraphNode last = nullptr;
  const auto captured = em::captured(queue(stream));
  *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  last = captured && !captured->works.empty() ? reinterpret_cast<CUgraphNode>(&captured->works.back()) : nullptr;
  *nodes = &last;
  *count = last ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  em::capturing() = nullptr;
  *graph = nullptr;
  const auto captured = em::end_capture(queue(stream));
  if (!captured) return CUDA_ERROR_ILLEGAL_STATE;
  const bool is_joined = captured->open.empty(), is_valid = captured->valid && number("EMULATED_CUDA_GRAPHS", 1) != 0;
  if (!is_joined || !is_valid) captured->works.clear();  // events know of it for longer
  if (!is_joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = new CUgraph_st{captured};
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->captured.get(), {graph->captured->works.begin(), graph->captured->works.end()}};
  return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  for (std::size_t i = 0; i < exec->works.size(); ++i) {
    if (static_cast<const void*>(&exec->of->works[i]) != node) continue;
    exec->works[i] = [work = launch_of(params->func, {params->gridDimX, params->gridDimY, params->gridDimZ},
                                       params->blockDimX, params->sharedMemBytes, params->kernelParams)] {
      const em::Access access;
      work();
    };
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (state() != CUDA_SUCCESS) return state();
  if (em::captured(queue(stream))) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (const auto& work : exec->works) em::enqueue(queue(stream), work);
  em::tell("EMULATED_CUDA_LOG", "graph of " + std::to_string(exec->works.size()) + " nodes");
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  graph->captured->works.clear();
  delete graph;
  return CUDA_SUCCESS;
}

}  // extern "C"
