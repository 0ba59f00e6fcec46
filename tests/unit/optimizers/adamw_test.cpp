/// \file adamw against the loop of PyTorch's documentation (torch.optim.AdamW).
#include <gtest/gtest.h>

#include "gradients.hpp"
#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

struct Options {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.01;
  int variance_steps = 0;
};
void PrintTo(const Options& o, std::ostream* out) {
  *out << "betas " << o.beta1 << " " << o.beta2 << ", epsilon " << o.epsilon << ", decay " << o.weight_decay
       << ", variance of " << o.variance_steps << " updates";
}

std::vector<double> reference(std::vector<double> w, const std::vector<std::vector<double>>& gradients,
                              const std::vector<double>& rates, const Options& o) {
  std::vector<double> m(w.size()), v(w.size());
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    const double t = static_cast<double>(step + 1), lr = rates[step];
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = gradients[step][i];
      w[i] -= lr * o.weight_decay * w[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      const double counted = o.variance_steps > 0 ? std::min<double>(t, o.variance_steps) : t;
      if (counted == t) v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(o.beta1, t)), v_hat = v[i] / (1 - std::pow(o.beta2, counted));
      w[i] -= lr * m_hat / (std::sqrt(v_hat) + o.epsilon);
    }
  }
  return w;
}

class AdamW : public testing::TestWithParam<Options> {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", "adamw")};
  TestSettings settings{plugin.descriptor};
  void use(const Options& o) {
    settings.set("beta1", o.beta1).set("beta2", o.beta2).set("epsilon", o.epsilon).set("weight_decay", o.weight_decay);
    settings.set("variance_steps", o.variance_steps);
  }
};

TEST_P(AdamW, FollowsThePublishedLoop) {
  use(GetParam());
  const auto start = some_numbers(6, 2);
  const std::vector<double> rates = {1e-2, 3e-2, 2e-2, 1e-2, 0};
  std::vector<std::vector<double>> gradients;
  for (unsigned step = 0; step < rates.size(); ++step) gradients.push_back(some_numbers(6, 20 + step));
  OptimizerRun run(plugin, settings, {{{3, 2}, start}});
  for (std::size_t step = 0; step < rates.size(); ++step) run.step({gradients[step]}, rates[step]);
  const auto expected = reference(start, gradients, rates, GetParam());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.parameter()[i], expected[i], 1e-12) << i;
}

INSTANTIATE_TEST_SUITE_P(Options, AdamW,
                         testing::Values(Options{}, Options{.weight_decay = 0}, Options{.beta1 = 0, .beta2 = 0.5},
                                         Options{.beta2 = 0, .epsilon = 1e-3}, Options{.weight_decay = 0.5},
                                         Options{.variance_steps = 1}, Options{.variance_steps = 3}));

TEST_F(AdamW, MovesByTheRateAtTheFirstStepWhateverTheGradientsSize) {
  use({.weight_decay = 0});
  OptimizerRun run(plugin, settings, {{{3}, {1, 1, 1}}});
  run.step({{1e-3, 5, -2e4}}, 0.25);
  EXPECT_NEAR(run.parameter()[0], 0.75, 1e-5);
  EXPECT_NEAR(run.parameter()[1], 0.75, 1e-8);
  EXPECT_NEAR(run.parameter()[2], 1.25, 1e-8);
}

TEST_F(AdamW, RefusesABetaOfOne) {
  use({.beta2 = 1});
  EXPECT_THROW(OptimizerRun(plugin, settings, {{{1}, {1}}}), std::runtime_error);
  EXPECT_EQ(plugin.host->failure(), "adamw: `beta2` must be below 1");
}

}  // namespace
