/// \file The device: memory, streams and kernels of the processor this process runs on.
#pragma once
#include <atomic>

#include "kernel.hpp"

namespace baleen::cpu {

/// A queue that runs what is enqueued at once, on the calling thread and its pool, so that nothing is ever pending.
struct Stream {};

/// See ComputeTable for the contract of each function.
class Device {
 public:
  static Result<std::unique_ptr<Device>> create(const Host& host, const Settings& settings);

  /// Starts no threads and has no arenas.
  static Result<std::unique_ptr<Device>> described(const Host& host, const Settings& settings);

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

 private:
  Device(const Host& host, const Settings& settings, bool described);

  Host host_;
  bool described_;
  Threads threads_;
  Context context_;
  std::uint64_t memory_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

}  // namespace baleen::cpu
