/// \file Model states on grids of 64 ranks: weights are cut over the whole grid (2.5d: over each of its layers),
/// vectors less.
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

#endif

}  // namespace
}  // namespace baleen::test
