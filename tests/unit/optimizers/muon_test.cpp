/// \file muon against the published loop (Jordan et al. 2024) over plain matrices, and what the loop is for: steps with
/// singular values near 1.
#include <gtest/gtest.h>

#include "gradients.hpp"
#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

/// Row-major.
struct Plain {
  std::size_t rows = 0, columns = 0;
  std::vector<double> x = std::vector<double>(rows * columns);
  double at(std::size_t i, std::size_t j) const { return x[i * columns + j]; }
};

Plain times(const Plain& a, const Plain& b) {
  Plain y{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < b.columns; ++j)
      for (std::size_t k = 0; k < a.columns; ++k) y.x[i * b.columns + j] += a.at(i, k) * b.at(k, j);
  return y;
}

Plain transposed(const Plain& a) {
  Plain y{a.columns, a.rows};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) y.x[j * a.rows + i] = a.at(i, j);
  return y;
}

Plain sum_of(double alpha, const Plain& a, double beta, const Plain& b) {
  Plain y = a;
  for (std::size_t i = 0; i < y.x.size(); ++i) y.x[i] = alpha * a.x[i] + beta * b.x[i];
  return y;
}

/// zeropower_via_newtonschulz5, of a matrix that may be tall.
Plain orthogonal(Plain g, int steps) {
  const bool tall = g.rows > g.columns;
  if (tall) g = transposed(g);
  double squares = 0;
  for (double number : g.x) squares += number * number;
  for (double& number : g.x) number /= std::sqrt(squares) + 1e-7;
  for (int step = 0; step < steps; ++step) {
    const Plain a = times(g, transposed(g));
    const Plain b = sum_of(-4.7750, a, 2.0315, times(a, a));
    g = sum_of(3.4445, g, 1, times(b, g));
  }
  return tall ? transposed(g) : g;
}

class Muon : public testing::Test {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", "muon")};
  TestSettings settings{plugin.descriptor};

  /// Five steps of a parameter of this shape, which as a matrix has `rows`.
  void expect_loop(const std::vector<std::int64_t>& shape, std::size_t rows, bool nesterov, double decay) {
    settings.set("nesterov", nesterov ? "true" : "false").set("weight_decay", decay).set("momentum", 0.8);
    const auto count = static_cast<std::size_t>(Tensor{shape, {}}.size());
    Plain w{rows, count / rows, some_numbers(count, 5)}, momentum{rows, count / rows};
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(w.columns) / static_cast<double>(rows)));
    OptimizerRun run(plugin, settings, {{shape, w.x}});
    for (unsigned step = 0; step < 5; ++step) {
      const Plain g{rows, w.columns, some_numbers(count, 20 + step)};
      const double lr = 0.1 / (step + 1);
      run.step({g.x}, lr);
      momentum = sum_of(0.8, momentum, 1, g);
      const Plain direction = nesterov ? sum_of(1, g, 0.8, momentum) : momentum;
      w = sum_of(1 - lr * decay, w, -lr * scale, orthogonal(direction, 5));
    }
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(run.parameter()[i], w.x[i], 1e-12) << i;
  }
};

TEST_F(Muon, FollowsThePublishedLoop) {
  for (const bool nesterov : {true, false}) {
    expect_loop({3, 5}, 3, nesterov, 0);
    expect_loop({5, 3}, 5, nesterov, 0.4);
    expect_loop({4, 4}, 4, nesterov, 0);
  }
}

/// [hidden, 3, heads, head_dim] and [heads, head_dim, hidden].
TEST_F(Muon, TakesMoreDimensionsAsAMatrix) {
  expect_loop({4, 3, 2, 1}, 4, true, 0);
  expect_loop({2, 2, 5}, 4, true, 0);
}

/// The polynomial brings singular values between 0.7 and 1.2, whatever the gradient's size (the post, "Derivation").
TEST_F(Muon, StepsAreNearlyOrthogonal) {
  const std::size_t n = 4;
  OptimizerRun run(plugin, settings, {{{4, 4}, std::vector<double>(16, 0)}});
  std::vector<double> g = some_numbers(16, 9);
  for (std::size_t i = 0; i < n; ++i) g[i * n + i] += 4;
  for (double& number : g) number *= 1000;
  run.step({g}, 1);
  const Plain step{n, n, run.parameter()};
  const Plain gram = times(transposed(step), step);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) EXPECT_NEAR(gram.at(i, j), i == j ? 1 : 0, 0.55) << i << " " << j;
}

/// A vector, or a matrix whose group says so.
TEST_F(Muon, IsAdamwForTheRest) {
  const PluginUnderTest<baleen_optimizer_t> other(built_plugin("optimizer", "adamw"));
  TestSettings same(other.descriptor);
  same.set("beta1", 0.9).set("beta2", 0.95).set("epsilon", 1e-10).set("weight_decay", 0.1);
  settings.set("weight_decay", 0.1).set("adamw_rate", 0.5).set("rule", "adamw");
  const Tensor matrix{{2, 3}, some_numbers(6, 1)}, vector{{3}, some_numbers(3, 2)};
  OptimizerRun run(plugin, settings, {matrix, vector}), expected(other, same, {matrix, vector});
  for (unsigned step = 0; step < 4; ++step) {
    const std::vector<std::vector<double>> g{some_numbers(6, 10 + step), some_numbers(3, 20 + step)};
    run.step(g, 0.2);
    expected.step(g, 0.1);
  }
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t i = 0; i < run.parameter(p).size(); ++i)
      EXPECT_NEAR(run.parameter(p)[i], expected.parameter(p)[i], 1e-12) << p << " " << i;
  settings.set("rule", "muon");
  const OptimizerRun mixed(plugin, settings, {matrix, vector});
  EXPECT_EQ(mixed.slots(0).size(), 1u);
  EXPECT_EQ(mixed.slots(1).size(), 2u);
}

TEST_F(Muon, RefusesAMomentumOfOne) {
  settings.set("momentum", 1.0);
  EXPECT_THROW(OptimizerRun(plugin, settings, {{{1}, {1}}}), std::runtime_error);
  EXPECT_EQ(plugin.host->failure(), "muon: `momentum` must be below 1");
}

}  // namespace
