/// \file Two streams, and what was last begun on each slot.
#include "core/execute/direct_copies.hpp"

#include <chrono>

#include "baleen/event.hpp"
#include "core/execute/stream_order.hpp"

namespace baleen {

Result<std::unique_ptr<DirectCopies>> DirectCopies::create(const Device& device, const std::vector<std::byte*>& slots) {
  std::unique_ptr<DirectCopies> made(new DirectCopies(device));
  const baleen_compute_t& table = device.table();
  for (void** stream : {&made->out_, &made->in_})
    BALEEN_TRY(device.check(table.stream_create(device.handle(), stream)));
  BALEEN_TRY(order_streams_on_device(device, made->out_));
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
  if (copy.after) BALEEN_TRY(wait(stream, {copy.after, copy.after_value}));
  BALEEN_TRY(wait(stream, copy.is_put ? slot.got : slot.put));
  std::byte* const there = slot.base + copy.offset;
  void* const to = copy.is_put ? there : copy.memory;
  const void* const from = copy.is_put ? copy.memory : there;
  const baleen_compute_t& table = device_.table();
  BALEEN_TRY(device_.check(table.copy(device_.handle(), stream, to, from, copy.bytes)));
  BALEEN_TRY(device_.check(table.stream_signal(device_.handle(), stream, copy.done, copy.done_value)));
  (copy.is_put ? slot.put : slot.got) = {copy.done, copy.done_value};
  return {};
}

/// Of one copy, the mean of as many as take so long.
Result<double> DirectCopies::seconds_of(bool is_put, void* memory, std::uint64_t bytes, double at_least) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTogether = 4;  // that are begun before any is waited for
  baleen_event_t done{sizeof(baleen_event_t), 0, 0, nullptr};
  std::uint64_t begun = 0;
  const auto some = [&]() -> Status {
    for (int i = 0; i < kTogether; ++i) {
      const std::uint64_t value = ++begun;
      BALEEN_TRY(start({is_put, 0, 0, bytes, memory, nullptr, 0, &done, value}));
    }
    event_wait(done, begun);
    return {};
  };
  BALEEN_TRY(some());  // to warm up
  const Clock::time_point from = Clock::now();
  double taken = 0;
  while (taken < at_least) {
    BALEEN_TRY(some());
    taken = std::chrono::duration<double>(Clock::now() - from).count();
  }
  slots_[0].put = slots_[0].got = {};  // their event goes
  return taken / static_cast<double>(begun - kTogether);
}

Result<baleen_offload_speed_t> DirectCopies::measure(void* memory, std::uint64_t bytes, double seconds) {
  constexpr std::uint64_t kShort = 64;
  baleen_offload_speed_t speed{};
  speed.size = sizeof speed;
  for (const bool is_put : {true, false}) {
    BALEEN_TRY_ASSIGN(const double all, seconds_of(is_put, memory, bytes, 0.4 * seconds));
    BALEEN_TRY_ASSIGN(const double one, seconds_of(is_put, memory, kShort, 0.05 * seconds));
    (is_put ? speed.put_bytes_per_second : speed.get_bytes_per_second) = static_cast<double>(bytes) / all;
    (is_put ? speed.put_seconds : speed.get_seconds) = one;
  }
  return speed;
}

}  // namespace baleen
