/// \file A CUDA stream that also waits for and signals the host's events, without blocking whoever enqueues.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "baleen/event.hpp"
#include "device/ids.hpp"
#include "driver.hpp"
#include "launch_log.hpp"
#include "native_events.hpp"
#include "sequence.hpp"

namespace baleen::cuda {

/// Not movable. Waiting: for a signal of this device's by the driver's events; for any other a helper thread sleeps on
/// the event and then writes a word in pinned memory, on which the stream waits. Signalling: a host function raises the
/// event, in stream order, or on a stream beside where native events are in use.
class Stream {
 public:
  static Result<std::unique_ptr<Stream>> create(const Driver& driver, NativeEvents& events);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream native() const { return native_; }
  NativeEvents& events() { return events_; }
  LaunchLog& log() { return log_; }
  /// While what is enqueued is kept and not run; else null.
  std::unique_ptr<Recording> recording;

  IdRecord* ids() const { return reinterpret_cast<IdRecord*>(record_); }

  /// What comes later on the stream waits until the event has reached `value`. [enqueues]
  Status wait(baleen_event_t& event, std::uint64_t value);
  /// Raises the event when the stream has come here. [enqueues]
  Status signal(baleen_event_t& event, std::uint64_t value);
  /// Blocks until all is done. Names the launches among which an error happened; a wrong id, with its op. After an
  /// error of the device all signals that are still to come are raised to BALEEN_EVENT_FAILED, so that nobody waits for
  /// ever.
  Status synchronize();

 private:
  static constexpr std::size_t kSlots = 4096;
  struct Wait {
    baleen_event_t* event = nullptr;
    std::uint64_t value = 0;
  };
  struct Signal {
    baleen_event_t* event = nullptr;
    std::uint64_t value = 0;
    std::atomic<bool> pending{false};
  };

  Stream(const Driver& driver, NativeEvents& events) : driver_(driver), events_(events) {}
  Status open();
  void run_waits();
  Status signal_natively(baleen_event_t& event, std::uint64_t value);
  void fail_signals();
  static void raise(void* slot);

  const Driver& driver_;
  NativeEvents& events_;
  CUstream native_ = nullptr, side_ = nullptr;  // beside: host functions that nobody's work waits for
  CUdeviceptr record_ = 0, released_on_device_ = 0;
  IdRecord* record_copy_ = nullptr;    // pinned
  std::uint32_t* released_ = nullptr;  // pinned: waits that are over
  LaunchLog log_;
  std::array<Wait, kSlots> waits_{};
  std::unique_ptr<std::array<Signal, kSlots>> signals_ = std::make_unique<std::array<Signal, kSlots>>();
  std::uint64_t posted_waits_ = 0, posted_signals_ = 0;
  baleen_event_t posted_{}, taken_{}, stop_{};
  std::thread waiter_;
};

/// Waits until `event` has reached `value` or `stop` has been raised.
void wait_either(baleen_event_t& event, std::uint64_t value, baleen_event_t& stop);

}  // namespace baleen::cuda
