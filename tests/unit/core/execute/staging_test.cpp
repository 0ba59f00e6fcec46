/// \file Staging on an emulated device whose driver runs no host function: the streams go on all the same.
#include "core/execute/staging.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "baleen/event.hpp"
#include "core/execute/program_impl.hpp"
#include "emulated_device.hpp"
#include "support/held_host.hpp"

namespace baleen {
namespace {

constexpr std::uint64_t kCount = 1000, kBytes = kCount * sizeof(float);

/// Takes what is started, and ends it when the test says so.
class PatientTransport final : public OpenTransport {
 public:
  struct Started {
    float* memory = nullptr;
    baleen_event_t* done = nullptr;
    std::uint64_t value = 0;
  };

  bool allocates() const override { return false; }
  bool registers() const override { return false; }
  Result<void*> allocate(std::uint64_t) override { return unsupported("no memory"); }
  void release(void*) override {}
  Result<void*> group_create(std::vector<std::int32_t>) override { return static_cast<void*>(this); }
  void group_destroy(void*) override {}
  Result<void*> prepare(void*, const baleen_collective_spec_t& spec) override {
    started.memory = static_cast<float*>(spec.entries[0].output);
    return static_cast<void*>(this);
  }
  Status start(void*, baleen_event_t*, std::uint64_t, baleen_event_t* done, std::uint64_t value) override {
    started.done = done;
    started.value = value;
    return {};
  }
  Status check() override { return {}; }
  void abort(std::string_view) override {}

  Started started;
};

/// Sums of `kCount` numbers in place, at the first address of the program, in one piece.
Executable one_sum() {
  Executable executable;
  executable.mesh = {{{"data", 1}}};
  ExecutableCall call;
  call.op = BALEEN_ALL_REDUCE;
  call.reduction = BALEEN_SUM;
  call.dtype = BALEEN_F32;
  call.entries = {{0, 1, kCount, 0, {}, {}}};
  call.axes = {"data"};
  call.staged = true;
  call.parts = {{{{{0, 0, kCount, 0, {}, {}}}, {{0, 0, 0, kBytes}}, {{0, 0, 0, kBytes}}, kBytes}, 0, 0}};
  executable.calls.push_back(call);
  return executable;
}

bool holds_the_same(const float* memory, const std::vector<float>& expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (std::memcmp(memory, expected.data(), kBytes) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Staging, KeepsTheOrderOfStreamsByTheDeviceAlone) {
  const std::unique_ptr<Device> device = emulated_device();
  const baleen_compute_t& table = device->table();
  auto made = std::make_unique<PatientTransport>();
  const PatientTransport::Started& started = made->started;
  const auto communicator = take(Communicator::create(std::move(made), 0, {{{"data", 1}}}, {}));
  const Arena arena = take(Arena::create(*device, kBytes));
  ProgramImpl program(one_sum(), *device);
  program.addresses = {arena.base(), arena.base()};
  ProgramCall& call = program.calls.front();
  const auto staging = take(Staging::create(*device, *communicator, {kBytes, 0}));
  take(staging->prepare(call, "a.lua:1"));
  std::vector<float> numbers(kCount), result(kCount);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  {
    const test::HeldHost held;
    take(device->check(table.copy(device->handle(), device->stream(), arena.base(), numbers.data(), kBytes)));
    take(staging->begin(program, call, 0, device->stream()));
    EXPECT_TRUE(holds_the_same(started.memory, numbers)) << "the way out waits for the host";
    for (std::size_t i = 0; i < kCount; ++i) started.memory[i] = numbers[i] *= 2;
    event_signal(*started.done, started.value);
    take(staging->wait(program, call, 0, device->stream()));
    take(device->check(table.copy(device->handle(), device->stream(), result.data(), arena.base(), kBytes)));
    EXPECT_TRUE(holds_the_same(result.data(), numbers)) << "the way back waits for the host";
    EXPECT_EQ(event_value(program.issued), 0u) << "the host took part";
  }
  take(device->check(table.synchronize(device->handle(), device->stream())));
  EXPECT_EQ(event_value(program.issued), 1u) << "the counters rise all the same";
}

}  // namespace
}  // namespace baleen
