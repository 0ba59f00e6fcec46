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
  std::atomic<pid_t> dying{0};          ///< who dies
  std::atomic<std::int64_t> killed{0};  ///< when, in nanoseconds of the monotonic clock
  std::atomic<std::int64_t> seen{0};    ///< when the last survivor had heard of it

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  [[noreturn]] void die() {
    dying = getpid();
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

/// A rank's rendezvous: rank 0 dies as soon as its address is known, and rank 1 is told the address only then.
class AfterDeath {
 public:
  /// `news`: the launcher says that the run is over.
  AfterDeath(Stage& stage, test::SharedRendezvous& shared, std::int32_t rank, bool news)
      : stage_(stage), shared_(shared), news_(news), inner_(shared.of(rank, 2)) {}

  baleen_rendezvous_t get() { return {sizeof(baleen_rendezvous_t), this, inner_.rank, 2, &put, &get, &over, {}, {}}; }

 private:
  static constexpr std::string_view kAddress = "ucx.0.address";

  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value) {
    auto& my = *static_cast<AfterDeath*>(self);
    const baleen_status_t status = my.inner_.put(my.inner_.self, key, value);
    if (my.inner_.rank == 0 && view(key) == kAddress) my.stage_.die();
    return status;
  }
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
    auto& my = *static_cast<AfterDeath*>(self);
    const std::int64_t bytes = my.inner_.get(my.inner_.self, key, value, capacity);
    if (view(key) != kAddress) return bytes;
    while (my.stage_.dying == 0 || kill(my.stage_.dying, 0) == 0) usleep(1000);
    if (my.news_) my.shared_.fail();
    return bytes;
  }
  static std::int32_t over(void* self) {
    auto& my = *static_cast<AfterDeath*>(self);
    return my.inner_.over(my.inner_.self);
  }

  Stage& stage_;
  test::SharedRendezvous& shared_;
  const bool news_;
  const baleen_rendezvous_t inner_;
};

/// What rank 1 is told when it connects through shared memory to one who has just died.
void expect_connecting_fails(bool news, baleen_status_t status, const char* part) {
  const Reaping reaping;
  void* memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Stage& stage = *new (memory) Stage;
  test::SharedRendezvous shared;
  EXPECT_EQ(test::run_bodies(As::kProcesses, 2,
                             [&](std::int32_t number) {
                               AfterDeath rendezvous(stage, shared, number, news);
                               const baleen_rendezvous_t given = rendezvous.get();
                               const test::TestHost host;
                               test::TestSettings settings(ucx_plugin().descriptor);
                               settings.set("tls", "posix");
                               void* transport = nullptr;
                               const baleen_status_t found =
                                   ucx_plugin().table.create(host.get(), settings.get(), &given, 0, &transport);
                               expect_contains(host.failure(), part);
                               expect(found == status, "status " + std::to_string(found) + ": " + host.failure());
                             }),
            "");
  munmap(memory, sizeof(Stage));
}

TEST(Loss, WhileRanksConnectIsNotTheManifestsFault) {
  expect_connecting_fails(true, BALEEN_PEER_LOST, "connecting to rank 0: ");
}
TEST(Loss, APeerThatCannotBeReachedAndHasNotEndedIsNamed) {
  expect_connecting_fails(false, BALEEN_UNSUPPORTED,
                          "connecting to rank 0: Shared memory error, though rank 0 has not");
}

}  // namespace
}  // namespace baleen::conformance
