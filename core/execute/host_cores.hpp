/// \file The host's cores beside a device with memory of its own: launches on the host's memory, and the copies between
/// that and the device which they need.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/execute/block_launches.hpp"
#include "core/execute/device.hpp"

namespace baleen {

/// Sees the launches on the host's cores. [their thread]
class HostLaunchWatch {
 public:
  struct Launch {
    void* kernel = nullptr;
    std::span<void* const> tensors;         ///< their addresses, as the kernel counts them
    const BlockLaunches* blocks = nullptr;  ///< of the host's device; null where it tells of no blocks
  };
  virtual ~HostLaunchWatch() = default;
  virtual Status before(const Launch& launch) = 0;  ///< a failure: it is not launched
  /// Told of its blocks, whose kernel tells of them; null: nobody.
  virtual const baleen_block_watch_t* blocks() = 0;
  virtual Status after(const Launch& launch) = 0;
};

/// A thread that launches in order, two streams of the device that copy, and pinned memory that both use. The thread
/// that runs a program only enqueues; events keep the order. Devices outlive this. [one thread]
class HostCores {
 public:
  /// `device` copies, `host` launches: it works on the host's memory. `bytes` of pinned memory.
  static Result<std::unique_ptr<HostCores>> create(const Device& device, const Device& host, std::uint64_t bytes);
  /// What was enqueued ends first, or fails with what it waits for.
  ~HostCores();
  HostCores(const HostCores&) = delete;
  HostCores& operator=(const HostCores&) = delete;

  std::byte* pinned() const { return pinned_; }
  /// Before the first launch; outlives this. Null: nobody.
  void watch(HostLaunchWatch* watch) { watch_ = watch; }

  /// An event and its value. Null: none.
  struct Mark {
    baleen_event_t* event = nullptr;
    std::uint64_t value = 0;
  };
  /// A copy of the device, from or to pinned memory, when `after` is reached. Copies out run in order, and so do those
  /// in. Events live until `done` is.
  Status copy(bool is_out, void* to, const void* from, std::uint64_t bytes, Mark after, Mark done);

  struct Launch {
    void* kernel = nullptr;
    baleen_launch_t what{};     ///< its stream is none of the caller's
    std::uint32_t tensors = 0;  ///< how many addresses it has
    std::array<Mark, 2> after = {};
    Mark done = {};
  };
  /// Enqueues a launch behind all earlier ones. What fails, or waits for what has failed, raises `done` to
  /// BALEEN_EVENT_FAILED. Allocates nothing.
  void launch(const Launch& launch);
  /// OK, or the first failure of a launch.
  Status check() const;

 private:
  static constexpr std::uint64_t kMost = 1024;  ///< that are enqueued; the next one waits

  HostCores(const Device& device, const Device& host)
      : device_(device), host_(host), blocks_(BlockLaunches::of(host)), queue_(kMost) {}
  void work();
  Status carry_out(Launch& launch);
  Status launch_watched(const Launch& launch);

  const Device& device_;
  const Device& host_;
  const std::optional<BlockLaunches> blocks_;
  HostLaunchWatch* watch_ = nullptr;
  std::byte* pinned_ = nullptr;
  std::uint64_t pinned_bytes_ = 0;
  void* out_ = nullptr;
  void* in_ = nullptr;
  std::vector<Launch> queue_;  ///< number n at n % kMost
  std::uint64_t enqueued_ = 0;
  baleen_event_t posted_{sizeof(baleen_event_t), 0, 0, nullptr};  ///< launches that the thread may begin
  baleen_event_t taken_{sizeof(baleen_event_t), 0, 0, nullptr};   ///< that are over
  std::atomic<std::uint64_t> last_{UINT64_MAX};                   ///< after which it ends
  mutable std::mutex mutex_;
  Status failure_;
  std::thread worker_;
};

}  // namespace baleen
