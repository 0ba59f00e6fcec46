/// \file Two streams, and what was last begun on each slot.
#include "core/execute/direct_copies.hpp"

#include "baleen/native_events.h"

namespace baleen {

Result<std::unique_ptr<DirectCopies>> DirectCopies::create(const Device& device, std::vector<std::byte*> slots) {
  std::unique_ptr<DirectCopies> made(new DirectCopies(device));
  const baleen_compute_t& table = device.table();
  for (void** stream : {&made->out_, &made->in_})
    BALEEN_TRY(device.check(table.stream_create(device.handle(), stream)));
  // Asking for a native handle makes waits between streams the device's own business.
  if (const auto events = device.extension<baleen_native_events_t>(BALEEN_DEVICE_NATIVE_EVENTS)) {
    void* native = nullptr;
    BALEEN_TRY(device.check(events->native_stream(device.handle(), made->out_, &native)));
  }
  for (std::byte* base : slots) made->slots_.push_back({base, {}, {}});
  return made;
}

DirectCopies::~DirectCopies() {
  for (void* stream : {out_, in_})
    if (stream) device_.table().stream_destroy(device_.handle(), stream);
}

Status DirectCopies::wait(void* stream, const Last& last) {
  if (!last.done) return {};
  return device_.check(device_.table().stream_wait(device_.handle(), stream, last.done, last.value));
}

Status DirectCopies::start(const Copy& copy) {
  Slot& slot = slots_[copy.slot];
  void* const stream = copy.is_put ? out_ : in_;
  BALEEN_TRY(wait(stream, {copy.after, copy.after_value}));
  BALEEN_TRY(wait(stream, copy.is_put ? slot.got : slot.put));
  void* const to = copy.is_put ? slot.base : copy.memory;
  const void* const from = copy.is_put ? copy.memory : slot.base;
  const baleen_compute_t& table = device_.table();
  BALEEN_TRY(device_.check(table.copy(device_.handle(), stream, to, from, copy.bytes)));
  BALEEN_TRY(device_.check(table.stream_signal(device_.handle(), stream, copy.done, copy.done_value)));
  (copy.is_put ? slot.put : slot.got) = {copy.done, copy.done_value};
  return {};
}

}  // namespace baleen
