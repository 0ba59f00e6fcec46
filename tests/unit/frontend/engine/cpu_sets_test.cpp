/// \file Processors among ranks.
#include "frontend/engine/cpu_sets.hpp"

#include <gtest/gtest.h>

#include <set>

namespace baleen {
namespace {

/// Two packages of `cores` cores of two siblings each, numbered as systems do: all first siblings, then all second
/// ones.
std::vector<Cpu> machine(int cores) {
  std::vector<Cpu> cpus;
  for (int sibling = 0; sibling < 2; ++sibling)
    for (int package = 0; package < 2; ++package)
      for (int core = 0; core < cores; ++core) cpus.push_back({(sibling * 2 + package) * cores + core, package, core});
  return cpus;
}

TEST(CpuSets, KeepSiblingsAndPackagesTogether) {
  const CpuShares two = share_cpus(machine(2), 2, 0);
  EXPECT_EQ(two.threads, 4);
  EXPECT_EQ(two.sets, (std::vector<std::vector<int>>{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  const CpuShares four = share_cpus(machine(2), 4, 0);
  EXPECT_EQ(four.threads, 2);
  EXPECT_EQ(four.sets, (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(CpuSets, AreChosenByAList) {
  const auto chosen = choose_cpus(machine(2), "0-2,6,2");
  ASSERT_TRUE(chosen);
  std::set<int> numbers;
  for (const Cpu& cpu : *chosen) numbers.insert(cpu.number);
  EXPECT_EQ(numbers, (std::set<int>{0, 1, 2, 6}));
  EXPECT_EQ(choose_cpus(machine(2), "")->size(), 8u);
  const auto missing = choose_cpus(machine(2), "6-9");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "`6-9` names processor 8, which this host lacks or this process may not use");
  for (const std::string bad : {"x", "-", "1-", "3-1", "1,,2", "1,", ",1", "1 2", "-1", "99999999999"})
    EXPECT_FALSE(choose_cpus(machine(2), bad)) << bad;
}

TEST(CpuSets, AreDisjointAndUseEveryProcessor) {
  for (int ranks = 1; ranks <= 12; ++ranks) {
    const CpuShares shares = share_cpus(machine(3), ranks, 0);
    EXPECT_EQ(shares.threads, 12 / ranks);
    ASSERT_EQ(shares.sets.size(), static_cast<std::size_t>(ranks));
    std::set<int> used;
    std::size_t total = 0;
    for (const auto& set : shares.sets) {
      EXPECT_GE(set.size(), static_cast<std::size_t>(shares.threads));
      used.insert(set.begin(), set.end());
      total += set.size();
    }
    EXPECT_EQ(total, 12u);
    EXPECT_EQ(used.size(), 12u);
  }
}

TEST(CpuSets, AreLeftOutWhereProcessorsAreTooFew) {
  const CpuShares crowded = share_cpus(machine(1), 5, 0);
  EXPECT_EQ(crowded.threads, 1);
  EXPECT_TRUE(crowded.sets.empty());
  const CpuShares asked = share_cpus(machine(1), 2, 3);
  EXPECT_EQ(asked.threads, 3);
  EXPECT_TRUE(asked.sets.empty());
  EXPECT_EQ(share_cpus({}, 2, 0).threads, 1);
}

TEST(CpuSets, FollowTheUsersThreads) {
  const CpuShares shares = share_cpus(machine(2), 2, 1);
  EXPECT_EQ(shares.threads, 1);
  EXPECT_EQ(shares.sets.size(), 2u);
}

TEST(CpuSets, KnowThisMachine) { EXPECT_FALSE(usable_cpus().empty()); }

}  // namespace
}  // namespace baleen
