/// \file adafactor against algorithms 4 and 5 of arXiv 1804.04235, written as loops over rows and columns with the
/// paper's sums.
#include <gtest/gtest.h>

#include "gradients.hpp"
#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

double root_mean_square(const std::vector<double>& x) {
  double squares = 0;
  for (double number : x) squares += number * number;
  return std::sqrt(squares / static_cast<double>(x.size()));
}

struct Options {
  double epsilon1 = 1e-30, epsilon2 = 1e-3, clip = 1, decay = 0.8, weight_decay = 0;
};

/// A parameter of n rows and m columns; m = 0: a vector of n.
struct Reference {
  std::size_t n, m;
  std::vector<double> w;
  std::vector<double> row = std::vector<double>(n), column = std::vector<double>(m), v = std::vector<double>(n);

  void step(const std::vector<double>& g, double t, double lr, const Options& o) {
    const double beta = 1 - std::pow(t, -o.decay);
    std::vector<double> u(g.size());
    if (m == 0) {
      for (std::size_t i = 0; i < n; ++i) {
        v[i] = beta * v[i] + (1 - beta) * (g[i] * g[i] + o.epsilon1);
        u[i] = g[i] / std::sqrt(v[i]);
      }
    } else {
      std::vector<double> rows(n, 0), columns(m, 0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) {
          const double s = g[i * m + j] * g[i * m + j] + o.epsilon1;
          rows[i] += s;
          columns[j] += s;
        }
      double all = 0;
      for (std::size_t i = 0; i < n; ++i) all += row[i] = beta * row[i] + (1 - beta) * rows[i];
      for (std::size_t j = 0; j < m; ++j) column[j] = beta * column[j] + (1 - beta) * columns[j];
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < m; ++j) u[i * m + j] = g[i * m + j] / std::sqrt(row[i] * column[j] / all);
    }
    const double bound = std::max(1.0, root_mean_square(u) / o.clip), rho = std::min(lr, 1 / std::sqrt(t));
    const double rate = rho * std::max(o.epsilon2, root_mean_square(w));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] * (1 - rho * o.weight_decay) - rate * u[i] / bound;
  }
};

class Adafactor : public testing::Test {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", "adafactor")};
  TestSettings settings{plugin.descriptor};

  static void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
  }
};

TEST_F(Adafactor, FollowsThePublishedLoop) {
  for (const Options& o : {Options{}, Options{1e-3, 0.5, 0.3, 0.6, 0.2}}) {
    settings.set("epsilon1", o.epsilon1).set("epsilon2", o.epsilon2).set("clip", o.clip);
    settings.set("decay", o.decay).set("weight_decay", o.weight_decay);
    Reference matrix{3, 4, some_numbers(12, 3)}, vector{5, 0, some_numbers(5, 4)};
    OptimizerRun run(plugin, settings, {{{3, 4}, matrix.w}, {{5}, vector.w}});
    for (unsigned step = 0; step < 5; ++step) {
      const auto g1 = some_numbers(12, 30 + step), g2 = some_numbers(5, 40 + step);
      const double lr = 0.9 - 0.2 * step;  // above and below 1 / sqrt(step)
      run.step({g1, g2}, lr);
      matrix.step(g1, step + 1, lr, o);
      vector.step(g2, step + 1, lr, o);
    }
    expect_near(run.parameter(0), matrix.w);
    expect_near(run.parameter(1), vector.w);
  }
}

TEST_F(Adafactor, KeepsANumberPerRowAndPerColumn) {
  const OptimizerRun run(plugin, settings, {{{4, 3}, some_numbers(12, 1)}, {{6}, some_numbers(6, 2)}, {{}, {1}}});
  ASSERT_EQ(run.slots(0).size(), 2u);
  EXPECT_EQ(run.slots(0)[0].shape, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(run.slots(0)[1].shape, (std::vector<std::int64_t>{1, 3}));
  ASSERT_EQ(run.slots(1).size(), 1u);
  EXPECT_EQ(run.slots(1)[0].shape, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(run.slots(2)[0].size(), 1);
}

/// [2, 4, 1, 3]: for each of 2 a matrix of 4 by 3.
TEST_F(Adafactor, TakesTheTwoLargestDimensionsOfMore) {
  const auto start = some_numbers(24, 7);
  OptimizerRun run(plugin, settings, {{{2, 4, 1, 3}, start}});
  EXPECT_EQ(run.slots(0)[0].shape, (std::vector<std::int64_t>{2, 4, 1, 1}));
  EXPECT_EQ(run.slots(0)[1].shape, (std::vector<std::int64_t>{2, 1, 1, 3}));
  const auto g = some_numbers(24, 8);
  run.step({g}, 0.1);
  std::vector<double> u;
  for (std::size_t half = 0; half < 2; ++half) {
    double all = 0;
    std::vector<double> row(4, 0), column(3, 0);
    for (std::size_t i = 0; i < 12; ++i) {
      const double square = g[12 * half + i] * g[12 * half + i];
      row[i / 3] += square, column[i % 3] += square, all += square;
    }
    for (std::size_t i = 0; i < 12; ++i) u.push_back(g[12 * half + i] / std::sqrt(row[i / 3] * column[i % 3] / all));
  }
  const double rate = 0.1 * root_mean_square(start) / std::max(1.0, root_mean_square(u));
  for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(run.parameter()[i], start[i] - rate * u[i], 1e-12) << i;
}

TEST_F(Adafactor, RefusesAnEpsilonOrAClipOfZero) {
  for (const char* name : {"epsilon1", "clip"}) {
    TestSettings zero(plugin.descriptor);
    zero.set(name, 0.0);
    EXPECT_THROW(OptimizerRun(plugin, zero, {{{1}, {1}}}), std::runtime_error);
    EXPECT_EQ(plugin.host->failure(), "adafactor: `" + std::string(name) + "` must be above 0");
  }
}

}  // namespace
