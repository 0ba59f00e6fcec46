/// \file Who waits does not keep a core busy: not for a peer, not for an event, not for nothing.
#include "support/processor_time.hpp"
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

constexpr double kSeconds = 1, kMostBusy = 0.2;

void expect_little_work(const std::string& when, const std::function<void()>& wait) {
  const double before = test::processor_seconds(RUSAGE_SELF);
  wait();
  const double busy = test::processor_seconds(RUSAGE_SELF) - before;
  expect(busy < kMostBusy, when + " it was busy for " + std::to_string(busy) + " s of " + std::to_string(kSeconds));
}

void nap() { usleep(static_cast<useconds_t>(kSeconds * 1e6)); }

TEST(Sleep, AWaitingRankIsNotBusy) {
  for (const char* tls : {"tcp", "posix"}) {
    EXPECT_EQ(run_ucx(2, {{"tls", tls}},
                      [](Rank& rank) {
                        void* world = rank.world();
                        for (const std::uint64_t count : {10ull, 300'000ull}) {
                          std::vector<float> data(count, 1);
                          const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
                          const baleen_collective_spec_t spec{
                              sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry, 1, nullptr, 1, 0, {}};
                          void* slot = rank.prepare(world, spec);
                          baleen_event_t go{}, done{};
                          expect_little_work("idle,", [] { nap(); });
                          rank.start(slot, &go, 1, &done, 1);
                          expect_little_work("waiting for an event,", [] { nap(); });
                          if (rank.rank == 1) nap();
                          event_signal(go, 1);
                          if (rank.rank == 0) expect_little_work("waiting for a peer,", [] { nap(); });
                          rank.finish(done, 1);
                          expect(data == std::vector<float>(count, 2), "one and one");
                        }
                      }),
              "")
        << tls;
  }
}

}  // namespace
}  // namespace baleen::conformance
