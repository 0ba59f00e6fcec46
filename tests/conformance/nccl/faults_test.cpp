/// \file A rank dies in a collective, or NCCL fails on it, at once or later: all others leave within five seconds, and
/// name it.
#include <unistd.h>

#include <chrono>
#include <optional>

#include "nccl_run.hpp"
#include "support/promise.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kCount = 30'000;
constexpr double kPromise = 5;  // seconds
constexpr const char* kDeath = "rank 1 ended with status 9\n";

/// What strikes rank 1: a variable of the double, and the call that it strikes: "ncclSend:3" is the third of its name.
struct Strike {
  const char *variable, *call;

  bool kills() const { return variable == std::string("NCCL_DOUBLE_DIE"); }
};

/// What a rank does when the strike comes; buffers are its own.
using Part = std::function<void()>;

void expect_the_first_cause(const Strike& strike, const std::string& why) {
  expect(!why.empty(), "it ended well");
  if (strike.kills()) return expect_contains(why, "rank 1 is gone");
  expect_contains(why, "rank 1: ");
  expect_contains(why, strike.variable);
}

/// Three ranks prepare their parts, then one strike comes. Each rank that lives has left within five seconds, and knows
/// the first cause. What ranks report besides.
std::string struck(const Strike& strike, const std::function<Part(Rank&, void* world)>& prepare) {
  test::SharedRendezvous rendezvous;
  return test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
    auto rank = std::make_unique<Rank>(nccl(), rendezvous, number, 3, test::double_of_nccl());
    void* const world = rank->world();
    const Part part = prepare(*rank, world);
    void* const barrier = rank->prepare(world, barrier_spec());
    auto begin = std::chrono::steady_clock::now();
    std::string why;
    try {
      rank->run(barrier);  // one that is struck at once may be gone before others know that all are here
      if (number == 1) setenv(strike.variable, strike.call, 1);
      begin = std::chrono::steady_clock::now();
      part();
    } catch (const std::runtime_error& e) {
      why = e.what();
    }
    rank.reset();
    const double took = test::seconds_since(begin);
    expect_the_first_cause(strike, why);
    expect(took < kPromise, "it took " + std::to_string(took) + " s to leave");
  });
}

/// A collective, and the call that rank 1 makes for it and that is struck.
struct Kind {
  baleen_collective_t op;
  const char* call;
  bool deterministic;

  std::string text() const { return std::string(collective_name(op)) + (deterministic ? "_ordered" : "_in_any_order"); }
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.text(); }

/// Sums of three in order are messages to each other, a kernel, and messages or broadcasts of its results.
constexpr Kind kKinds[] = {
    {BALEEN_ALL_REDUCE, "ncclSend:2", true},      {BALEEN_ALL_REDUCE, "ncclAllReduce:1", false},
    {BALEEN_REDUCE_SCATTER, "ncclRecv:2", true},  {BALEEN_REDUCE_SCATTER, "ncclReduceScatter:1", false},
    {BALEEN_REDUCE, "ncclRecv:1", true},          {BALEEN_REDUCE, "ncclReduce:1", false},
    {BALEEN_ALL_GATHER, "ncclAllGather:1", true}, {BALEEN_ALL_GATHER, "ncclAllGather:1", false},
    {BALEEN_BROADCAST, "ncclBroadcast:1", true},  {BALEEN_BROADCAST, "ncclBroadcast:1", false},
    {BALEEN_ALL_TO_ALL, "ncclSend:1", true},      {BALEEN_ALL_TO_ALL, "ncclSend:1", false},
    {BALEEN_PERMUTE, "ncclRecv:1", true},         {BALEEN_PERMUTE, "ncclRecv:1", false}};

/// The buffers of a collective and its slot, which ran well once.
struct Prepared {
  std::vector<float> in = std::vector<float>(kCount, 1), out = in;
  std::optional<OneBuffer> one = {};
  void* slot = nullptr;

  Prepared(Rank& rank, void* group, baleen_collective_t op, bool deterministic, std::int32_t root = 0) {
    // In place, but for all_to_all.
    one.emplace(op, in.data(), op == BALEEN_ALL_TO_ALL ? out.data() : in.data(), kCount, rank);
    one->spec.deterministic = deterministic ? 1 : 0;
    one->spec.root = root;
    slot = rank.prepare(group, one->spec);
  }
};

class NcclFaults : public testing::TestWithParam<Kind> {
 protected:
  static std::string struck_in(const Kind& kind, const char* variable) {
    return struck({variable, kind.call}, [&](Rank& rank, void* world) -> Part {
      const auto one = std::make_shared<Prepared>(rank, world, kind.op, kind.deterministic);
      rank.run(one->slot);
      // Twice: in the first run some rank may have what it needs before the strike.
      return [&rank, one] {
        for (int round = 0; round < 2; ++round) rank.run(one->slot);
      };
    });
  }
};

TEST_P(NcclFaults, ADeathIsNamedByAllOthers) { EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_DIE"), kDeath); }
TEST_P(NcclFaults, ACallThatFailsIsToldToAll) { EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_FAIL"), ""); }
TEST_P(NcclFaults, AnErrorThatComesLaterIsToldToAll) { EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_BREAK"), ""); }

INSTANTIATE_TEST_SUITE_P(Of, NcclFaults, testing::ValuesIn(kKinds), [](const auto& info) { return info.param.text(); });

/// Behind the kernel that adds in order.
class NcclLastRoundFaults : public NcclFaults {};

TEST_P(NcclLastRoundFaults, ADeathIsNamedByAllOthers) { EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_DIE"), kDeath); }
TEST_P(NcclLastRoundFaults, ACallThatFailsIsToldToAll) { EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_FAIL"), ""); }
TEST_P(NcclLastRoundFaults, AnErrorThatComesLaterIsToldToAll) {
  EXPECT_EQ(struck_in(GetParam(), "NCCL_DOUBLE_BREAK"), "");
}

INSTANTIATE_TEST_SUITE_P(Of, NcclLastRoundFaults,
                         testing::Values(Kind{BALEEN_ALL_REDUCE, "ncclBroadcast:3", true},
                                         Kind{BALEEN_REDUCE, "ncclSend:3", true}),
                         [](const auto& info) { return info.param.text(); });

/// Rank 1 receives from rank 0 and then sends to rank 2; one of the two is struck.
class NcclPairFaults : public testing::TestWithParam<const char*> {
 protected:
  static std::string struck_in(const char* variable) {
    return struck({variable, GetParam()}, [](Rank& rank, void* world) -> Part {
      const auto pair = [&](baleen_collective_t op, std::int32_t peer) {
        return std::make_shared<Prepared>(rank, world, op, true, peer);
      };
      std::vector<std::shared_ptr<Prepared>> all;
      if (rank.rank == 0) all = {pair(BALEEN_SEND, 1)};
      if (rank.rank == 1) all = {pair(BALEEN_RECEIVE, 0), pair(BALEEN_SEND, 2)};
      if (rank.rank == 2) all = {pair(BALEEN_RECEIVE, 1)};
      // Rank 0's second send waits for rank 1 in any case.
      return [&rank, all] {
        for (const auto& each : all) rank.run(each->slot);
        if (rank.rank == 0) rank.run(all[0]->slot);
      };
    });
  }
};

TEST_P(NcclPairFaults, ADeathIsNamedByBothSides) { EXPECT_EQ(struck_in("NCCL_DOUBLE_DIE"), kDeath); }
TEST_P(NcclPairFaults, ACallThatFailsIsToldToAll) { EXPECT_EQ(struck_in("NCCL_DOUBLE_FAIL"), ""); }
TEST_P(NcclPairFaults, AnErrorThatComesLaterIsToldToAll) { EXPECT_EQ(struck_in("NCCL_DOUBLE_BREAK"), ""); }

INSTANTIATE_TEST_SUITE_P(Of, NcclPairFaults, testing::Values("ncclSend:1", "ncclRecv:1"), [](const auto& info) {
  return std::string(info.param).substr(0, std::string(info.param).find(':'));
});

/// Barriers go beside NCCL: rank 1 has begun one, and dies or fails at something else, before it is ready for it.
std::string struck_in_a_barrier(const char* variable) {
  return struck({variable, "ncclAllReduce:1"}, [](Rank& rank, void* world) -> Part {
    void* const barrier = rank.prepare(world, barrier_spec());
    void* const own = rank.group({rank.rank});
    const auto alone = std::make_shared<Prepared>(rank, own, BALEEN_ALL_REDUCE, false);
    return [&rank, barrier, alone] {
      if (rank.rank != 1) return rank.run(barrier);
      static baleen_event_t never{}, done{};
      rank.start(barrier, &never, 1, &done, 1);
      usleep(100'000);  // the others wait for it
      rank.run(alone->slot);
    };
  });
}

TEST(NcclBarrierFaults, ADeathIsNamedByAllOthers) { EXPECT_EQ(struck_in_a_barrier("NCCL_DOUBLE_DIE"), kDeath); }
TEST(NcclBarrierFaults, ACallThatFailsIsToldToAll) { EXPECT_EQ(struck_in_a_barrier("NCCL_DOUBLE_FAIL"), ""); }
TEST(NcclBarrierFaults, AnErrorThatComesLaterIsToldToAll) { EXPECT_EQ(struck_in_a_barrier("NCCL_DOUBLE_BREAK"), ""); }

/// Two communicators of rank 0 and of rank 2 have an operation under way when rank 1 dies, and a stream of rank 0 waits
/// for a buffer of the host. Each abort waits for all the device's work, so none may wait for another abort.
TEST(NcclAbortFaults, NoAbortHoldsUpAnother) {
  const std::string failures = struck({"NCCL_DOUBLE_DIE", "ncclAllReduce:1"}, [](Rank& rank, void* world) -> Part {
    const auto prepare = [&](baleen_collective_t op, std::int32_t peer) {
      return std::make_shared<Prepared>(rank, world, op, false, peer);
    };
    const auto whole = prepare(BALEEN_ALL_REDUCE, 0);
    std::vector<std::shared_ptr<Prepared>> pairs;
    if (rank.rank == 0) pairs = {prepare(BALEEN_RECEIVE, 1), prepare(BALEEN_SEND, 2)};
    if (rank.rank == 1) pairs = {prepare(BALEEN_SEND, 0)};
    if (rank.rank == 2) pairs = {prepare(BALEEN_RECEIVE, 0)};
    return [&rank, whole, pairs] {
      static baleen_event_t never{}, all{}, received{}, sent{};
      if (rank.rank == 1) {
        usleep(300'000);  // the others have begun
        return rank.run(whole->slot);
      }
      rank.start(pairs[0]->slot, nullptr, 0, &received, 1);
      if (rank.rank == 0) rank.start(pairs[1]->slot, &never, 1, &sent, 1);
      rank.start(whole->slot, nullptr, 0, &all, 1);
      rank.finish(all, 1);
    };
  });
  EXPECT_EQ(failures, kDeath);
}

/// What a stream goes on with when nobody waits for its buffers any more is not sent, though the buffer of a later
/// operation is ready.
TEST(NcclAbortFaults, WhatNeverBecameReadyIsNotSent) {
  const std::string failures = run_nccl(2, [](Rank& rank) {
    void* const world = rank.world();
    const Prepared one(rank, world, rank.rank == 0 ? BALEEN_SEND : BALEEN_RECEIVE, false, 1 - rank.rank);
    static baleen_event_t never{}, done{};
    rank.start(one.slot, rank.rank == 0 ? &never : nullptr, 1, &done, 1);
    if (rank.rank == 0) {
      rank.start(one.slot, nullptr, 0, &done, 2);
      usleep(100'000);  // the other waits
      rank.abort("this rank gives up");
    }
    event_wait(done, 1);
    expect(event_value(done) == BALEEN_EVENT_FAILED, "something arrived that nobody had sent");
  });
  EXPECT_EQ(failures, "");
}

/// Whoever starts an operation and is refused may forget its event: a thread that copies buffers of the host, and what
/// fails all that is under way, do not touch it any more.
TEST(NcclStartFaults, AStartThatIsRefusedLeavesItsEventAlone) {
  const std::string failures = run_nccl(2, [](Rank& rank) {
    const Prepared one(rank, rank.world(), BALEEN_ALL_REDUCE, false);
    if (rank.rank == 1) setenv("NCCL_DOUBLE_FAIL", "ncclAllReduce:1", 1);
    baleen_event_t done{};
    const baleen_status_t started = rank.table.start(rank.get(), one.slot, nullptr, 0, &done, 1);
    if (rank.rank == 0) {
      if (started == BALEEN_OK) event_wait(done, 1);
      return;
    }
    expect(started == BALEEN_PEER_LOST, "it started");
    done = {};
    usleep(300'000);
    expect(event_value(done) == 0, "its event was raised to " + std::to_string(event_value(done)));
  });
  EXPECT_EQ(failures, "");
}

/// One rank's communicator fails while it is made; the others, which wait for it, are told.
TEST(NcclGroupFaults, ACommunicatorThatFailsIsToldToAll) {
  const std::string failures = run_nccl(3, [](Rank& rank) {
    if (rank.rank == 1) setenv("NCCL_DOUBLE_FAIL", "ncclCommInitRankConfig:1", 1);
    const auto begin = std::chrono::steady_clock::now();
    try {
      rank.world();
    } catch (const std::runtime_error& e) {
      expect_contains(e.what(), "rank 1: ncclCommInitRankConfig failed: unhandled system error");
      return expect(test::seconds_since(begin) < 5, "it took too long");
    }
    throw std::runtime_error("it ended well");
  });
  EXPECT_EQ(failures, "");
}

/// Nobody fails, and nobody comes: the limit of `timeout` ends it, with what was waited for.
TEST(NcclGroupFaults, AnEnqueueThatDoesNotEndIsGivenUp) {
  const std::string failures =
      run_nccl(2,
               [](Rank& rank) {
                 if (rank.rank == 1) setenv("NCCL_DOUBLE_HANG", "1", 1);
                 try {
                   rank.world();
                 } catch (const std::runtime_error& e) {
                   return expect_contains(e.what(), "has not come to its end within 2 s (`timeout`)");
                 }
                 throw std::runtime_error("it ended well");
               },
               {{"timeout", "2"}});
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace baleen::conformance
