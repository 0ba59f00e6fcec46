/// \file Memory, streams and the way from a region to a kernel.
#include "device.hpp"

#include <cstdio>
#include <cstring>

#include "peak.hpp"
#include "registry.hpp"

namespace baleen::cuda {
namespace {

constexpr std::uint32_t kAlignment = 256;

std::uint64_t counted(std::uint64_t bytes) { return padded(bytes > 0 ? bytes : 1); }
std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Device::~Device() {
  if (!context_ || !enter()) return;
  kernel_context_.reset();
  own_stream_.reset();
  events_.reset();
  dnn_.reset();
  blas_.reset();
  compiler_.reset();
  functions_.reset();
  driver_.cuDevicePrimaryCtxRelease(device_);
}

Status Device::enter() const {
  return driver_.check(driver_.cuCtxSetCurrent(context_), "choosing the device's context");
}

void Device::info(baleen_device_info_t& out) const {
  std::snprintf(out.name, sizeof out.name, "%s", name_.c_str());
  const std::string products = description_ ? "described: scratch of libraries is what they may take at most"
                               : blas_      ? "cuBLASLt " + blas_->version() + (blas_->options().tf32 ? ", tf32" : "")
                                            : "products by the plugin's own kernel";
  std::snprintf(out.summary, sizeof out.summary, "compute capability %d.%d, NVRTC %s, %s",
                limits_.compute_capability / 10, limits_.compute_capability % 10, compiler_->version().c_str(),
                products.c_str());
  out.memory_bytes = memory_bytes_;
  out.private_bytes = 0;  // the context's memory is not free when the budget is taken
  out.threads = 1;
  out.alignment = kAlignment;
}

Status Device::must_run() const {
  return description_ ? Status(unsupported("the device is described for a plan: it runs nothing and has no memory"))
                      : Status();
}

Result<void*> Device::allocate(baleen_arena_kind_t kind, std::uint64_t bytes) {
  BALEEN_TRY(enter());
  if (kind == BALEEN_ARENA_PINNED) {
    void* base = nullptr;
    const CUresult result = driver_.cuMemHostAlloc(&base, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS)
      return Error{BALEEN_NO_MEMORY,
                   "the system refuses " + mebibytes(bytes) + " of pinned memory (" + driver_.text(result) + ")",
                   {}};
    std::memset(base, 0, bytes);
    return base;
  }
  CUdeviceptr base = 0;
  const CUresult result = driver_.cuMemAlloc(&base, bytes);
  if (result != CUDA_SUCCESS)
    return Error{BALEEN_NO_MEMORY,
                 "the device refuses " + mebibytes(bytes) + " for an arena (" + driver_.text(result) +
                     "); other processes may hold its memory: lower the option `fraction` or `memory`",
                 {}};
  BALEEN_TRY(driver_.check(driver_.cuMemsetD8Async(base, 0, bytes, own_stream_->native()), "zeroing an arena"));
  BALEEN_TRY(driver_.check(driver_.cuStreamSynchronize(own_stream_->native()), "zeroing an arena"));
  return reinterpret_cast<void*>(base);
}

Result<void*> Device::arena_create(baleen_arena_kind_t kind, std::uint64_t bytes) {
  if (kind < BALEEN_ARENA_PRIVATE || kind > BALEEN_ARENA_PINNED)
    return invalid("no arena kind " + std::to_string(kind));
  BALEEN_TRY(must_run());
  if (kind == BALEEN_ARENA_PINNED) return allocate(kind, counted(bytes));
  const std::uint64_t size = counted(bytes);
  if (used_bytes_.fetch_add(size) + size > memory_bytes_) {
    used_bytes_ -= size;
    return Error{BALEEN_NO_MEMORY,
                 "an arena of " + mebibytes(bytes) + " does not fit into the " + mebibytes(memory_bytes_) + " of " +
                     name_ + " that may be used, of which " + mebibytes(used_bytes_) +
                     " are taken; use a smaller batch, more micro-batches, or raise the option `fraction` or `memory`",
                 {}};
  }
  auto base = allocate(kind, size);
  if (!base) used_bytes_ -= size;
  return base;
}

void Device::arena_destroy(baleen_arena_kind_t kind, void* base, std::uint64_t bytes) {
  if (!enter()) return;
  if (kind == BALEEN_ARENA_PINNED) {
    driver_.cuMemFreeHost(base);
    return;
  }
  driver_.cuMemFree(reinterpret_cast<CUdeviceptr>(base));
  used_bytes_ -= counted(bytes);
}

std::uint32_t Device::supports(const baleen_region_t& region) const { return region_score(limits_, region); }

Result<baleen_kernel_t> Device::compile(const baleen_region_t& region) {
  BALEEN_TRY(enter());
  BALEEN_TRY_ASSIGN(std::unique_ptr<Kernel> kernel, make_kernel(*kernel_context_, region));
  BALEEN_TRY(kernel->finish());
  return give(std::move(kernel));
}

Result<baleen_kernel_t> Device::begin(const baleen_region_t& region) {
  BALEEN_TRY_ASSIGN(std::unique_ptr<Kernel> kernel, make_kernel(*kernel_context_, region));
  kernel->begin();
  return give(std::move(kernel));
}

baleen_kernel_t Device::give(std::unique_ptr<Kernel> kernel) {
  products_->add(kernel->products);
  return sdk::give_kernel(std::move(kernel));
}

void Device::release(void* kernel) {
  if (enter()) {
  }  // plans of libraries unload what they loaded; without a context they are deleted all the same
  delete static_cast<Kernel*>(kernel);
}

Status Device::launch(void* handle, const baleen_launch_t& call) {
  BALEEN_TRY(must_run());
  BALEEN_TRY(enter());
  products_->tell();
  const auto& kernel = *static_cast<const Kernel*>(handle);
  auto& stream = *static_cast<Stream*>(call.stream);
  const unsigned number = stream.log().begin(kernel.label, call.step, call.micro);
  if (stream.recording) stream.recording->launches.push_back(number);
  if (Status done = kernel.run({driver_, stream.native(), call, {stream.ids(), number}, stream.recording.get()}); !done)
    return Error{done.error().code, done.error().message + " " + stream.log().pending(), kernel.label->op};
  return checked_ ? stream.synchronize() : Status();
}

Result<void*> Device::stream_create() {
  BALEEN_TRY(must_run());
  BALEEN_TRY(enter());
  BALEEN_TRY_ASSIGN(auto stream, Stream::create(driver_, *events_));
  return static_cast<void*>(stream.release());
}
void Device::stream_destroy(void* stream) {
  if (enter()) delete static_cast<Stream*>(stream);
}

Status Device::stream_wait(void* stream, baleen_event_t& event, std::uint64_t value) {
  BALEEN_TRY(enter());
  return static_cast<Stream*>(stream)->wait(event, value);
}
Status Device::stream_signal(void* stream, baleen_event_t& event, std::uint64_t value) {
  BALEEN_TRY(enter());
  return static_cast<Stream*>(stream)->signal(event, value);
}
Status Device::synchronize(void* stream) {
  BALEEN_TRY(enter());
  return static_cast<Stream*>(stream)->synchronize();
}

Status Device::copy(void* stream, void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return {};
  BALEEN_TRY(enter());
  return driver_.check(driver_.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
                                             bytes, static_cast<Stream*>(stream)->native()),
                       "copying");
}

Status Device::zero(void* stream, void* to, std::uint64_t bytes) {
  if (bytes == 0) return {};
  BALEEN_TRY(enter());
  return driver_.check(
      driver_.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(to), 0, bytes, static_cast<Stream*>(stream)->native()),
      "zeroing");
}

const void* Device::query(std::string_view name) const {
  static constexpr baleen_peak_t kPeak{
      sizeof(baleen_peak_t), [](void* device, double* flops, double* bytes) {
        const Device& self = *static_cast<const Device*>(device);
        return guard(self.host_, [&]() -> Status {
          BALEEN_TRY(self.enter());
          BALEEN_TRY_ASSIGN(const Peak peak, measure_peak(*self.kernel_context_, self.own_stream_->native()));
          *flops = peak.flops_per_second;
          *bytes = peak.bytes_per_second;
          return {};
        });
      }};
  static constexpr char kKind[] = "cuda";
  static constexpr baleen_device_memory_t kMemory{sizeof(baleen_device_memory_t),
                                                  BALEEN_MEMORY_OF_RANK,
                                                  0,
                                                  {kKind, sizeof kKind - 1},
                                                  [](void* device, void* base, std::uint64_t bytes) {
                                                    Device& self = *static_cast<Device*>(device);
                                                    return guard(self.host_, [&] { return self.pin(base, bytes); });
                                                  },
                                                  [](void* device, void* base) {
                                                    Device& self = *static_cast<Device*>(device);
                                                    guard_nothing(self.host_, "unpin", [&] { self.unpin(base); });
                                                  }};
  if (name == BALEEN_DEVICE_MEMORY) return &kMemory;
  if (name == BALEEN_COMPILE_AHEAD) return compile_ahead();
  if (description_) return query_plugin(name);
  if (name == BALEEN_DEVICE_NATIVE_EVENTS) return native_events();
  if (name == BALEEN_STAMPS) return stamps();
  if (name == BALEEN_SEQUENCES) return graphs_ && !checked_ ? sequences() : nullptr;
  return name == BALEEN_DEVICE_PEAK ? &kPeak : query_plugin(name);
}

Status Device::pin(void* base, std::uint64_t bytes) {
  BALEEN_TRY(must_run());
  BALEEN_TRY(enter());
  const CUresult result = driver_.cuMemHostRegister(base, bytes, CU_MEMHOSTREGISTER_PORTABLE);
  if (result == CUDA_SUCCESS) return {};
  return Error{BALEEN_NO_MEMORY,
               "the driver refuses to pin " + mebibytes(bytes) + " of the host's memory (" + driver_.text(result) +
                   "); less of it would help, or a higher limit of locked memory (`ulimit -l`)",
               {}};
}

void Device::unpin(void* base) {
  if (enter()) driver_.cuMemHostUnregister(base);
}

}  // namespace baleen::cuda
