/// \file A rank dies in a collective, or NCCL fails on it, at once or later: all others leave within five seconds, and
/// name it.
#include <chrono>

#include "nccl_run.hpp"
#include "support/promise.hpp"

namespace baleen::conformance {
namespace {

/// A collective, and the call of NCCL that rank 1 makes for it.
struct Kind {
  baleen_collective_t op;
  const char* call;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << collective_name(kind.op); }

constexpr Kind kKinds[] = {{BALEEN_ALL_REDUCE, "ncclAllReduce"}, {BALEEN_REDUCE_SCATTER, "ncclReduceScatter"},
                           {BALEEN_ALL_GATHER, "ncclAllGather"}, {BALEEN_BROADCAST, "ncclBroadcast"},
                           {BALEEN_REDUCE, "ncclReduce"},        {BALEEN_ALL_TO_ALL, "ncclSend"},
                           {BALEEN_PERMUTE, "ncclRecv"}};

constexpr std::uint64_t kCount = 30'000;

class NcclFaults : public testing::TestWithParam<Kind> {
 protected:
  /// Once all is well; then `variable` strikes on rank 1. What the ranks report.
  std::string struck(const char* variable) const {
    return run_nccl(3, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> in(kCount, 1), out(kCount, 1);
      const baleen_collective_t op = GetParam().op;
      // In place, but for all_to_all.
      const bool apart = op == BALEEN_ALL_TO_ALL;
      const OneBuffer one(op, in.data(), apart ? out.data() : in.data(), kCount, rank);
      void* slot = rank.prepare(world, one.spec);
      rank.run(slot);
      if (rank.rank == 1) setenv(variable, (std::string(GetParam().call) + ":1").c_str(), 1);
      const auto begin = std::chrono::steady_clock::now();
      std::string why;
      try {
        rank.run(slot);
      } catch (const std::runtime_error& e) {
        why = e.what();
      }
      const double took = test::seconds_since(begin);
      expect(!why.empty(), "it ended well");
      expect_contains(why, "rank 1");
      if (variable != std::string("NCCL_DOUBLE_DIE")) expect_contains(why, variable);
      expect(took < 5, "it took " + std::to_string(took) + " s to leave");
    });
  }
};

TEST_P(NcclFaults, ADeathIsNamedByAllOthers) { EXPECT_EQ(struck("NCCL_DOUBLE_DIE"), "rank 1 ended with status 9\n"); }
TEST_P(NcclFaults, ACallThatFailsIsToldToAll) { EXPECT_EQ(struck("NCCL_DOUBLE_FAIL"), ""); }
TEST_P(NcclFaults, AnErrorThatComesLaterIsToldToAll) { EXPECT_EQ(struck("NCCL_DOUBLE_BREAK"), ""); }

INSTANTIATE_TEST_SUITE_P(Of, NcclFaults, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(collective_name(info.param.op)); });

/// Rank 1 dies where ranks 0 and 2 talk to it alone, or to each other.
TEST(NcclPairFaults, ADeathIsNamedByBothSides) {
  const std::string failures = run_nccl(3, [](Rank& rank) {
    void* world = rank.world();
    std::vector<float> data(kCount, 1);
    const auto prepare = [&](baleen_collective_t op, std::int32_t peer) {
      OneBuffer one(op, data.data(), data.data(), kCount, rank);
      one.spec.root = peer;
      return rank.prepare(world, one.spec);
    };
    // Rank 2 may still prepare when rank 1 has died of what it does with rank 0.
    try {
      void *first = nullptr, *second = nullptr;
      if (rank.rank == 0) first = prepare(BALEEN_SEND, 1);
      if (rank.rank == 1) first = prepare(BALEEN_RECEIVE, 0), second = prepare(BALEEN_SEND, 2);
      if (rank.rank == 2) first = prepare(BALEEN_RECEIVE, 1);
      if (rank.rank == 1) setenv("NCCL_DOUBLE_DIE", "ncclRecv:1", 1);
      rank.run(first);
      if (second) rank.run(second);
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(), "rank 1 is gone");
    }
    throw std::runtime_error("it ended well");
  });
  EXPECT_EQ(failures, "rank 1 ended with status 9\n");
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
