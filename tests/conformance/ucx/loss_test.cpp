/// \file A rank that dies without a word is noticed, though nothing else tells.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>

#include "support/promise.hpp"
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

constexpr double kTcpSees = 1, kSharedMemorySees = 3;  // seconds

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

/// What all processes see.
struct Stage {
  std::atomic<std::int64_t> killed{0};  ///< when, in nanoseconds of the monotonic clock
  std::atomic<std::int64_t> seen{0};    ///< when the last survivor had heard of it

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  [[noreturn]] void die() {
    killed = now();
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  void see() {
    std::int64_t last = seen;
    for (const std::int64_t mine = now(); last < mine && !seen.compare_exchange_weak(last, mine);) {
    }
  }
};

/// The body's rank 1 dies, and the others see it: each says "has left", soon. Returns after how many seconds all did.
double seconds_until_seen(std::int32_t ranks, const char* tls, const std::function<void(Rank&, Stage&)>& body) {
  const Reaping reaping;
  void* shared = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  Stage& stage = *new (shared) Stage;
  EXPECT_EQ(run_ucx(ranks, {{"tls", tls}}, [&](Rank& rank) { body(rank, stage); }), "") << tls;
  const double seconds = 1e-9 * static_cast<double>(stage.seen - stage.killed);
  munmap(shared, sizeof(Stage));
  return seconds;
}

// A buffer of this rank's own, or one in an arena, which others reach.
class Numbers {
 public:
  Numbers(Rank& rank, Memory memory, std::uint64_t count)
      : own_(memory == Memory::kPrivate ? count : 0),
        data_(own_.empty() ? reinterpret_cast<float*>(arena_of(rank, count * sizeof(float))) : own_.data()) {}
  float* data() const { return data_; }

 private:
  std::vector<float> own_;
  float* const data_;
};

void expect_loss_noticed(const char* tls, std::uint64_t count, double promise, Memory memory = Memory::kPrivate) {
  test::expect_kept(promise, [&] {
    return seconds_until_seen(3, tls, [&](Rank& rank, Stage& stage) {
      void* world = rank.world();
      const Numbers numbers(rank, memory, count);
      expect_sum(rank, world, numbers.data(), count);
      if (rank.rank == 1) stage.die();
      try {
        expect_sum(rank, world, numbers.data(), count);
      } catch (const std::runtime_error& e) {
        stage.see();
        return expect_contains(e.what(), "has left");  // rank 1, or who left because of it
      }
      throw std::runtime_error("it ended well without rank 1");
    });
  });
}

TEST(Loss, IsNoticedOverTcp) { expect_loss_noticed("tcp", 100, kTcpSees); }
TEST(Loss, IsNoticedOverTcpInALongOperation) { expect_loss_noticed("tcp", 2'000'000, kTcpSees); }
TEST(Loss, IsNoticedThroughSharedMemory) { expect_loss_noticed("posix", 100, kSharedMemorySees); }
TEST(Loss, IsNoticedWhereMemoryIsRead) { expect_loss_noticed("posix\ncma", 2'000'000, kSharedMemorySees); }
TEST(Loss, IsNoticedWhereArenasAreReached) {
  expect_loss_noticed("posix", 2'000'000, kSharedMemorySees, Memory::kArena);
}

// While the operation is under way, and not before it.
void wait_for_the_dying(Rank& rank, Stage& stage, Memory memory) {
  constexpr std::uint64_t kCount = 50'000;
  void* world = rank.world();
  const Numbers numbers(rank, memory, kCount);
  std::fill_n(numbers.data(), kCount, 1.0F);
  const baleen_collective_entry_t entry{numbers.data(), numbers.data(), kCount, 0, nullptr, nullptr};
  const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry,
                                      1,           nullptr,           1,          0,          {}};
  void* slot = rank.prepare(world, spec);
  if (rank.rank == 1) {
    usleep(200'000);
    stage.die();
  }
  baleen_event_t done{};
  rank.start(slot, nullptr, 0, &done, 1);
  expect(event_wait(done, 1, 60), "it still waits");
  stage.see();
  expect(event_value(done) == BALEEN_EVENT_FAILED, "it ended well");
  expect_contains(rank.reason(), "rank 1 has left");
}

void expect_death_noticed(const char* tls, double promise, Memory memory) {
  test::expect_kept(promise, [&] {
    return seconds_until_seen(2, tls, [&](Rank& rank, Stage& stage) { wait_for_the_dying(rank, stage, memory); });
  });
}

TEST(Loss, IsNoticedOverTcpByWhoAlreadyWaits) { expect_death_noticed("tcp", kTcpSees, Memory::kPrivate); }
TEST(Loss, IsNoticedThroughSharedMemoryByWhoAlreadyWaits) {
  expect_death_noticed("posix", kSharedMemorySees, Memory::kPrivate);
}
TEST(Loss, IsNoticedWhereArenasAreReachedByWhoAlreadyWaits) {
  expect_death_noticed("posix", kSharedMemorySees, Memory::kArena);
}

}  // namespace
}  // namespace baleen::conformance
