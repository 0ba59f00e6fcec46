/// \file What crosses from host to host, to the byte, and that nothing of a host leaves it and comes back.
#include "counting.hpp"

namespace baleen::hierarchy {
namespace {

constexpr std::uint64_t kCount = 3360;  // of elements: divides by hosts and by ranks of all shapes here

struct Given {
  baleen_collective_t op;
  baleen_dtype_t dtype = BALEEN_F32;
  bool deterministic = true;
  std::int32_t root = 0;
};

/// Runs a collective of one buffer once on all ranks; returns what crossed.
std::uint64_t crossed(const std::string& hosts, const Given& given, bool may_stay = false) {
  Ledger ledger;
  const std::string failures = run_counted(hosts, ledger, [&](CountedRank& rank) {
    const auto ranks = static_cast<std::uint64_t>(rank.ranks);
    std::vector<std::byte> input(kCount * 8), output(kCount * 8);
    const bool pieces = given.op == BALEEN_ALL_TO_ALL;
    const std::uint64_t block = pieces ? kCount / ranks : (kCount + ranks - 1) / ranks;
    const baleen_collective_entry_t entry{input.data(), output.data(), kCount, block, nullptr, nullptr};
    std::vector<std::int32_t> next;
    for (std::int32_t from = 0; from < rank.ranks; ++from) next.push_back((from + 1) % rank.ranks);
    const bool reduces = is_reducing(given.op), barrier = given.op == BALEEN_BARRIER;
    const baleen_collective_spec_t spec{sizeof spec,
                                        given.op,
                                        reduces ? BALEEN_SUM : 0,
                                        given.dtype,
                                        given.root,
                                        &entry,
                                        barrier ? 0u : 1u,
                                        given.op == BALEEN_PERMUTE ? next.data() : nullptr,
                                        given.deterministic ? 1u : 0u,
                                        0,
                                        {}};
    rank.run(rank.prepare(rank.world(), spec));
  });
  EXPECT_EQ(failures, "") << hosts;
  EXPECT_TRUE(may_stay || ledger.stayed == 0) << hosts << ": " << ledger.stayed << " bytes";
  return ledger.crossed;
}

/// Of letters of which equal ones stand together.
std::uint64_t hosts_of(std::string letters) {
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  return letters.size();
}

// In the first four hosts have as many ranks; in all of them the sums of hosts make the promised tree.
const char* const kShapes[] = {"aabb", "aaaabbbb", "aabbccdd", "aaabbb", "aab", "aaabb"};

TEST(HierarchyBytes, WholeBuffersCrossOncePerHost) {
  for (const std::string hosts : kShapes) {
    const std::uint64_t once = (hosts_of(hosts) - 1) * kCount * 4;
    EXPECT_EQ(crossed(hosts, {BALEEN_ALL_REDUCE}), 2 * once) << hosts;
    EXPECT_EQ(crossed(hosts, {BALEEN_REDUCE_SCATTER}), once) << hosts;
    EXPECT_EQ(crossed(hosts, {BALEEN_ALL_GATHER}), once) << hosts;
    for (std::int32_t root = 0; root < static_cast<std::int32_t>(hosts.size()); ++root) {
      EXPECT_EQ(crossed(hosts, {BALEEN_BROADCAST, BALEEN_F32, true, root}), once) << hosts;
      EXPECT_EQ(crossed(hosts, {BALEEN_REDUCE, BALEEN_F32, true, root}), once) << hosts;
    }
    EXPECT_EQ(crossed(hosts, {BALEEN_BARRIER}), 0u) << hosts;
  }
}

TEST(HierarchyBytes, OrderThatDoesNotMatterLetsHostsAddAnywhere) {
  for (const std::string hosts : {"abb", "aabbcc", "abbbcc"}) {
    const std::uint64_t once = (hosts_of(hosts) - 1) * kCount * 4;
    EXPECT_EQ(crossed(hosts, {BALEEN_ALL_REDUCE, BALEEN_I32}), 2 * once) << hosts;
    EXPECT_EQ(crossed(hosts, {BALEEN_REDUCE_SCATTER, BALEEN_F32, false}), once) << hosts;
    EXPECT_EQ(crossed(hosts, {BALEEN_REDUCE, BALEEN_F32, false, 1}), once) << hosts;
  }
}

// Where hosts must not add, everyone's raw block goes to its owner; the result still comes once to each host.
TEST(HierarchyBytes, RawInputsCrossWhereHostsMustNotAdd) {
  const std::uint64_t bf16 = kCount * 2, f32 = kCount * 4;
  EXPECT_EQ(crossed("aabb", {BALEEN_ALL_REDUCE, BALEEN_BF16}, true), 4 * bf16 / 2 + bf16);
  EXPECT_EQ(crossed("aabbccdd", {BALEEN_ALL_REDUCE, BALEEN_BF16}, true), 8 * bf16 * 3 / 4 + 3 * bf16);
  EXPECT_EQ(crossed("aabbcc", {BALEEN_ALL_REDUCE}, true), 6 * f32 * 2 / 3 + 2 * f32);
  EXPECT_EQ(crossed("aabb", {BALEEN_REDUCE_SCATTER, BALEEN_F16}, true), 4 * kCount * 2 / 2);
}

TEST(HierarchyBytes, PiecesCrossOnlyToOtherHosts) {
  for (const std::string hosts : {"aabb", "aabbccdd", "aab", "abbb"}) {
    const std::uint64_t ranks = hosts.size(), piece = kCount / ranks * 4;
    std::uint64_t pairs = 0, steps = 0;
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) pairs += hosts[from] != hosts[to];
      steps += hosts[from] != hosts[(from + 1) % ranks];
    }
    EXPECT_EQ(crossed(hosts, {BALEEN_ALL_TO_ALL}), pairs * piece) << hosts;
    EXPECT_EQ(crossed(hosts, {BALEEN_PERMUTE}), steps * kCount * 4) << hosts;
  }
}

TEST(HierarchyBytes, AHostAloneSendsNothing) {
  for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_ALL_GATHER, BALEEN_ALL_TO_ALL, BALEEN_PERMUTE})
    EXPECT_EQ(crossed("aaaa", {op}), 0u);
}

}  // namespace
}  // namespace baleen::hierarchy
