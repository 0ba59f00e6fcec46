/// \file The device: memory, streams and kernels of one GPU.
#pragma once
#include <atomic>
#include <optional>

#include "baleen/compile_ahead.h"
#include "baleen/native_events.h"
#include "baleen/stamps.h"
#include "blas.hpp"
#include "compiler.hpp"
#include "dnn.hpp"
#include "functions.hpp"
#include "kernel.hpp"
#include "stream.hpp"

namespace baleen::cuda {

/// See ComputeTable for the contract of each function.
class Device {
 public:
  static Result<std::unique_ptr<Device>> create(const Host& host, const Settings& settings);
  static Result<std::unique_ptr<Device>> described(const Host& host, const Settings& settings);
  ~Device();

  const Host& host() const { return host_; }
  void info(baleen_device_info_t& out) const;
  Result<void*> arena_create(baleen_arena_kind_t kind, std::uint64_t bytes);
  void arena_destroy(baleen_arena_kind_t kind, void* base, std::uint64_t bytes);
  std::uint32_t supports(const baleen_region_t& region) const;
  Result<baleen_kernel_t> compile(const baleen_region_t& region);
  void release(void* kernel);
  Status launch(void* kernel, const baleen_launch_t& launch);
  Result<void*> stream_create();
  void stream_destroy(void* stream);
  Status stream_wait(void* stream, baleen_event_t& event, std::uint64_t value);
  Status stream_signal(void* stream, baleen_event_t& event, std::uint64_t value);
  Status synchronize(void* stream);
  Status copy(void* stream, void* to, const void* from, std::uint64_t bytes);
  Status zero(void* stream, void* to, std::uint64_t bytes);
  const void* query(std::string_view name) const;
  static const void* query_plugin(std::string_view name);
  /// As baleen_compute_limits_t says.
  Status describe(baleen_device_limits_t& out) const;
  /// As baleen_device_memory_t says.
  Status pin(void* base, std::uint64_t bytes);
  void unpin(void* base);

 private:
  Device(const Host& host, const Driver& driver) : host_(host), driver_(driver) {}
  Status choose(const Settings& settings);
  Status open_libraries(const Settings& settings);
  Status find_memory(const Settings& settings);
  /// Of a described device: what would be found on this machine, or what the settings say.
  Status find_here(const Settings& settings);
  Status take_description(const Settings& settings);
  /// Fails for a described device.
  Status must_run() const;
  /// The calling thread works with this device's context from now on.
  Status enter() const;
  /// As baleen_compile_ahead_t says.
  Result<baleen_kernel_t> begin(const baleen_region_t& region);
  baleen_kernel_t give(std::unique_ptr<Kernel> kernel);
  Result<void*> allocate(baleen_arena_kind_t kind, std::uint64_t bytes);
  static const baleen_compile_ahead_t* compile_ahead();
  static const baleen_sequences_t* sequences();
  static const baleen_native_events_t* native_events();
  static const baleen_stamps_t* stamps();
  template <class Body>
  static baleen_status_t guarded(void* device, Body&& body);

  Host host_;
  Driver driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  DeviceLimits limits_;
  std::optional<baleen_device_limits_t> description_;  ///< of a described device
  bool checked_ = false;
  bool graphs_ = true;
  int sharing_ranks_ = 1;
  std::uint64_t memory_bytes_ = 0;
  std::atomic<std::uint64_t> used_bytes_{0};
  std::unique_ptr<Functions> functions_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<ProductReport> products_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<DnnOpener> dnn_;
  std::unique_ptr<NativeEvents> events_;
  std::unique_ptr<Stream> own_stream_;
  std::unique_ptr<WarmUp> warm_up_;
  std::unique_ptr<Context> kernel_context_;
};

}  // namespace baleen::cuda
