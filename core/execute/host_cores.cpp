/// \file A thread with a queue, and two streams.
#include "core/execute/host_cores.hpp"

#include <pthread.h>

#include <string>
#include <utility>

#include "baleen/event.hpp"
#include "core/execute/stream_order.hpp"

namespace baleen {

Result<std::unique_ptr<HostCores>> HostCores::create(const Device& device, const Device& host, std::uint64_t bytes) {
  std::unique_ptr<HostCores> made(new HostCores(device, host));
  const baleen_compute_t& table = device.table();
  for (void** stream : {&made->out_, &made->in_})
    BALEEN_TRY(device.check(table.stream_create(device.handle(), stream)));
  BALEEN_TRY(order_streams_on_device(device, made->out_));
  if (bytes > 0) {
    void* base = nullptr;
    const Status pinned = device.check(table.arena_create(device.handle(), BALEEN_ARENA_PINNED, bytes, &base));
    if (!pinned)
      return Error{pinned.error().code,
                   "updates on the host's cores need " + std::to_string(bytes) +
                       " bytes of the host's memory, which have to be pinned: " + pinned.error().message +
                       ". What would help: updates in smaller pieces, fewer of them ahead, or updates by the device; "
                       "these are options of the strategy that wants them on the host",
                   pinned.error().where};
    made->pinned_ = static_cast<std::byte*>(base);
    made->pinned_bytes_ = bytes;
  }
  made->worker_ = std::thread([raw = made.get()] { raw->work(); });
  pthread_setname_np(made->worker_.native_handle(), "baleen-updates");
  return made;
}

HostCores::~HostCores() {
  if (worker_.joinable()) {
    last_ = enqueued_;
    event_signal(posted_, enqueued_ + 1);
    worker_.join();
  }
  const baleen_compute_t& table = device_.table();
  for (void* stream : {out_, in_})
    if (stream) table.stream_destroy(device_.handle(), stream);
  if (pinned_) table.arena_destroy(device_.handle(), BALEEN_ARENA_PINNED, pinned_, pinned_bytes_);
}

Status HostCores::copy(bool is_out, void* to, const void* from, std::uint64_t bytes, Mark after, Mark done) {
  const baleen_compute_t& table = device_.table();
  void* const device = device_.handle();
  void* const stream = is_out ? out_ : in_;
  BALEEN_TRY(device_.check(table.stream_wait(device, stream, after.event, after.value)));
  BALEEN_TRY(device_.check(table.copy(device, stream, to, from, bytes)));
  return device_.check(table.stream_signal(device, stream, done.event, done.value));
}

void HostCores::launch(const Launch& launch) {
  const std::uint64_t number = ++enqueued_;
  if (number > kMost) event_wait(taken_, number - kMost);
  Launch& own = queue_[number % kMost];
  own = launch;
  own.what.stream = host_.stream();
  event_signal(posted_, number);
}

Status HostCores::check() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void HostCores::work() {
  for (std::uint64_t number = 1;; ++number) {
    event_wait(posted_, number);
    if (number > last_) return;
    Launch& launch = queue_[number % kMost];
    const Mark done = launch.done;
    Status over = carry_out(launch);
    if (!over) {
      const std::lock_guard lock(mutex_);
      if (failure_) failure_ = std::move(over);
      event_signal(*done.event, BALEEN_EVENT_FAILED);
    }
    event_signal(taken_, number);
  }
}

/// The stream of `host` may be as far behind as it likes: `done` is raised by it.
Status HostCores::carry_out(Launch& launch) {
  for (const Mark& after : launch.after) {
    if (!after.event) continue;
    event_wait(*after.event, after.value);
    if (event_value(*after.event) == BALEEN_EVENT_FAILED)
      return Error{BALEEN_INTERRUPTED, "an update on the host's cores waits for what the device has not brought", {}};
  }
  const baleen_compute_t& table = host_.table();
  BALEEN_TRY(watch_ ? launch_watched(launch) : host_.check(table.launch(host_.handle(), launch.kernel, &launch.what)));
  return host_.check(table.stream_signal(host_.handle(), launch.what.stream, launch.done.event, launch.done.value));
}

Status HostCores::launch_watched(const Launch& launch) {
  const baleen_compute_t& table = host_.table();
  const HostLaunchWatch::Launch seen{
      launch.kernel, {launch.what.tensors, launch.tensors}, blocks_ ? &*blocks_ : nullptr};
  BALEEN_TRY(watch_->before(seen));
  const baleen_block_watch_t* const blocks = watch_->blocks();
  BALEEN_TRY(blocks ? blocks_->launch(launch.kernel, launch.what, *blocks)
                    : host_.check(table.launch(host_.handle(), launch.kernel, &launch.what)));
  BALEEN_TRY(host_.check(table.synchronize(host_.handle(), launch.what.stream)));
  return watch_->after(seen);
}

}  // namespace baleen
