/// \file Ops by their hash: all are found, the first of those that are meant.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "compiler/graph/ops_by_hash.hpp"
#include "support/seed.hpp"

namespace baleen {
namespace {

TEST(OpsByHash, FindsTheFirstOneThatIsMeant) {
  std::mt19937_64 random(test::seed());
  OpsByHash ops;
  std::map<std::uint64_t, std::vector<baleen_op_t>> expected;
  const auto all = [](baleen_op_t) { return true; };
  EXPECT_EQ(ops.find(7, all), BALEEN_NONE);
  for (baleen_op_t op = 0; op < 3000; ++op) {
    // Few different ones, of which many begin at one place, the last ones.
    const std::uint64_t hash = op % 3 == 0 ? random() % 4 : op % 3 == 1 ? 0xffffff - random() % 50 : random() % 5000;
    ops.add(hash, op);
    expected[hash].push_back(op);
    if (op % 97 != 0) continue;
    for (const auto& [one, list] : expected) {
      ASSERT_EQ(ops.find(one, all), list.front()) << one;
      std::vector<baleen_op_t> seen;
      ASSERT_EQ(ops.find(one, [&](baleen_op_t asked) { return seen.push_back(asked), false; }), BALEEN_NONE);
      ASSERT_EQ(seen, list) << one << " after " << op;
    }
  }
}

}  // namespace
}  // namespace baleen
