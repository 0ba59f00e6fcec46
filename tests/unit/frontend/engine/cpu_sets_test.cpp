/// \file Processors among ranks, on machines that hwloc describes.
#include "frontend/engine/cpu_sets.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <set>

namespace baleen {
namespace {

using Sets = std::vector<std::vector<int>>;

std::vector<Cpu> machine(const std::string& description) {
  auto cpus = described_cpus(description);
  EXPECT_TRUE(cpus) << cpus.error().text();
  return cpus ? *cpus : std::vector<Cpu>();
}

/// Two packages with memory of their own, of `cores` cores of two siblings each, numbered as systems do: all first
/// siblings, then all second ones.
std::vector<Cpu> two_packages(int cores) {
  std::string numbers;
  for (int core = 0; core < 2 * cores; ++core)
    numbers += (core ? "," : "") + std::to_string(core) + "," + std::to_string(core + 2 * cores);
  return machine("pack:2 [numa] core:" + std::to_string(cores) + " pu:2(indexes=" + numbers + ")");
}

TEST(CpuSets, KeepSiblingsAndPackagesTogether) {
  const CpuShares two = share_cpus(two_packages(2), 2, 0);
  EXPECT_EQ(two.threads, 4);
  EXPECT_EQ(two.sets, (Sets{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  const CpuShares four = share_cpus(two_packages(2), 4, 0);
  EXPECT_EQ(four.threads, 2);
  EXPECT_EQ(four.sets, (Sets{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(CpuSets, AreWholeCoresWhereThreadsFit) {
  const CpuShares shares = share_cpus(machine("core:4 pu:2"), 3, 0);
  EXPECT_EQ(shares.threads, 2);
  EXPECT_EQ(shares.sets, (Sets{{0, 1}, {2, 3}, {4, 5, 6, 7}}));
  // Three threads of each do not fit into whole cores: two ranks share one.
  const CpuShares parts = share_cpus(machine("core:3 pu:2"), 2, 3);
  EXPECT_EQ(parts.sets, (Sets{{0, 1, 2}, {3, 4, 5}}));
}

TEST(CpuSets, AreOnNodesOfTheirOwnWhereThreadsFit) {
  const std::vector<Cpu> four_nodes = machine("pack:2 numa:2 core:4 pu:1");
  EXPECT_EQ(share_cpus(four_nodes, 2, 0).sets, (Sets{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(share_cpus(four_nodes, 4, 2).sets, (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  EXPECT_EQ(share_cpus(four_nodes, 6, 2).sets,
            (Sets{{0, 1}, {2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11}, {12, 13, 14, 15}}));
  // Five threads fit into no node, so three ranks share all nodes.
  const CpuShares three = share_cpus(four_nodes, 3, 0);
  EXPECT_EQ(three.threads, 5);
  EXPECT_EQ(three.sets, (Sets{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {10, 11, 12, 13, 14, 15}}));
}

TEST(CpuSets, AreOnOneNodeThoughTheyShareACore) {
  // Three threads are a core and a half; two ranks of a node share its middle core, and none has two nodes.
  const CpuShares shares = share_cpus(machine("numa:2 core:3 pu:2"), 4, 3);
  EXPECT_EQ(shares.sets, (Sets{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}));
}

TEST(CpuSets, KnowNodesByTheirMemoryAndNotByTheirNumbers) {
  // Even processors are in one package, odd ones in the other.
  const std::vector<Cpu> mixed = machine("pack:2 [numa] core:4 pu:1(indexes=0,2,4,6,1,3,5,7)");
  EXPECT_EQ(share_cpus(mixed, 2, 0).sets, (Sets{{0, 2, 4, 6}, {1, 3, 5, 7}}));
}

TEST(CpuSets, AreCutFromWhatIsAllowed) {
  std::vector<Cpu> allowed = machine("numa:2 core:4 pu:1");
  std::erase_if(allowed, [](const Cpu& cpu) { return cpu.number == 1 || cpu.number > 5; });
  const CpuShares shares = share_cpus(allowed, 2, 0);
  EXPECT_EQ(shares.threads, 2);
  EXPECT_EQ(shares.sets, (Sets{{0, 2, 3}, {4, 5}}));
}

/// An object of hwloc's XML over these processors (a mask), and what is in it.
std::string xml_object(const std::string& type, int index, const std::string& cpus, const std::string& inside = "") {
  static int made = 0;
  std::string text = "<object type=\"" + type + "\" os_index=\"" + std::to_string(index) + "\" gp_index=\"" +
                     std::to_string(++made) + "\"";
  for (const char* name : {"cpuset", "complete_cpuset", "allowed_cpuset"})
    text += std::string(" ") + name + "=\"" + cpus + "\"";
  for (const char* name : {"nodeset", "complete_nodeset", "allowed_nodeset"})
    text += std::string(" ") + name + "=\"0x1\"";
  return text + ">" + inside + "</object>\n";
}

TEST(CpuSets, AreReadFromXml) {
  const std::string first = xml_object("PU", 0, "0x1") + xml_object("PU", 2, "0x4");
  const std::string second = xml_object("PU", 1, "0x2") + xml_object("PU", 3, "0x8");
  const std::string all =
      xml_object("NUMANode", 0, "0xf") + xml_object("Core", 0, "0x5", first) + xml_object("Core", 1, "0xa", second);
  const std::vector<Cpu> cpus = machine(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
      "<topology version=\"2.0\">\n" +
      xml_object("Machine", 0, "0xf", all) + "</topology>\n");
  EXPECT_EQ(share_cpus(cpus, 2, 0).sets, (Sets{{0, 2}, {1, 3}}));
  EXPECT_EQ(cpus_text(cpus), "4 usable: 2 cores");
}

TEST(CpuSets, AreChosenByAList) {
  const auto chosen = choose_cpus(two_packages(2), "0-2,6,2");
  ASSERT_TRUE(chosen);
  std::set<int> numbers;
  for (const Cpu& cpu : *chosen) numbers.insert(cpu.number);
  EXPECT_EQ(numbers, (std::set<int>{0, 1, 2, 6}));
  EXPECT_EQ(choose_cpus(two_packages(2), "")->size(), 8u);
  const auto missing = choose_cpus(two_packages(2), "6-9");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "`6-9` names processor 8, which this host lacks or this process may not use; there are 0-7");
  for (const std::string bad : {"x", "-", "1-", "3-1", "1,,2", "1,", ",1", "1 2", "-1", "99999999999"})
    EXPECT_FALSE(choose_cpus(two_packages(2), bad)) << bad;
}

TEST(CpuSets, AreDisjointAndUseEveryProcessor) {
  for (const std::string description : {"pack:2 [numa] core:3 pu:2", "core:12 pu:1", "numa:3 core:2 pu:2", "pu:12"})
    for (int ranks = 1; ranks <= 12; ++ranks) {
      const CpuShares shares = share_cpus(machine(description), ranks, 0);
      EXPECT_EQ(shares.threads, 12 / ranks);
      ASSERT_EQ(shares.sets.size(), static_cast<std::size_t>(ranks)) << description;
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
  const CpuShares crowded = share_cpus(two_packages(1), 5, 0);
  EXPECT_EQ(crowded.threads, 1);
  EXPECT_TRUE(crowded.sets.empty());
  const CpuShares asked = share_cpus(two_packages(1), 2, 3);
  EXPECT_EQ(asked.threads, 3);
  EXPECT_TRUE(asked.sets.empty());
  EXPECT_EQ(share_cpus({}, 2, 0).threads, 1);
}

TEST(CpuSets, FollowTheUsersThreads) {
  const CpuShares shares = share_cpus(two_packages(2), 2, 1);
  EXPECT_EQ(shares.threads, 1);
  EXPECT_EQ(shares.sets.size(), 2u);
}

TEST(Processors, AreDescribedToPeople) {
  EXPECT_EQ(cpus_text(machine("core:2 pu:1")), "2 usable");
  EXPECT_EQ(cpus_text(machine("core:4 pu:2")), "8 usable: 4 cores");
  EXPECT_EQ(cpus_text(machine("numa:2 core:4 pu:2")), "16 usable: 8 cores, 2 NUMA nodes");
  EXPECT_EQ(cpus_text(machine("numa:2 core:1 pu:1")), "2 usable: 2 cores, 2 NUMA nodes");
}

TEST(Processors, OfNoMachineAreRefused) {
  for (const char* bad : {"no machine", "core:x", "<topology"}) EXPECT_FALSE(described_cpus(bad)) << bad;
}

std::set<int> allowed() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> numbers;
  for (std::size_t number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(number, &set)) numbers.insert(static_cast<int>(number));
  return numbers;
}

std::set<int> usable() {
  std::set<int> numbers;
  for (const Cpu& cpu : usable_cpus()) numbers.insert(cpu.number);
  return numbers;
}

/// A list of a host's own manifest; each pass over all numbers took a hundredth of a second once, and longer each time.
TEST(CpuSets, OfAListThatNamesAllAgainAndAgainTakeNoTime) {
  std::string list = "0-65536";
  for (int i = 0; i < 20'000; ++i) list += ",0-65536";
  const auto numbers = cpu_numbers(list);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->size(), 65537u);
  EXPECT_EQ(*cpu_numbers("8,0-3,2"), (std::set<int>{0, 1, 2, 3, 8}));
  for (const char* bad : {"3-1", "65537", "0-65537", "1,", "-1"}) EXPECT_FALSE(cpu_numbers(bad)) << bad;
}

TEST(Processors, OfThisMachineAreThoseThatTheSystemAllows) {
  EXPECT_FALSE(allowed().empty());
  EXPECT_EQ(usable(), allowed());
}

TEST(Processors, AreKeptTo) {
  const int last = *allowed().rbegin();
  std::async(std::launch::async,
             [&] {  // another thread: this one keeps its processors
               const Status status = keep_to_cpus(std::to_string(last));
               EXPECT_TRUE(status) << status.error().text();
               EXPECT_EQ(allowed(), std::set<int>{last});
               EXPECT_EQ(usable(), std::set<int>{last});
               EXPECT_EQ(share_cpus(usable_cpus(), 1, 0).threads, 1);
             })
      .get();
}

}  // namespace
}  // namespace baleen
