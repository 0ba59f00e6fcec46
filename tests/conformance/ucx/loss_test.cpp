/// \file A rank that dies without a word is noticed, though nothing else tells.
#include <signal.h>

#include <chrono>
#include <iostream>

#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

constexpr double kLimit = 5;  // seconds, on a machine that is busy with other things

// As a launcher does, which waits for all its ranks at once: a process that nobody has waited for still counts as
// alive. How it ended is then not known.
class Reaping {
 public:
  Reaping() { sigaction(SIGCHLD, &ignored_, &before_); }
  ~Reaping() { sigaction(SIGCHLD, &before_, nullptr); }
  Reaping(const Reaping&) = delete;

 private:
  static struct sigaction ignore() {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    return action;
  }
  const struct sigaction ignored_ = ignore();
  struct sigaction before_ {};
};

void expect_loss_noticed(const char* tls, std::uint64_t count) {
  const Reaping reaping;
  const std::string text = run_ucx(3, {{"tls", tls}}, [&](Rank& rank) {
    void* world = rank.world();
    expect_sum(rank, world, count);
    if (rank.rank == 1) raise(SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    try {
      expect_sum(rank, world, count);
    } catch (const std::runtime_error& e) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      expect_contains(e.what(), "has left");  // rank 1, or who left because of it
      std::cout << "rank " << rank.rank << " noticed after " << seconds.count() << " s\n" << std::flush;
      expect(seconds.count() < kLimit, "it took " + std::to_string(seconds.count()) + " s");
      return;
    }
    throw std::runtime_error("it ended well without rank 1");
  });
  EXPECT_EQ(text, "") << tls;
}

TEST(Loss, IsNoticedOverTcp) { expect_loss_noticed("tcp", 100); }
TEST(Loss, IsNoticedOverTcpInALongOperation) { expect_loss_noticed("tcp", 2'000'000); }
TEST(Loss, IsNoticedThroughSharedMemory) { expect_loss_noticed("posix", 100); }
TEST(Loss, IsNoticedWhereMemoryIsRead) { expect_loss_noticed("posix\ncma", 2'000'000); }

// While the operation is under way, and not before it.
TEST(Loss, IsNoticedByWhoAlreadyWaits) {
  for (const char* tls : {"tcp", "posix"}) {
    const Reaping reaping;
    const std::string text = run_ucx(2, {{"tls", tls}}, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> data(50'000, 1);
      const baleen_collective_entry_t entry{data.data(), data.data(), data.size(), 0, nullptr, nullptr};
      const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry,
                                          1,           nullptr,           1,          0,          {}};
      void* slot = rank.prepare(world, spec);
      if (rank.rank == 1) {
        usleep(200'000);
        raise(SIGKILL);
      }
      baleen_event_t done{};
      rank.start(slot, nullptr, 0, &done, 1);
      expect(event_wait(done, 1, kLimit), "it still waits");
      expect(event_value(done) == BALEEN_EVENT_FAILED, "it ended well");
      expect_contains(rank.reason(), "rank 1 has left");
    });
    EXPECT_EQ(text, "") << tls;
  }
}

}  // namespace
}  // namespace baleen::conformance
