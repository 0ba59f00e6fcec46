/// \file A stream of the device's on which collectives run in the order of their starts.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "engine.hpp"
#include "program.hpp"
#include "tile_kernels.hpp"

namespace baleen::nccl {

/// A stretch of the host's memory and its copy on the device.
struct HostCopy {
  std::byte* host;
  std::uint64_t mirror, bytes;
};

/// A prepared collective.
struct Slot {
  Collective collective = {};
  std::string key = {};  ///< of its group, or of its direction of a pair
  std::string text = {};
  Comm comm = nullptr;
  Program program = {};
  std::vector<HostCopy> in = {}, out = {};
  std::uint64_t mirror = 0;    ///< bytes
  class Lane* lane = nullptr;  ///< null: a barrier
  struct Group* group = nullptr;

  /// Whether some buffer is the host's: then a thread copies before and after.
  bool is_carried() const { return mirror > 0; }
};

/// Collectives on the device's memory are enqueued by whoever starts them, and no thread of the host takes part from
/// then on. Those with buffers of the host are enqueued likewise, but wait for a thread, which copies.
///
/// Threads: all but the accessors with the engine's `calls` held.
class Lane {
 public:
  static Result<std::unique_ptr<Lane>> open(Engine& engine, const TileKernels& kernels);
  ~Lane();
  Lane(const Lane&) = delete;

  /// Makes the device's context current on this thread, which NCCL goes by.
  Status enter();
  /// Memory for a slot; plan time.
  Status reserve(const Slot& slot);
  /// Runs a program by itself and waits for it; plan time.
  Status run(const Program& program, Comm comm);
  /// Zeroes memory and waits for it; plan time.
  Status clear(void* base, std::uint64_t bytes);
  /// As baleen_transport_t::start. Where it fails, nothing but the carrier touches `done` any more.
  Status begin(const Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value);
  /// While the device keeps what is enqueued: counted nowhere, and not under way.
  Status capture(const Slot& slot, baleen_event_t& after, std::uint64_t after_value, baleen_event_t& done,
                 std::uint64_t done_value);
  /// A replay, which is one operation here: raises `rests` when what was begun before it is over; and then, when it has
  /// been enqueued, `done` behind `after`.
  Status begin_replay(baleen_event_t* rests, std::uint64_t rests_value);
  Status end_replay(baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done, std::uint64_t done_value);
  std::uint64_t unfinished() const;  // [any thread]
  /// After the engine's failure: raises the events of all unfinished operations to BALEEN_EVENT_FAILED.
  void fail_unfinished();
  /// The stream goes to its end, as far as events that it waits for come; it may send buffers that never became ready,
  /// unless its communicators have been aborted. After `fail_unfinished`. [any thread]
  void let_go() { event_signal(carried_in_, BALEEN_EVENT_FAILED); }
  /// Until no thread touches events or memory of what was started. After `fail_unfinished`. [without `calls`]
  void await_carrier();
  /// Until the stream has come to the end of what was started, and so touches no memory any more. After `let_go`.
  /// [without `calls`]
  void await_stream();

 private:
  struct Pending {
    std::uint64_t number = 0;
    baleen_event_t* done = nullptr;
    baleen_event_t* rests = nullptr;  ///< of a replay
  };
  struct Job {
    const Slot* slot = nullptr;
    baleen_event_t *after = nullptr, *done = nullptr;
    std::uint64_t after_value = 0, done_value = 0, number = 0;
    std::byte* bounce = nullptr;
  };
  /// Memory that grows; what was enqueued with an earlier address still finds it.
  struct Memory {
    baleen_arena_kind_t kind;
    std::vector<std::pair<void*, std::uint64_t>> blocks;
    std::byte* base() const { return blocks.empty() ? nullptr : static_cast<std::byte*>(blocks.back().first); }
    std::uint64_t bytes() const { return blocks.empty() ? 0 : blocks.back().second; }
  };

  Lane(Engine& engine, const TileKernels& kernels) : engine_(engine), kernels_(kernels) {}
  Status grow(Memory& memory, std::uint64_t bytes);
  void* address(const Place& place) const;
  Status enqueue(const Collective& c, const Program& program, Comm comm);
  Status enqueue_group(const std::vector<Call>& calls, Comm comm);
  Code enqueue_call(const Call& call, Comm comm) const;
  Status enqueue_all(const Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                     std::uint64_t done_value, std::uint64_t number);
  Status wait(baleen_event_t& event, std::uint64_t value);
  Status signal(baleen_event_t& event, std::uint64_t value);
  Status forget_failed(Status failed);
  void carry();
  bool carry_one(const Job& job);
  Status copy(const std::vector<HostCopy>& copies, bool in);

  Engine& engine_;
  const TileKernels& kernels_;
  void *stream_ = nullptr, *native_ = nullptr;
  Memory scratch_{BALEEN_ARENA_SHARED, {}};
  /// Of buffers of the host: on the device, and pinned. The stream touches these alone: it may come late.
  Memory mirror_{BALEEN_ARENA_SHARED, {}}, bounce_{BALEEN_ARENA_PINNED, {}};
  std::atomic<std::uint64_t> sent_{0};  // numbers operations, from 1
  /// Behind an operation's own event. Outlives all streams: they signal it.
  baleen_event_t finished_{sizeof(baleen_event_t), 0, 0, nullptr};
  baleen_event_t carried_in_{sizeof(baleen_event_t), 0, 0, nullptr};  ///< by number: inputs are on the device
  std::unique_ptr<std::array<Pending, BALEEN_MAX_OUTSTANDING>> pending_ =
      std::make_unique<std::array<Pending, BALEEN_MAX_OUTSTANDING>>();
  std::unique_ptr<std::array<Job, BALEEN_MAX_OUTSTANDING>> jobs_ =
      std::make_unique<std::array<Job, BALEEN_MAX_OUTSTANDING>>();
  std::atomic<std::uint64_t> posts_{0};
  baleen_event_t posted_{sizeof(baleen_event_t), 0, 0, nullptr}, carried_{sizeof(baleen_event_t), 0, 0, nullptr},
      stop_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::thread carrier_;
};

}  // namespace baleen::nccl
