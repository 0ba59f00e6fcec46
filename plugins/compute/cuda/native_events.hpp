/// \file Signals of the device's streams as events of the driver, so that streams wait for each other without the host.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "baleen/event.hpp"
#include "driver.hpp"

namespace baleen::cuda {

struct Recording;

/// The signals under way of all streams of a device; `native` of an event leads to its own. Where none has been asked
/// for, there are none. [any thread] Never calls the driver under its lock: a host function takes it, too.
class NativeEvents {
 public:
  /// One signal, of which the driver's host function gets the address.
  struct Signal {
    NativeEvents* owner = nullptr;
    CUevent at = nullptr;
    baleen_event_t* event = nullptr;
    std::uint64_t value = 0;
    Signal* older = nullptr;  ///< of the same event
    bool pending = false;     ///< the counter is still to rise
    bool expected = false;    ///< the host function is still to come
    int users = 0;            ///< who makes a stream wait just now
  };

  explicit NativeEvents(const Driver& driver) : driver_(driver) {}
  ~NativeEvents();
  NativeEvents(const NativeEvents&) = delete;
  NativeEvents& operator=(const NativeEvents&) = delete;

  /// Signals are recorded from now on.
  Status use();
  bool in_use() const { return in_use_; }

  /// Marks the place in the stream; `raise` is to be called with the result when the stream has come there.
  Result<Signal*> record(CUstream stream, baleen_event_t& event, std::uint64_t value);
  static void raise(void* signal);
  /// Makes the stream wait for a signal under way of `value` or more; false: there is none.
  Result<bool> wait(CUstream stream, baleen_event_t& event, std::uint64_t value);
  /// Raises the event to BALEEN_EVENT_FAILED; what is under way of it touches it no more.
  void fail(baleen_event_t& event);
  void fail_all();

  /// A signal that belongs to nobody yet, and its way back.
  Result<Signal*> take();
  void give_back(Signal* signal);

  /// What this thread keeps from now on; null: nothing any more. False: another thread keeps something.
  bool keep_in(Recording* recording);
  /// What this thread keeps; else null.
  Recording* recording() const;

 private:
  static constexpr int kAtFirst = 64;

  Status add();
  /// With the lock.
  Signal* newest(const baleen_event_t& event) const;
  void unlink(Signal* signal);
  void settle(Signal* signal);
  void fail_locked(baleen_event_t& event);

  const Driver& driver_;
  std::atomic<bool> in_use_{false};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Signal>> all_;
  std::vector<Signal*> free_;
  Recording* recording_ = nullptr;
  std::thread::id recorder_;
};

}  // namespace baleen::cuda
