/// \file The transport `hierarchy` on hosts of every shape: each collective, many at once, and among them such as stay
/// inside a host or between two.
#include <memory>
#include <random>

#include "suite.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

std::string run_on(const std::string& hosts, const std::function<void(Rank&)>& body) {
  static const test::TransportPlugin plugin(test::built_plugin("transport", "hierarchy"));
  const test::RankOptions loopbacks{{"intra_host", member_text("loopback")}, {"inter_host", member_text("loopback")}};
  return test::run_ranks(plugin, As::kThreads, static_cast<std::int32_t>(hosts.size()), body, loopbacks, hosts);
}

const char* const kShapes[] = {"aab",      "abb",      "aba",      "aabb",     "abba",     "abbb",
                               "aaab",     "abcc",     "aaabb",    "aabbb",    "aabcc",    "aabbcc",
                               "aaabbb",   "abbccc",   "ababab",   "aaaabbb",  "aabbccd",  "abbcccc",
                               "aaaabbbb", "aabbccdd", "abbbbbbb", "aabbbbcc", "abcdabcd", "aaaaaaab"};

TEST(HierarchyShapes, EveryOperationOnEveryShape) {
  for (const std::string hosts : kShapes) {
    EXPECT_EQ(
        run_on(hosts,
               [](Rank& rank) {
                 std::byte* arena = arena_of(rank, 8 << 20);
                 void* world = rank.world();
                 const auto place = static_cast<std::size_t>(rank.rank);
                 std::uint64_t seed = 0;
                 for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_I32}) {
                   for (const baleen_collective_t op : kCollectives) {
                     for (const auto& counts : std::vector<std::vector<std::uint64_t>>{{1}, {0, 17, 250}, {999, 3}}) {
                       Case c = case_of(op, dtype, static_cast<std::size_t>(rank.ranks), counts, ++seed);
                       c.deterministic = dtype != BALEEN_I32;
                       for (const bool in_place : {false, true})
                         run_case(rank, world, place, c, Memory::kMixed, in_place, arena);
                     }
                   }
                 }
               }),
        "")
        << hosts;
  }
}

// Every root, and every shift of a permutation in place: what arrives through one transport must not overwrite what
// leaves through the other.
TEST(HierarchyShapes, EveryRootAndEveryShift) {
  for (const std::string hosts : {"aab", "abbb", "aabb", "abab", "aabbb"}) {
    EXPECT_EQ(run_on(hosts,
                     [](Rank& rank) {
                       std::byte* arena = arena_of(rank, 4 << 20);
                       void* world = rank.world();
                       const auto place = static_cast<std::size_t>(rank.rank),
                                  ranks = static_cast<std::size_t>(rank.ranks);
                       for (std::size_t turn = 0; turn < ranks; ++turn) {
                         for (const baleen_collective_t op : {BALEEN_BROADCAST, BALEEN_REDUCE, BALEEN_PERMUTE}) {
                           Case c = case_of(op, BALEEN_F32, ranks, {30'000, 7}, 40 + turn);
                           c.root = turn;
                           c.destinations.clear();
                           for (std::size_t from = 0; op == BALEEN_PERMUTE && from < ranks; ++from)
                             c.destinations.push_back(static_cast<std::int32_t>((from + turn) % ranks));
                           run_case(rank, world, place, c, Memory::kArena, true, arena);
                         }
                       }
                     }),
              "")
        << hosts;
  }
}

using Ranks = std::vector<std::int32_t>;

Ranks ranks_between(std::int32_t first, std::int32_t end) {
  Ranks ranks;
  for (; first < end; ++first) ranks.push_back(first);
  return ranks;
}

// Those of this rank, among many that are drawn alike on all ranks.
std::vector<std::unique_ptr<Exchange>> random_exchanges(Rank& rank, const std::vector<Ranks>& lists,
                                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<void*> groups;
  for (const Ranks& list : lists)
    groups.push_back(std::count(list.begin(), list.end(), rank.rank) ? rank.group(list) : nullptr);
  std::vector<std::unique_ptr<Exchange>> all;
  for (int i = 0; i < 60; ++i) {
    const std::size_t g = random() % lists.size();
    const baleen_collective_t op = kCollectives[random() % std::size(kCollectives)];
    const std::vector<std::uint64_t> counts = {random() % 5000, random() % 9};
    const Case c = case_of(op, BALEEN_F32, lists[g].size(), counts, random() % 1000);
    if (!groups[g]) continue;
    const auto place = std::find(lists[g].begin(), lists[g].end(), rank.rank) - lists[g].begin();
    all.push_back(std::make_unique<Exchange>(rank, groups[g], static_cast<std::size_t>(place), c, Memory::kPrivate,
                                             i % 2 == 0, nullptr));
  }
  return all;
}

// Groups of the world, of halves and across hosts; their operations all outstanding at once, in one order.
TEST(HierarchyShapes, ManyOperationsOfManyGroupsAtOnce) {
  const std::uint64_t seed = test::seed();
  for (const std::string hosts : {"aabb", "aabbb", "aabbcc"}) {
    const auto ranks = static_cast<std::int32_t>(hosts.size());
    const std::vector<Ranks> lists = {ranks_between(0, ranks),
                                      ranks_between(0, ranks / 2),
                                      ranks_between(ranks / 2, ranks),
                                      {0, ranks - 1},
                                      {0, 1, ranks - 1}};
    EXPECT_EQ(run_on(hosts,
                     [&](Rank& rank) {
                       const auto all = random_exchanges(rank, lists, seed);
                       for (int round = 0; round < 3; ++round) {
                         baleen_event_t go{};
                         std::vector<baleen_event_t> ends(all.size());
                         for (std::size_t i = 0; i < all.size(); ++i) rank.start(all[i]->slot(), &go, 1, &ends[i], 1);
                         event_signal(go, 1);
                         for (std::size_t i = 0; i < all.size(); ++i) {
                           rank.finish(ends[i], 1);
                           all[i]->verify();
                           all[i]->fill();
                         }
                       }
                     }),
              "")
        << hosts;
  }
}

}  // namespace
}  // namespace baleen::conformance
