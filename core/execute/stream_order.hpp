/// \file Who keeps the order between streams of a device.
#pragma once
#include "baleen/native_events.h"
#include "core/execute/device.hpp"

namespace baleen {

/// From now on a stream of this device that waits for another's signal does so by the device alone, where it has native
/// events; else a thread of the host takes part. `stream`: any of them.
inline Status order_streams_on_device(const Device& device, void* stream) {
  const auto events = device.extension<baleen_native_events_t>(BALEEN_DEVICE_NATIVE_EVENTS);
  void* native = nullptr;
  return events ? device.check(events->native_stream(device.handle(), stream, &native)) : Status();
}

}  // namespace baleen
