/// \file A stream of the device's is how its context is reached.
#include "device_in_use.hpp"

namespace baleen::ucx {
namespace {

Status checked(baleen_status_t status, const char* doing) {
  if (status == BALEEN_OK) return {};
  return Error{status, std::string("ucx: ") + doing + " failed; what the device's plugin logged says why", {}};
}

}  // namespace

Status DeviceInUse::use(void* device, const baleen_compute_t& compute, const baleen_native_events_t& events) {
  leave();
  void* stream = nullptr;
  BALEEN_TRY(checked(compute.stream_create(device, &stream), "making a stream of the device"));
  device_ = device;
  compute_ = &compute;
  events_ = &events;
  stream_ = stream;
  ++changes_;
  return enter();
}

void DeviceInUse::leave() {
  if (!device_) return;
  compute_->stream_destroy(device_, stream_);
  device_ = nullptr;
  ++changes_;
}

Status DeviceInUse::enter() const {
  if (!device_) return {};
  void* native = nullptr;
  return checked(events_->native_stream(device_, stream_, &native), "choosing the device on a thread");
}

}  // namespace baleen::ucx
