/// \file Model states on grids of 64 ranks: weights are cut over the whole grid (2.5d: over each of its layers),
/// vectors less.
#include <set>

#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

#ifdef BALEEN_TEST_TENSOR

constexpr double kLayers = 36, kWidth = 4096, kVocabulary = 50304, kContext = 1024;

struct Grid {
  const char* mode;
  const char* more;
  double weights, inner,
      others;  ///< over how many ranks weights, biases inside a pair of products, and all else are cut
  double weight_gradients = weights;  ///< the same for what is accumulated
};

void PrintTo(const Grid& grid, std::ostream* out) { *out << grid.mode; }

class TensorGrid : public ::testing::TestWithParam<Grid> {};

TEST_P(TensorGrid, HoldsItsShareOfModelStates) {
  const Grid& grid = GetParam();
  const std::string plan = "[[plan]]\nstrategy = \"tensor\"\nmode = \"" + std::string(grid.mode) + "\"\n" + grid.more +
                           "[compute]\nmemory = 1000000000\n";
  const Planned planned = plan_of("plan/gpt_large", manifest_of({{"tensor", 64}}, plan),
                                  {"heads=64", "batch=128", "data=" + source_dir() + "/tests/golden/whales.txt"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const double weights = 12 * kLayers * kWidth * kWidth + kVocabulary * kWidth;
  const double inner = 7 * kLayers * kWidth;  // of queries, keys and values, and of the wide layer
  const double others = 6 * kLayers * kWidth + 2 * kWidth + kContext * kWidth;
  const double elements = weights / grid.weights + inner / grid.inner + others / grid.others;
  const double gradients = weights / grid.weight_gradients + inner / grid.inner + others / grid.others;
  double ranks = 0;
  for (const PlannedRanks& one : planned.classes) {
    ranks += one.numbers.at("count");
    EXPECT_EQ(one.bytes("parameters"), 4 * elements);
    EXPECT_EQ(one.numbers.at("held_gradients_bytes"), 4 * gradients);
    EXPECT_EQ(one.bytes("optimizer"), 8 * elements);
  }
  EXPECT_EQ(ranks, 64);
}

// 3d gathers a weight along the third axis, adds up its gradient over micro-batches as gathered, and reduces once.
INSTANTIATE_TEST_SUITE_P(Of64, TensorGrid,
                         ::testing::Values(Grid{"1d", "", 64, 64, 1}, Grid{"2d", "", 64, 8, 8},
                                           Grid{"2.5d", "depth = 4\n", 16, 4, 4}, Grid{"3d", "", 64, 4, 4, 16}));

/// With one micro-batch what a rank holds of gradients are shards, and two reductions under way; with more they are
/// whole along `depth`, and a note says what that costs.
TEST(Cube, HoldsShardsOfGradientsWithOneMicroBatch) {
  const double layers = 4, width = 1024, vocabulary = 8192, context = 256, side = 2;
  const double weights = 12 * layers * width * width + vocabulary * width;
  const double vectors = 13 * layers * width + 2 * width + context * width;
  const double shards = 4 * (weights / 8 + vectors / side), largest = 4 * vocabulary * width / 4;
  const std::string manifest =
      manifest_of({{"tensor", 8}}, "[[plan]]\nstrategy = \"tensor\"\nmode = \"3d\"\n[compute]\nmemory = 1000000000\n");
  const auto plan = [&](const std::string& accumulate, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments{"layers=4",
                                       "dim=1024",
                                       "heads=16",
                                       "vocab=8192",
                                       "context=256",
                                       "batch=64",
                                       "accumulate=" + accumulate,
                                       "data=" + source_dir() + "/tests/golden/whales.txt"};
    return plan_of("plan/gpt_large", manifest, arguments, flags);
  };
  const Planned one = plan("1"), two = plan("2");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  for (const PlannedRanks& ranks : one.classes)
    EXPECT_LE(ranks.numbers.at("held_gradients_bytes"), shards + 2 * largest);
  for (const PlannedRanks& ranks : two.classes)
    EXPECT_EQ(ranks.numbers.at("held_gradients_bytes"), 4 * (weights / 4 + vectors / side));
}

/// Of the cube's eight ranks those with equal numbers share a table, though they are of several classes.
TEST(Cube, ShowsEqualRanksOnce) {
  const std::string manifest =
      manifest_of({{"tensor", 8}}, "[[plan]]\nstrategy = \"tensor\"\nmode = \"3d\"\n[compute]\nmemory = 1000000000\n");
  const ProcessResult plan = run_parity({"plan"}, "gpt", manifest, {"heads=2", "batch=16"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const Planned planned = plan_of("gpt", manifest, {"heads=2", "batch=16"});
  std::set<std::map<std::string, double>> different;
  for (PlannedRanks one : planned.classes) {
    one.numbers.erase("count");
    different.insert(one.numbers);
  }
  std::size_t tables = 0;
  for (auto at = plan.out.find("\n  total "); at != std::string::npos; at = plan.out.find("\n  total ", at + 1))
    ++tables;
  EXPECT_EQ(tables, different.size());
  EXPECT_LT(tables, planned.classes.size());
}

#endif

}  // namespace
}  // namespace baleen::test
