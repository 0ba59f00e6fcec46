/// \file The device whose memory messages lie in. UCX works with it on whichever thread moves messages on, and goes by
/// the context that is current there.
#pragma once
#include <cstdint>

#include "baleen/native_events.h"
#include "baleen/result.hpp"

namespace baleen::ucx {

/// Used with the turn to use UCX.
class DeviceInUse {
 public:
  ~DeviceInUse() { leave(); }

  /// Until `leave`. The three outlive that.
  Status use(void* device, const baleen_compute_t& compute, const baleen_native_events_t& events);
  void leave();
  /// Grows whenever `enter` would do something else than before.
  std::uint64_t changes() const { return changes_; }
  /// Makes the device's context current on this thread, where there is a device.
  Status enter() const;

 private:
  void* device_ = nullptr;
  const baleen_compute_t* compute_ = nullptr;
  const baleen_native_events_t* events_ = nullptr;
  void* stream_ = nullptr;  // by which the context is asked for; nothing runs on it
  std::uint64_t changes_ = 0;
};

}  // namespace baleen::ucx
