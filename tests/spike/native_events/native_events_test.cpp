/// \file A transport on a stream of the device's: its order with the device's own stream is kept without the host, also
/// in a sequence, and a failure reaches those who wait.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <numeric>
#include <thread>

#include "baleen/event.hpp"
#include "baleen/native_events.h"
#include "baleen/open_transport.hpp"
#include "conformance/compute/harness.hpp"
#include "support/held_host.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kCount = 1024, kBytes = kCount * sizeof(float);

baleen_event_t new_event() { return {sizeof(baleen_event_t), 0, 0, nullptr}; }

class NativeEvents : public testing::Test {
 protected:
  void SetUp() override {
    settings_.set("driver", test::emulated_folder() + "/libcuda.so.1");
    baleen_rendezvous_t alone{};
    alone.size = sizeof alone;
    alone.ranks = 1;
    auto made = TableTransport::create(transport_plugin_.table, transport_plugin_.host->get(), *settings_.get(), alone,
                                       [this](baleen_status_t status) {
                                         return Error{status, transport_plugin_.host->failure(), {}};
                                       });
    ASSERT_TRUE(made) << made.error().text();
    transport = *std::move(made);
    auto used = transport->lease(device.get(), table);
    ASSERT_TRUE(used) << used.error().text();
    lease = *std::move(used);
    ASSERT_TRUE(lease);
    ASSERT_EQ(table.arena_create(device.get(), BALEEN_ARENA_SHARED, 2 * kBytes, &memory), BALEEN_OK);
    baleen_collective_entry_t entry{memory, far(), kCount, 0, nullptr, nullptr};
    baleen_collective_spec_t spec{};
    spec.size = sizeof spec;
    spec.op = BALEEN_ALL_REDUCE;
    spec.reduction = BALEEN_SUM;
    spec.dtype = BALEEN_F32;
    spec.entries = &entry;
    spec.entry_count = 1;
    auto group = transport->group_create({0});
    slot = *transport->prepare(*group, spec);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
  }
  void TearDown() override {
    lease.reset();
    table.arena_destroy(device.get(), BALEEN_ARENA_SHARED, memory, 2 * kBytes);
  }

  void* far() const { return static_cast<std::byte*>(memory) + kBytes; }
  /// The device's stream waits, puts `from` into the near half, has the transport copy it to the far half and takes
  /// that to `to`: all is only enqueued.
  void enqueue_round(const std::vector<float>& from, std::vector<float>& to) {
    put(memory, from.data());
    enqueue_copy();
    put(to.data(), far());
  }
  void put(void* to, const void* from) {
    ASSERT_EQ(table.copy(device.get(), device.stream(), to, from, kBytes), BALEEN_OK);
  }
  void enqueue_copy() {
    ASSERT_EQ(table.stream_signal(device.get(), device.stream(), &after, ++rounds), BALEEN_OK);
    const Status started = transport->start(slot, &after, rounds, &done, rounds);
    ASSERT_TRUE(started) << started.error().text();
    ASSERT_EQ(table.stream_wait(device.get(), device.stream(), &done, rounds), BALEEN_OK);
  }
  const baleen_sequences_t& sequences() const {
    return *static_cast<const baleen_sequences_t*>(table.query(device.get(), abi(BALEEN_SEQUENCES)));
  }
  const baleen_native_events_t& extension() const {
    return *static_cast<const baleen_native_events_t*>(table.query(device.get(), abi(BALEEN_DEVICE_NATIVE_EVENTS)));
  }
  /// Without the plugin's helpers, which also wait for the counters.
  void finish_stream() const {
    void *driver = dlopen((test::emulated_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL),
         *native = nullptr;
    ASSERT_EQ(extension().native_stream(device.get(), device.stream(), &native), BALEEN_OK);
    const auto synchronize = reinterpret_cast<decltype(&cuStreamSynchronize)>(dlsym(driver, "cuStreamSynchronize"));
    ASSERT_EQ(synchronize(static_cast<CUstream>(native)), CUDA_SUCCESS);
  }

  Plugin plugin{plugin_paths().at(0)};
  Device device{plugin, {}};
  const baleen_compute_t& table = plugin.table();
  std::unique_ptr<OpenTransport> transport;
  Lease lease;
  void *memory = nullptr, *slot = nullptr;
  baleen_event_t after = new_event(), done = new_event(), gate = new_event();
  std::uint64_t rounds = 0;
  std::vector<float> numbers = std::vector<float>(kCount), result = std::vector<float>(kCount);

 private:
  test::PluginUnderTest<baleen_transport_t> transport_plugin_{
      test::built("tests/spike/baleen_transport_copying_spike.so")};
  test::TestSettings settings_{transport_plugin_.descriptor};
};

/// No counter can rise, so nobody can have waited for one.
TEST_F(NativeEvents, KeepTheOrderOfStreamsWithoutTheHost) {
  ASSERT_EQ(table.stream_wait(device.get(), device.stream(), &gate, 1), BALEEN_OK);
  {
    const test::HeldHost held;
    std::vector<float> others(kCount, -1.0f), second(kCount);
    enqueue_round(numbers, result);
    enqueue_round(others, second);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(result[5], 0.0f) << "begun before the gate was open";
    event_signal(gate, 1);
    finish_stream();
    EXPECT_EQ(result, numbers);
    EXPECT_EQ(second, others);
    EXPECT_EQ(event_value(after), 0u);
    EXPECT_EQ(event_value(done), 0u);
  }
  EXPECT_TRUE(event_wait(done, 2, 20.0)) << "the host sees it too";
  EXPECT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
  EXPECT_EQ(event_value(after), 2u);
  EXPECT_EQ(done.native, nullptr);
}

/// More rounds than signals are made at first, with waits for values that are long over.
TEST_F(NativeEvents, ServeManyRounds) {
  for (int round = 0; round < 300; ++round) {
    numbers[0] = static_cast<float>(round);
    enqueue_round(numbers, result);
    ASSERT_EQ(table.stream_wait(device.get(), device.stream(), &after, rounds / 2), BALEEN_OK);
    if (round % 50 != 49) continue;
    ASSERT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
    EXPECT_EQ(result, numbers);
  }
  EXPECT_TRUE(event_wait(done, 300, 20.0));
  EXPECT_EQ(event_value(done), 300u);
}

/// Whom the transport has failed is free to go, though the streams have not come there yet.
TEST_F(NativeEvents, TellTheHostOfATransportThatFails) {
  ASSERT_EQ(table.stream_wait(device.get(), device.stream(), &gate, 1), BALEEN_OK);
  enqueue_round(numbers, result);
  transport->abort("the peer is gone");
  EXPECT_TRUE(event_wait(done, rounds, 20.0));
  EXPECT_EQ(event_value(done), BALEEN_EVENT_FAILED);
  EXPECT_EQ(done.native, nullptr);
  EXPECT_EQ(transport->check().error().message, "the peer is gone");
  done = new_event();  // another one in its place, which the signal under way must not touch
  event_signal(gate, 1);
  EXPECT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
  lease.reset();
  EXPECT_EQ(event_value(done), 0u);
}

TEST_F(NativeEvents, AreEdgesOfASequence) {
  enqueue_round(numbers, result);
  ASSERT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
  ASSERT_TRUE(event_wait(done, 1, 20.0));
  ASSERT_EQ(sequences().begin(device.get(), device.stream()), BALEEN_OK);
  ASSERT_EQ(table.zero(device.get(), device.stream(), far(), kBytes), BALEEN_OK);
  enqueue_copy();
  enqueue_copy();
  void* sequence = nullptr;
  ASSERT_EQ(sequences().end(device.get(), device.stream(), &sequence), BALEEN_OK) << plugin.last_failure();
  EXPECT_EQ(event_value(done), 1u) << "kept, not run";
  for (const float first : {7.0f, 8.0f, 9.0f}) {
    numbers[0] = first;
    put(memory, numbers.data());
    ASSERT_EQ(sequences().replay(device.get(), device.stream(), sequence, 0, 0), BALEEN_OK);
    put(result.data(), far());
    ASSERT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
    EXPECT_EQ(result, numbers);
    EXPECT_TRUE(event_wait(done, 3, 20.0)) << "the host hears of it a moment after the stream";
    EXPECT_EQ(event_value(done), 3u);
  }
  enqueue_round(numbers, result);
  ASSERT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK);
  EXPECT_TRUE(event_wait(done, 4, 20.0));
  EXPECT_EQ(event_value(done), 4u);
  sequences().release(device.get(), sequence);
}

TEST_F(NativeEvents, OfASequenceHaveBothEndsInIt) {
  void* sequence = nullptr;
  ASSERT_EQ(table.stream_signal(device.get(), device.stream(), &after, ++rounds), BALEEN_OK);
  ASSERT_TRUE(transport->start(slot, &after, rounds, &done, rounds));
  ASSERT_EQ(sequences().begin(device.get(), device.stream()), BALEEN_OK);
  EXPECT_EQ(table.stream_wait(device.get(), device.stream(), &done, rounds), BALEEN_UNSUPPORTED);
  EXPECT_EQ(sequences().end(device.get(), device.stream(), &sequence), BALEEN_UNSUPPORTED);
  EXPECT_NE(plugin.last_failure().find("a wait for what is signalled outside"), std::string::npos)
      << plugin.last_failure();

  ASSERT_EQ(sequences().begin(device.get(), device.stream()), BALEEN_OK);
  ASSERT_EQ(table.stream_signal(device.get(), device.stream(), &after, ++rounds), BALEEN_OK);
  ASSERT_TRUE(transport->start(slot, &after, rounds, &done, rounds));
  EXPECT_EQ(sequences().end(device.get(), device.stream(), &sequence), BALEEN_UNSUPPORTED) << "nobody waits for it";

  enqueue_round(numbers, result);  // what was refused has left nothing behind
  ASSERT_EQ(table.synchronize(device.get(), device.stream()), BALEEN_OK) << plugin.last_failure();
  EXPECT_EQ(result, numbers);
}

/// A case by itself: the failure stays for the process.
TEST_F(NativeEvents, TellTheHostOfADeviceThatFails) {
  std::vector<Tensor> y{zeros({3, 7})};
  ASSERT_EQ(device.run(OpSpec("softmax"), {zeros({3, 7})}, y, BALEEN_F32), BALEEN_OK) << plugin.last_failure();
  ASSERT_EQ(table.stream_wait(device.get(), device.stream(), &gate, 1), BALEEN_OK);
  enqueue_round(numbers, result);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    event_signal(gate, 1);
  });
  setenv("EMULATED_CUDA_FAULT", "baleen_softmax_f32", 1);
  Device other(plugin, {});
  EXPECT_EQ(other.run(OpSpec("softmax"), {zeros({3, 7})}, y, BALEEN_F32), BALEEN_INTERNAL);
  EXPECT_NE(table.synchronize(device.get(), device.stream()), BALEEN_OK);
  later.join();
  EXPECT_TRUE(event_wait(done, rounds, 20.0));
  EXPECT_EQ(event_value(done), BALEEN_EVENT_FAILED);
}

}  // namespace
}  // namespace baleen::conformance
