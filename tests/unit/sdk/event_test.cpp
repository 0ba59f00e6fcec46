/// \file Events: who waits is woken, for one event or two, and may free the event at once.
#include "baleen/event.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace baleen {
namespace {

TEST(Event, OnlyGrows) {
  baleen_event_t event{};
  event_signal(event, 7);
  event_signal(event, 3);
  EXPECT_EQ(event_value(event), 7);
  event_signal(event, BALEEN_EVENT_FAILED);
  EXPECT_EQ(event_value(event), BALEEN_EVENT_FAILED);
  EXPECT_TRUE(event_wait(event, 1'000'000));
}

TEST(Event, WakesAllWhoSleep) {
  baleen_event_t event{};
  std::vector<std::thread> waiters;
  for (std::uint64_t value = 1; value <= 4; ++value)
    waiters.emplace_back([&, value] {
      event_wait(event, value);
      EXPECT_GE(event_value(event), value);
    });
  for (std::uint64_t value = 1; value <= 4; ++value) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    event_signal(event, value);
  }
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(Event, EndsWithTheTime) {
  baleen_event_t event{};
  EXPECT_FALSE(event_wait(event, 1, 0.01));
  EXPECT_FALSE(event_wait(event, 1, 0));
}

// Either of the two wakes; neither is lost between the two halves of falling asleep.
TEST(Event, TwoAreWaitedForAtOnce) {
  for (int round = 0; round < 200; ++round) {
    baleen_event_t a{}, b{};
    baleen_event_t& first = round % 2 ? a : b;
    std::thread signaller([&] { event_signal(first, 1); });
    while (event_value(a) == 0 && event_value(b) == 0) {
      const std::uint64_t word_a = event_prepare_sleep(a), word_b = event_prepare_sleep(b);
      if (word_a >> 1 == 0 && word_b >> 1 == 0) event_sleep(a, word_a, b, word_b, nullptr);
    }
    EXPECT_EQ(event_value(first), 1);
    signaller.join();
  }
}

// The address sanitizer and the thread sanitizer see a signaller that comes back to the event.
TEST(Event, MayBeFreedByItsWaiter) {
  for (int round = 0; round < 500; ++round) {
    auto event = std::make_unique<baleen_event_t>();
    std::thread signaller([event = event.get()] { event_signal(*event, 1); });
    event_wait(*event, 1);
    event.reset();
    signaller.join();
  }
}

}  // namespace
}  // namespace baleen
