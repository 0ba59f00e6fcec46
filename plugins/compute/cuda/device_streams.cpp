/// \file The device's side of baleen_compile_ahead_t, baleen_sequences_t, baleen_native_events_t and baleen_stamps_t.
#include "device.hpp"
#include "sequence.hpp"
#include "stamps.hpp"

namespace baleen::cuda {
namespace {

Stream& stream_of(void* stream) { return *static_cast<Stream*>(stream); }

}  // namespace

template <class Body>
baleen_status_t Device::guarded(void* device, Body&& body) {
  Device& self = *static_cast<Device*>(device);
  return guard(self.host_, [&]() -> Status {
    BALEEN_TRY(self.enter());
    return body(self);
  });
}

const baleen_compile_ahead_t* Device::compile_ahead() {
  static constexpr baleen_compile_ahead_t kCompileAhead{
      sizeof(baleen_compile_ahead_t),
      [](void* device, const baleen_region_t* region, baleen_kernel_t* out) {
        return guarded(device, [&](Device& self) -> Status {
          BALEEN_TRY_ASSIGN(const baleen_kernel_t kernel, self.begin(*region));
          copy_out(out, kernel);
          return {};
        });
      },
      [](void* device, void* kernel) {
        return guarded(device, [&](Device&) { return static_cast<Kernel*>(kernel)->finish(); });
      }};
  return &kCompileAhead;
}

const baleen_sequences_t* Device::sequences() {
  static constexpr baleen_sequences_t kSequences{
      sizeof(baleen_sequences_t),
      [](void* device, void* stream) {
        return guarded(device, [&](Device& self) { return Sequence::begin(self.driver_, stream_of(stream)); });
      },
      [](void* device, void* stream, void** sequence) {
        return guarded(device, [&](Device& self) -> Status {
          BALEEN_TRY_ASSIGN(auto made, Sequence::end(self.driver_, stream_of(stream)));
          *sequence = made.release();
          return {};
        });
      },
      [](void* device, void* stream, void* sequence, std::uint64_t seed, std::uint64_t step) {
        return guarded(
            device, [&](Device&) { return static_cast<Sequence*>(sequence)->replay(stream_of(stream), seed, step); });
      },
      [](void* device, void* sequence) {
        guarded(device, [&](Device&) -> Status {
          delete static_cast<Sequence*>(sequence);
          return {};
        });
      }};
  return &kSequences;
}

const baleen_native_events_t* Device::native_events() {
  static constexpr char kRuntime[] = "cuda";
  static constexpr baleen_native_events_t kNativeEvents{sizeof(baleen_native_events_t),
                                                        {kRuntime, sizeof kRuntime - 1},
                                                        [](void* device, void* stream, void** native) {
                                                          return guarded(device, [&](Device& self) -> Status {
                                                            BALEEN_TRY(self.events_->use());
                                                            *native = stream_of(stream).native();
                                                            return {};
                                                          });
                                                        },
                                                        [](void* device, baleen_event_t* event) {
                                                          Device& self = *static_cast<Device*>(device);
                                                          guard_nothing(self.host_, "fail",
                                                                        [&] { self.events_->fail(*event); });
                                                        }};
  return &kNativeEvents;
}

const baleen_stamps_t* Device::stamps() {
  static constexpr baleen_stamps_t kStamps{
      sizeof(baleen_stamps_t),
      [](void* device, std::uint64_t count, void** stamps) {
        return guarded(device, [&](Device& self) -> Status {
          BALEEN_TRY_ASSIGN(auto made, Stamps::create(self.driver_, count));
          *stamps = made.release();
          return {};
        });
      },
      [](void* device, void* stream, void* stamps, std::uint64_t number) {
        return guarded(device,
                       [&](Device&) { return static_cast<Stamps*>(stamps)->note(stream_of(stream).native(), number); });
      },
      [](void* device, void* stamps, std::uint64_t first, std::uint64_t second, double* nanoseconds) {
        return guarded(device, [&](Device&) -> Status {
          BALEEN_TRY_ASSIGN(*nanoseconds, static_cast<Stamps*>(stamps)->between(first, second));
          return {};
        });
      },
      [](void* device, void* stamps) {
        guarded(device, [&](Device&) -> Status {
          delete static_cast<Stamps*>(stamps);
          return {};
        });
      }};
  return &kStamps;
}

}  // namespace baleen::cuda
