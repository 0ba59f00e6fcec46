/// \file First values: what each distribution draws, and that a parameter's numbers depend on seed, name and element
/// alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/plan/passes.hpp"
#include "support/reference_expression.hpp"
#include "support/reference_interpreter.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

ParameterSpec spec(const std::string& name, Shape shape, Initializer::Kind kind, double a, double b) {
  return {name, {BALEEN_F64, std::move(shape), {}}, {kind, a, b}, "test"};
}
ParameterSpec normal(const std::string& name, Shape shape, double mean = 0, double deviation = 1) {
  return spec(name, std::move(shape), Initializer::Kind::normal, mean, deviation);
}
ParameterSpec uniform(const std::string& name, Shape shape, double low, double high) {
  return spec(name, std::move(shape), Initializer::Kind::uniform, low, high);
}

std::map<std::string, Numbers> initial(std::vector<ParameterSpec> parameters, std::uint64_t seed = 1,
                                       const UpdateResult& update = {}) {
  Job job;
  job.parameters = std::move(parameters);
  auto graph = initialize_graph(job, update, ops());
  if (!graph) throw std::runtime_error(graph.error().text());
  if (Status ok = verify(*graph); !ok) throw std::runtime_error(ok.error().text());
  ReferenceInterpreter run(*graph, seed);
  for (const auto& [name, numbers] : random_sources(*graph, 99)) run.set(name, numbers);
  run.run();
  std::map<std::string, Numbers> result;
  for (const auto& [name, tensor] : run.assigned()) result[name] = tensor.data;
  return result;
}

/// The words of element `number` of parameter `name`: Philox keyed by the seed and the name's FNV-1a hash.
std::array<std::uint32_t, 4> words(const std::string& name, std::uint64_t seed, std::uint32_t number) {
  std::uint64_t site = 14695981039346656037ull;
  for (const char c : name) {
    site ^= static_cast<unsigned char>(c);
    site *= 1099511628211ull;
  }
  const std::uint64_t key = seed ^ site;
  return philox({number, 0, 0, 0}, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

TEST(PlanInitialize, ConstantsAreConstant) {
  const auto values = initial({spec("gain", {3}, Initializer::Kind::constant, 0.75, 9)});
  EXPECT_EQ(values.at("gain"), Numbers(3, 0.75));
}

TEST(PlanInitialize, UniformNumbersAreThoseOfTheirElement) {
  const Numbers values = initial({uniform("blocks.0.up.weight", {3, 5}, -2, 6)}, 42).at("blocks.0.up.weight");
  for (std::uint32_t i = 0; i < values.size(); ++i)
    EXPECT_DOUBLE_EQ(values[i], -2 + 8 * ((words("blocks.0.up.weight", 42, i)[0] >> 8) * 0x1p-24)) << i;
}

TEST(PlanInitialize, NormalNumbersAreThoseOfTheirElement) {
  const Numbers values = initial({normal("head.weight", {4, 4}, 3, 0.5)}, 43).at("head.weight");
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const auto w = words("head.weight", 43, i);
    const double u = ((w[0] >> 8) + 0.5) * 0x1p-24, v = (w[1] >> 8) * 0x1p-24;
    EXPECT_DOUBLE_EQ(values[i], 3 + 0.5 * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v)) << i;
  }
}

/// Within five standard errors, for a fixed seed.
TEST(PlanInitialize, DistributionsHaveTheirMoments) {
  const auto values = initial({normal("n", {20000}, 1.5, 0.2), uniform("u", {20000}, -1, 3)}, 7);
  auto mean = [](const Numbers& numbers, double about) {
    double sum = 0;
    for (double x : numbers) sum += about == 0 ? x : (x - about) * (x - about);
    return sum / static_cast<double>(numbers.size());
  };
  const double root = std::sqrt(20000.0);
  EXPECT_NEAR(mean(values.at("n"), 0), 1.5, 5 * 0.2 / root);
  EXPECT_NEAR(mean(values.at("n"), 1.5), 0.04, 5 * 0.04 * std::numbers::sqrt2 / root);
  EXPECT_NEAR(mean(values.at("u"), 0), 1, 5 * 4 / std::sqrt(12) / root);
  const auto [low, high] = std::minmax_element(values.at("u").begin(), values.at("u").end());
  EXPECT_GE(*low, -1);
  EXPECT_LT(*low, -0.99);
  EXPECT_LT(*high, 3);
  EXPECT_GT(*high, 2.99);
}

TEST(PlanInitialize, TheOrderOfDeclarationAndOtherParametersDoNotMatter) {
  const ParameterSpec a = normal("a", {4, 3}), b = uniform("b", {5}, 0, 1), c = normal("c", {2, 2}, 1, 2);
  const auto forth = initial({a, b, c}), back = initial({c, b, a}), alone = initial({b});
  EXPECT_EQ(forth, back);
  EXPECT_EQ(forth.at("b"), alone.at("b"));
}

/// The element's row-major index counts, not the shape: a wider vocabulary keeps the first rows.
TEST(PlanInitialize, MoreRowsKeepTheFirstOnes) {
  const Numbers few = initial({normal("table", {3, 4})}).at("table"),
                many = initial({normal("table", {9, 4})}).at("table");
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(PlanInitialize, NamesAndSeedsGiveOtherNumbers) {
  const auto values = initial({normal("blocks.0.up", {8}), normal("blocks.1.up", {8})}, 1);
  EXPECT_NE(values.at("blocks.0.up"), values.at("blocks.1.up")) << "equal shapes and distributions";
  EXPECT_NE(values.at("blocks.0.up"), initial({normal("blocks.0.up", {8})}, 2).at("blocks.0.up"));
}

TEST(PlanInitialize, StatesTakeTheFirstValuesThatTheOptimizerNames) {
  UpdateResult update;
  update.states = {{"optimizer.updates", {BALEEN_F64, {}, {}}, Role::state, "control"},
                   {"w.m", {BALEEN_F64, {2, 2}, {}}, Role::state, "optimizer"},
                   {"w.scale", {BALEEN_F64, {2, 2}, {}}, Role::state, "optimizer"}};
  update.initial = {0, 0, 1.25};
  const auto values = initial({normal("w", {2, 2})}, 1, update);
  EXPECT_EQ(values.size(), 4u) << "every persistent tensor is filled";
  EXPECT_EQ(values.at("optimizer.updates"), Numbers{0});
  EXPECT_EQ(values.at("w.m"), Numbers(4, 0));
  EXPECT_EQ(values.at("w.scale"), Numbers(4, 1.25));
}

}  // namespace
}  // namespace baleen::test
