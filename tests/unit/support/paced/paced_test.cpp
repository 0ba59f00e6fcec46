/// \file The test transport `paced`: a transfer lasts as long as its bytes need, and whoever waits for it sleeps. (That
/// it is a transport like any other is the conformance suite's to say.)
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>

#include "support/places.hpp"
#include "support/promise.hpp"
#include "support/ranks.hpp"

namespace baleen::test {
namespace {

using Clock = std::chrono::steady_clock;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// A sum, or a send and its receive, of `count` fp32.
struct Transfer {
  explicit Transfer(Rank& rank, void* group, baleen_collective_t op, std::uint64_t count)
      : data(count, 1.0F), entry{data.data(), data.data(), count, 0, nullptr, nullptr} {
    const bool pair = is_pair(op);
    const baleen_collective_spec_t spec{
        sizeof spec, op, pair ? 0 : BALEEN_SUM, BALEEN_F32, pair ? 1 - rank.rank : 0, &entry, 1, nullptr, 1, 0, {}};
    slot = rank.prepare(group, spec);
  }
  static bool is_pair(baleen_collective_t op) { return op == BALEEN_SEND || op == BALEEN_RECEIVE; }

  std::vector<float> data;
  baleen_collective_entry_t entry;
  void* slot = nullptr;
};

/// Runs `body` on two ranks as threads over the loopback at 1 MB/s, or with other options.
std::string on_two(const std::function<void(Rank&)>& body, const std::string& bandwidth = "1e6") {
  const TransportPlugin plugin(PACED);
  SharedRendezvous rendezvous;
  return run_bodies(As::kThreads, 2, [&](std::int32_t number) {
    Rank rank(plugin, rendezvous, number, 2, {{"bandwidth", bandwidth}, {"wraps", LOOPBACK}});
    body(rank);
  });
}

TEST(Paced, TransfersTakeTheirTimeOneAfterTheOther) {
  EXPECT_EQ(on_two([](Rank& rank) {
              void* world = rank.world();
              Transfer first(rank, world, BALEEN_ALL_REDUCE, 10'000), second(rank, world, BALEEN_ALL_REDUCE, 20'000);
              baleen_event_t done{};
              const auto begin = Clock::now();
              rank.start(first.slot, nullptr, 0, &done, 1);
              rank.start(second.slot, nullptr, 0, &done, 2);
              rank.finish(done, 1);
              expect(seconds_since(begin) >= 0.04, "40,000 bytes took less than 0.04 s");
              rank.finish(done, 2);
              expect(seconds_since(begin) >= 0.12, "40,000 and 80,000 bytes took less than 0.12 s");
              expect(first.data[9'999] == 2 && second.data[19'999] == 2, "the sums");
            }),
            "");
}

TEST(Paced, AReceiveTakesAsLongAsItsSend) {
  EXPECT_EQ(on_two([](Rank& rank) {
              Transfer pair(rank, rank.world(), rank.rank == 0 ? BALEEN_SEND : BALEEN_RECEIVE, 20'000);
              const auto begin = Clock::now();
              rank.run(pair.slot);
              expect(seconds_since(begin) >= 0.08, "80,000 bytes took less than 0.08 s");
            }),
            "");
}

/// Processor time of all threads while a sum of 0.4 s is under way: no loading, no first meeting of the ranks.
double processor_seconds_of_a_wait() {
  double spent = 0;
  EXPECT_EQ(on_two([&spent](Rank& rank) {
              void* world = rank.world();
              Transfer meeting(rank, world, BALEEN_ALL_REDUCE, 1), sum(rank, world, BALEEN_ALL_REDUCE, 100'000);
              rank.run(meeting.slot);
              const auto begin = Clock::now();
              const double before = processor_seconds();
              rank.run(sum.slot);
              if (rank.rank == 0) spent = processor_seconds() - before;
              expect(seconds_since(begin) >= 0.4, "400,000 bytes took less than 0.4 s");
            }),
            "");
  return spent;
}

TEST(Paced, WaitingTakesNoProcessor) {
  expect_kept(0.2, processor_seconds_of_a_wait);  // a thread that spins takes the whole 0.4
}

TEST(Paced, AnAbortEndsATransferUnderWay) {
  EXPECT_EQ(on_two(
                [](Rank& rank) {
                  Transfer sum(rank, rank.world(), BALEEN_ALL_REDUCE, 100'000);
                  baleen_event_t done{};
                  rank.start(sum.slot, nullptr, 0, &done, 1);
                  expect(!event_wait(done, 1, 0.05), "over after 0.05 s of 400,000");
                  rank.abort("the test is over");
                  event_wait(done, 1);
                  expect(event_value(done) == BALEEN_EVENT_FAILED, "an aborted transfer is over");
                  expect_contains(rank.reason(), "the test is over");
                },
                "1"),
            "");
}

TEST(Paced, RefusesWhatIsNoTransport) {
  const TransportPlugin plugin(PACED);
  SharedRendezvous rendezvous;
  const std::string failures = run_bodies(As::kThreads, 1, [&](std::int32_t number) {
    Rank rank(plugin, rendezvous, number, 1, {{"wraps", "/nowhere.so"}});
  });
  EXPECT_NE(failures.find("transport `paced` cannot wrap /nowhere.so"), std::string::npos) << failures;
}

}  // namespace
}  // namespace baleen::test
