/// \file Events: what an operation begins after, what it raises, and in which order operations on the same bytes are
/// done.
#include "suite.hpp"

namespace baleen::conformance {
namespace {

class OffloadOrder : public OffloadSuite {};

constexpr std::uint64_t kBytes = 1u << 20;

TEST_P(OffloadOrder, IsThatOfStartsOnTheSameBytes) {
  Store store(GetParam());
  store.reserve({kBytes});
  std::vector<Memory> put, got;
  std::vector<baleen_event_t> events(20);
  for (int i = 0; i < 10; ++i) {
    put.emplace_back(kBytes), got.emplace_back(kBytes);
    std::memset(put[i].get(), i + 1, kBytes);
  }
  for (int i = 0; i < 10; ++i) {
    store.expect_ok(store.try_put(Store::transfer(0, 0, kBytes, put[i].get(), &events[2 * i])));
    store.expect_ok(store.try_get(Store::transfer(0, 0, kBytes, got[i].get(), &events[2 * i + 1])));
  }
  for (baleen_event_t& event : events) store.await(event, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(std::memcmp(put[i].get(), got[i].get(), kBytes), 0) << "turn " << i;
}

TEST_P(OffloadOrder, BeginsAfterAnEventAndHoldsUpNoOthers) {
  Store store(GetParam());
  store.reserve({kBytes, kBytes});
  const Memory first(kBytes), second(kBytes), got(kBytes);
  std::memset(first.get(), 1, kBytes);
  std::memset(second.get(), 2, kBytes);
  baleen_event_t after{}, late{}, reader{};
  auto waiting = Store::transfer(0, 0, kBytes, first.get(), &late, 7);
  waiting.after = &after;
  waiting.after_value = 5;
  store.expect_ok(store.try_put(waiting));
  store.expect_ok(store.try_get(Store::transfer(0, 0, kBytes, got.get(), &reader)));
  store.put(1, 0, kBytes, second.get());  // overtakes
  event_signal(after, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(event_value(late), 0u);
  EXPECT_EQ(event_value(reader), 0u) << "a get of bytes that an earlier put waits to write";
  std::memset(first.get(), 3, kBytes);  // the put has not read it
  event_signal(after, 5);
  store.await(late, 0, 7);
  EXPECT_EQ(event_value(late), 7u);
  store.await(reader, 0);
  EXPECT_EQ(got.get()[kBytes - 1], std::byte{3});
}

TEST_P(OffloadOrder, RaisesEventsOfOperationsWithoutBytes) {
  Store store(GetParam());
  store.reserve({0, 10});
  baleen_event_t done{}, after{};
  store.expect_ok(store.try_put(Store::transfer(0, 0, 0, nullptr, &done, 3)));
  store.await(done, 0, 3);
  auto waiting = Store::transfer(1, 10, 0, nullptr, &done, 4);
  waiting.after = &after;
  waiting.after_value = 1;
  store.expect_ok(store.try_get(waiting));
  event_signal(after, 1);
  store.await(done, 1, 4);
  const Memory memory(10);
  store.expect_ok(store.try_put(Store::transfer(1, 0, 10, memory.get(), nullptr)));  // nobody waits
  store.get(1, 0, 10, memory.get());
}

TEST_P(OffloadOrder, FailsWhatWaitsForSomethingThatFailed) {
  Store store(GetParam());
  store.reserve({kBytes});
  const Memory memory(kBytes);
  store.put(0, 0, kBytes, memory.get());
  baleen_event_t after{}, done{};
  auto waiting = Store::transfer(0, 0, kBytes, memory.get(), &done);
  waiting.after = &after;
  waiting.after_value = 1;
  store.expect_ok(store.try_put(waiting));
  event_signal(after, BALEEN_EVENT_FAILED);
  ASSERT_TRUE(event_wait(done, BALEEN_EVENT_FAILED, kLong));
  for (const std::uint32_t slot : {0u, BALEEN_OFFLOAD_ANY}) {
    EXPECT_EQ(store.plugin.table.check(store.get_handle(), slot), BALEEN_INTERRUPTED);
    EXPECT_EQ(store.plugin.host->failure(),
              "rank 3: put of slot 0 `weight`, bytes 0 to 1048575: what it waits for has failed");
  }
  if ((store.info().flags & BALEEN_OFFLOAD_CHECKED) == 0) return;
  baleen_event_t read{};
  store.expect_ok(store.try_get(Store::transfer(0, 4096, 4096, memory.get(), &read)));
  ASSERT_TRUE(event_wait(read, 1, kLong));
  EXPECT_EQ(event_value(read), BALEEN_EVENT_FAILED) << "the old contents are not what was put last";
  store.put(0, 0, kBytes, memory.get());
  store.get(0, 0, kBytes, memory.get());
}

TEST_P(OffloadOrder, EndsWhatWaitsWhenTheStoreIsDestroyed) {
  Store store(GetParam());
  store.reserve({kBytes, kBytes});
  std::vector<Memory> memory;
  for (int i = 0; i < 4; ++i) memory.emplace_back(kBytes);
  baleen_event_t after{}, waits{}, behind{}, works[2]{};
  auto waiting = Store::transfer(0, 0, kBytes, memory[0].get(), &waits);
  waiting.after = &after;
  waiting.after_value = 1;
  store.expect_ok(store.try_put(waiting));
  store.expect_ok(store.try_get(Store::transfer(0, 0, kBytes, memory[1].get(), &behind)));
  for (int i = 0; i < 2; ++i)
    store.expect_ok(store.try_put(Store::transfer(1, 0, kBytes, memory[2 + i].get(), &works[i])));
  store.destroy();
  EXPECT_EQ(event_value(waits), BALEEN_EVENT_FAILED);
  EXPECT_EQ(event_value(behind), BALEEN_EVENT_FAILED);
  for (const baleen_event_t& event : works) EXPECT_NE(event_value(event), 0u) << "done or failed, but over";
}

// The place of an operation is free before its event is raised.
TEST_P(OffloadOrder, TakesAsManyAgainAsWereOver) {
  Store store(GetParam(), 0, 2);
  store.reserve({kBytes, kBytes});
  const Memory memory(kBytes);
  baleen_event_t events[2]{};
  for (std::uint64_t turn = 1; turn < 200; ++turn)
    for (std::uint32_t i = 0; i < 2; ++i) {
      store.await(events[i], i, turn - 1);
      store.expect_ok(store.try_get(Store::transfer(i, 0, 64 * 1024, memory.get() + 512 * 1024 * i, &events[i], turn)));
    }
  for (std::uint32_t i = 0; i < 2; ++i) store.await(events[i], i, 199);
}

BALEEN_OFFLOAD_SUITE(OffloadOrder);

}  // namespace
}  // namespace baleen::conformance
