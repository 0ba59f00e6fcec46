/// \file sgd against the loop of PyTorch's documentation (torch.optim.SGD).
#include <gtest/gtest.h>

#include "gradients.hpp"
#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

struct Options {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
void PrintTo(const Options& o, std::ostream* out) {
  *out << "momentum " << o.momentum << ", dampening " << o.dampening << ", decay " << o.weight_decay << ", nesterov "
       << o.nesterov;
}

/// torch.optim.SGD's algorithm, line by line.
std::vector<double> reference(std::vector<double> w, const std::vector<std::vector<double>>& gradients,
                              const std::vector<double>& rates, const Options& options) {
  std::vector<double> buffer(w.size());
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = gradients[step][i] + options.weight_decay * w[i];
      if (options.momentum != 0) {
        buffer[i] = step == 0 ? g : options.momentum * buffer[i] + (1 - options.dampening) * g;
        g = options.nesterov ? g + options.momentum * buffer[i] : buffer[i];
      }
      w[i] -= rates[step] * g;
    }
  }
  return w;
}

class Sgd : public testing::TestWithParam<Options> {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", "sgd")};
  TestSettings settings{plugin.descriptor};
  void use(const Options& options) {
    settings.set("momentum", options.momentum).set("dampening", options.dampening);
    settings.set("weight_decay", options.weight_decay).set("nesterov", options.nesterov ? "true" : "false");
  }
};

TEST_P(Sgd, FollowsThePublishedLoop) {
  use(GetParam());
  const auto start = some_numbers(6, 1);
  const std::vector<double> rates = {0.1, 0.05, 0.2, 0};
  std::vector<std::vector<double>> gradients;
  for (unsigned step = 0; step < rates.size(); ++step) gradients.push_back(some_numbers(6, 10 + step));
  OptimizerRun run(plugin, settings, {{{2, 3}, start}});
  for (std::size_t step = 0; step < rates.size(); ++step) run.step({gradients[step]}, rates[step]);
  const auto expected = reference(start, gradients, rates, GetParam());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.parameter()[i], expected[i], 1e-14) << i;
}

INSTANTIATE_TEST_SUITE_P(Options, Sgd,
                         testing::Values(Options{}, Options{.weight_decay = 0.3}, Options{.momentum = 0.9},
                                         Options{.momentum = 0.9, .dampening = 0.4, .weight_decay = 0.1},
                                         Options{.momentum = 0.8, .nesterov = true},
                                         Options{.momentum = 0.8, .weight_decay = 0.2, .nesterov = true}));

TEST_F(Sgd, KeepsNoSlotWithoutMomentum) {
  OptimizerRun plain(plugin, settings, {{{1}, {1}}});
  EXPECT_TRUE(plain.slots().empty());
  use({.momentum = 0.5});
  OptimizerRun heavy(plugin, settings, {{{1}, {1}}});
  EXPECT_EQ(heavy.slots().size(), 1u);
}

TEST_F(Sgd, RefusesNesterovWithoutMomentumOrWithDampening) {
  for (const Options& options :
       {Options{.nesterov = true}, Options{.momentum = 0.9, .dampening = 0.1, .nesterov = true}}) {
    use(options);
    try {
      OptimizerRun run(plugin, settings, {{{1}, {1}}});
      FAIL() << "accepted";
    } catch (const std::runtime_error& problem) {
      EXPECT_STREQ(problem.what(), "sgd: `nesterov` needs `momentum` above 0 and `dampening` 0");
    }
  }
}

}  // namespace
