/// \file Memory per rank falls as 1 / P in the sequence: planned bytes of activations.
#include <gtest/gtest.h>

#include <fstream>

#include "sequence_run.hpp"

namespace baleen::test {
namespace {

/// One row of `tokens` tokens.
double activations(const PlanEntry& plan, int ranks, int tokens, const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;
  std::string text;
  while (text.size() < 8192) text += read_file(source_dir() + "/tests/golden/whales.txt");
  std::vector<std::string> arguments{"batch=1", "heads=8", "context=" + std::to_string(tokens),
                                     "data=" + folder.write("long.txt", text)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  double most = 0;
  for (const auto& own : facts_of_ranks("planned_bytes.", {{"sequence", ranks}}, {plan}, arguments))
    most = std::max(most, own.at("activations"));
  return most;
}

/// As many tokens on each rank take as much memory, however many ranks share the sequence: nothing of the whole
/// sequence is ever held, and of keys and values no more blocks than are at work and on their way.
TEST(SequenceMemory, OfARankDependsOnItsOwnTokens) {
  for (const PlanEntry& plan : {ring(), ulysses()}) {
    const double of_four = activations(plan, 4, 256);
    EXPECT_LE(of_four, 1.4 * activations(plan, 2, 128)) << plan.options;
    EXPECT_LE(activations(plan, 8, 512), 1.01 * of_four) << plan.options;
  }
}

/// Against one rank with the whole sequence.
TEST(SequenceMemory, FallsWithTheRanks) {
  const double one = activations(ring(), 1, 512);
  EXPECT_LE(activations(ring(), 2, 512), one / 2 * 1.1);
  EXPECT_LE(activations(ring(), 8, 512), one / 8 * 1.2);
  EXPECT_LE(activations(ulysses(), 8, 512), one / 8 * 1.1);
}

}  // namespace
}  // namespace baleen::test
