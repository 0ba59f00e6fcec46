/// \file lamb against algorithm 2 of arXiv 1904.00962 with bias correction and the identity as scaling function.
#include <gtest/gtest.h>

#include "gradients.hpp"
#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

constexpr double kBeta1 = 0.9, kBeta2 = 0.99, kEpsilon = 1e-6;

double norm_of(const std::vector<double>& x) {
  double squares = 0;
  for (double number : x) squares += number * number;
  return std::sqrt(squares);
}

struct State {
  std::vector<double> w, m = std::vector<double>(w.size()), v = std::vector<double>(w.size());
};

void reference_step(State& s, const std::vector<double>& g, double t, double lr, double decay) {
  std::vector<double> r(s.w.size());
  for (std::size_t i = 0; i < s.w.size(); ++i) {
    s.m[i] = kBeta1 * s.m[i] + (1 - kBeta1) * g[i];
    s.v[i] = kBeta2 * s.v[i] + (1 - kBeta2) * g[i] * g[i];
    const double m_hat = s.m[i] / (1 - std::pow(kBeta1, t)), v_hat = s.v[i] / (1 - std::pow(kBeta2, t));
    r[i] = m_hat / (std::sqrt(v_hat) + kEpsilon) + decay * s.w[i];
  }
  const double w_norm = norm_of(s.w), r_norm = norm_of(r);
  const double ratio = w_norm > 0 && r_norm > 0 ? w_norm / r_norm : 1;
  for (std::size_t i = 0; i < s.w.size(); ++i) s.w[i] -= lr * ratio * r[i];
}

class Lamb : public testing::TestWithParam<double> {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", "lamb")};
  TestSettings settings{plugin.descriptor};
  void use(double decay) {
    settings.set("beta1", kBeta1).set("beta2", kBeta2).set("epsilon", kEpsilon).set("weight_decay", decay);
  }
};

TEST_P(Lamb, FollowsThePublishedLoopTensorByTensor) {
  const double decay = GetParam();
  use(decay);
  State first{some_numbers(6, 3)}, second{some_numbers(4, 4)};
  OptimizerRun run(plugin, settings, {{{2, 3}, first.w}, {{4}, second.w}});
  for (unsigned step = 0; step < 5; ++step) {
    const auto g1 = some_numbers(6, 30 + step), g2 = some_numbers(4, 40 + step);
    run.step({g1, g2}, 0.01 * (step + 1));
    reference_step(first, g1, step + 1, 0.01 * (step + 1), decay);
    reference_step(second, g2, step + 1, 0.01 * (step + 1), decay);
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(run.parameter(0)[i], first.w[i], 1e-12) << i;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(run.parameter(1)[i], second.w[i], 1e-12) << i;
}

INSTANTIATE_TEST_SUITE_P(Decays, Lamb, testing::Values(0.0, 0.01, 0.5));

TEST_F(Lamb, UsesTheRatioOneWhereTheParameterIsZero) {
  use(0.01);
  OptimizerRun run(plugin, settings, {{{2}, {0, 0}}});
  run.step({{3, -4}}, 0.1);
  EXPECT_NEAR(run.parameter()[0], -0.1, 1e-6);
  EXPECT_NEAR(run.parameter()[1], 0.1, 1e-6);
}

TEST_F(Lamb, UsesTheRatioOneWhereTheDirectionIsZero) {
  use(0);
  OptimizerRun run(plugin, settings, {{{2}, {2, -3}}});
  run.step({{0, 0}}, 0.1);
  EXPECT_EQ(run.parameter(), (std::vector<double>{2, -3}));
}

TEST_F(Lamb, MovesByTheRateTimesTheParametersNorm) {
  use(0.1);
  const auto start = some_numbers(8, 5);
  OptimizerRun run(plugin, settings, {{{8}, start}});
  run.step({some_numbers(8, 6)}, 0.02);
  std::vector<double> moved(8);
  for (std::size_t i = 0; i < 8; ++i) moved[i] = run.parameter()[i] - start[i];
  EXPECT_NEAR(norm_of(moved), 0.02 * norm_of(start), 1e-12);
}

}  // namespace
