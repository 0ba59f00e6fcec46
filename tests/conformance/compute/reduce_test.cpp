/// \file reduce: sums and maxima over every choice of dimensions.
#include <cmath>
#include <limits>

#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

class Reduce : public ComputeTest {
 protected:
  void check(const Tensor& x, const std::vector<std::int64_t>& dims) {
    for (const bool keep : {false, true})
      for (const bool is_max : {false, true}) {
        SCOPED_TRACE(testing::Message() << "keep " << keep << ", max " << is_max << ", dims "
                                        << testing::PrintToString(dims));
        expect(OpSpec("reduce").integers("dims", dims).integer("keep", keep).text("kind", is_max ? "max" : "sum"), {x},
               {reference::reduce(x, dims, keep, is_max)},
               tolerance(3e-6 * std::sqrt(1.0 + static_cast<double>(x.size())), 1e-12));
      }
  }
};

TEST_P(Reduce, WorksOverEverySubsetOfDimensions) {
  const Tensor x = random_tensor(random, {3, 5, 2, 7});
  for (int subset = 0; subset < 16; ++subset) {
    std::vector<std::int64_t> dims;
    for (int d = 0; d < 4; ++d)
      if (subset & (1 << d)) dims.push_back(d);
    check(x, dims);
  }
}
TEST_P(Reduce, WorksOnLongRowsAndColumns) {
  check(random_tensor(random, {70001}), {0});
  check(random_tensor(random, {3000, 37}), {0});
  check(random_tensor(random, {3, 40000}), {1});
  check(random_tensor(random, {5, 700, 9}), {1});
}
/// Eight and more neighbours that a device may read at once, in several parts.
TEST_P(Reduce, WorksOnRowsAndColumnsOfWholePacks) {
  check(random_tensor(random, {8200, 8}), {0});
  check(random_tensor(random, {3, 8200}), {0});
  check(random_tensor(random, {2, 20, 2, 424}), {0, 2});
  check(random_tensor(random, {2, 8, 1048}), {1, 2});
  check(random_tensor(random, {7, 6, 24}), {0, 2});
}
/// One region with the op that makes them, which are stored nowhere.
class ReduceMade : public Reduce {
 protected:
  void check_made(const Tensor& x, const std::vector<std::int64_t>& dims, bool of_squares) {
    const baleen_instruction_t input{BALEEN_X_INPUT, 0, 0, 0, 0}, square{BALEEN_X_MUL, 0, 0, 0, 0},
        magnitude{BALEEN_X_ABS, 0, 0, 0, 0};
    const OpSpec first = OpSpec("pointwise").expression({input, of_squares ? square : magnitude}, {1});
    const OpSpec second = OpSpec("reduce").integers("dims", dims).text("kind", of_squares ? "sum" : "max");
    Tensor made = x;
    for (std::int64_t i = 0; i < x.size(); ++i) made[i] = of_squares ? x[i] * x[i] : std::abs(x[i]);
    RunOptions options;
    options.behind = &second;
    options.first_inputs = 1;
    SCOPED_TRACE(testing::Message() << (of_squares ? "squares" : "magnitudes") << ", dims "
                                    << testing::PrintToString(dims));
    const Tensor wanted = reference::reduce(made, dims, false, !of_squares);
    ASSERT_TRUE(one().supports(first, {x}, {wanted}, dtype(), options));
    expect(first, {x}, {wanted}, of_squares ? tolerance(2e-5, 1e-12) : 0, true, options);
  }
};

TEST_P(ReduceMade, OfSquaresAndMagnitudesIsThatOfStoredOnes) {
  for (const bool of_squares : {true, false}) {
    for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{0, 1, 2}, {0}, {1}, {2}, {0, 2}})
      check_made(random_tensor(random, {5, 24, 16}), dims, of_squares);
    check_made(random_tensor(random, {3, 20011}), {1}, of_squares);
    check_made(random_tensor(random, {3000, 37}), {0}, of_squares);
    check_made(random_tensor(random, {70001}), {0}, of_squares);
  }
}

/// Of a number and of one that is none.
TEST_P(ReduceMade, KeepsWhatIsNotFinite) {
  Tensor x = random_tensor(random, {2, 40});
  x[7] = -std::numeric_limits<double>::infinity();
  x[63] = std::numeric_limits<double>::quiet_NaN();
  const baleen_instruction_t input{BALEEN_X_INPUT, 0, 0, 0, 0}, magnitude{BALEEN_X_ABS, 0, 0, 0, 0};
  const OpSpec second = OpSpec("reduce").integers("dims", {1}).text("kind", "max");
  RunOptions options;
  options.behind = &second;
  options.first_inputs = 1;
  const auto got = run(OpSpec("pointwise").expression({input, magnitude}, {1}), {x}, {zeros({2})}, options);
  EXPECT_EQ(got[0][0], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(got[0][1]));
}

TEST_P(Reduce, OfNothingIsZeroOrMinusInfinity) {
  check(zeros({3, 0}), {1});
  check(zeros({0, 4}), {0});
  check(zeros({0, 4}), {1});
  check(zeros({0}), {0});
}
TEST_P(Reduce, ReadsBroadcastInput) {
  Tensor x = random_tensor(random, {4, 6});
  for (std::int64_t i = 0; i < 24; ++i) x[i] = x[i % 6];
  x.broadcast = {true, false};
  check(x, {0});
  check(x, {1});
}
TEST_P(Reduce, SumsPairwise) {
  // Ten million tenths in fp32: added one after the other the error is per cents, pairwise it is some ulps.
  Tensor x = zeros({1 << 22});
  for (double& v : x.values) v = static_cast<double>(0.1f);
  const auto got = run(OpSpec("reduce").integers("dims", {0}).text("kind", "sum"), {x}, {zeros({})});
  EXPECT_NEAR(got[0][0] / (static_cast<double>(0.1f) * (1 << 22)), 1.0, tolerance(1e-6, 1e-14));
}
TEST_P(Reduce, KeepsInfinitiesAndNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = random_tensor(random, {3, 40});
  x[7] = -infinity;
  x[45] = infinity;
  x[100] = std::nan("");
  Tensor peak = reference::reduce(x, {1}, false, true), sum = reference::reduce(x, {1}, false, false);
  peak[2] = std::nan("");
  expect(OpSpec("reduce").integers("dims", {1}).text("kind", "max"), {x}, {peak}, 0);
  expect(OpSpec("reduce").integers("dims", {1}).text("kind", "sum"), {x}, {sum}, tolerance(1e-5, 1e-13));
}

BALEEN_COMPUTE_SUITE(Reduce);
BALEEN_COMPUTE_SUITE(ReduceMade);

}  // namespace
}  // namespace baleen::conformance
