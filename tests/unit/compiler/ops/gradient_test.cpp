/// \file Every gradient rule against central finite differences in fp64.
#include <gtest/gtest.h>

#include <set>

#include "compiler/graph/graph.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::BuiltCase;
using test::OpCase;
using test::ReferenceInterpreter;
using test::Tensor;

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

/// Statistics are results that only the kind's own gradient reads.
std::size_t differentiable_results(const Op& op) {
  const std::string& kind = op.kind->name;
  return kind == "pointwise" ? op.outputs.size() : 1;
}

/// Adds output "loss": the sum of all elements of the op's results, each weighed by a random number.
ValueId add_loss(BuiltCase& built, std::uint64_t seed) {
  Graph& graph = built.graph;
  std::mt19937_64 rng(seed);
  ValueId loss = kNone;
  for (std::size_t r = 0; r < differentiable_results(built.op); ++r) {
    const ValueId y = built.op.outputs[r];
    const std::string name = "weight" + std::to_string(r);
    std::vector<double> numbers(built.values.at(y).size());
    for (double& x : numbers) x = std::normal_distribution<double>()(rng);
    built.data[name] = numbers;
    ValueId term = *graph.binary(BALEEN_X_MUL, y, *graph.input(name, graph.type(y)));
    std::vector<std::int64_t> dims;
    for (std::size_t d = 0; d < graph.value(y).rank(); ++d) dims.push_back(static_cast<std::int64_t>(d));
    if (!dims.empty()) term = *graph.append1("reduce", {term}, {{"kind", "sum"}, {"dims", Attributes::ints(dims)}});
    loss = loss == kNone ? term : *graph.binary(BALEEN_X_ADD, loss, term);
  }
  graph.set_output("loss", loss);
  return loss;
}

double loss_of(const Graph& graph, const std::map<std::string, std::vector<double>>& data) {
  ReferenceInterpreter interpreter(graph);
  for (const auto& [name, numbers] : data) interpreter.set(name, numbers);
  interpreter.run();
  return interpreter.output("loss")[0];
}

Tensor finite_differences(const Graph& graph, std::map<std::string, std::vector<double>> data, const Value& source) {
  Tensor slope(source.shape);
  for (std::size_t i = 0; i < slope.size(); ++i) {
    double& x = data.at(source.name)[i];
    const double middle = x;
    x = middle + kStep;
    const double above = loss_of(graph, data);
    x = middle - kStep;
    const double below = loss_of(graph, data);
    x = middle;
    slope[i] = (above - below) / (2 * kStep);
  }
  return slope;
}

void check(BuiltCase& built, std::uint64_t seed) {
  const ValueId loss = add_loss(built, seed);
  const std::vector<ValueId> targets = test::floating_sources(built);
  Graph graph = built.graph;
  const std::vector<ValueId> gradients = test::add_gradients(graph, loss, targets);
  ReferenceInterpreter interpreter(graph);
  for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
  interpreter.run();
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const Value& source = graph.value(targets[t]);
    const Tensor expected = finite_differences(built.graph, built.data, source);
    const ValueId id = gradients[t];
    const Tensor got = id == kNone ? Tensor(source.shape) : interpreter.value(id);
    EXPECT_LT(test::difference(got, expected), kTolerance) << "of " << source.name << " " << to_string(source.shape);
  }
}

class Gradient : public testing::TestWithParam<OpCase> {};

TEST_P(Gradient, AgreesWithFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(GetParam().name + ", seed " + std::to_string(seed));
    BuiltCase built(GetParam(), seed);
    check(built, seed + 100);
  }
}

std::vector<OpCase> differentiable_cases() {
  std::vector<OpCase> list;
  for (const OpCase& c : test::op_cases())
    if (kind_of(c).gradient) list.push_back(c);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Gradient, testing::ValuesIn(differentiable_cases()),
                         test::case_name<testing::TestParamInfo<OpCase>>);

TEST(Gradient, EveryKindWithARuleHasACase) {
  std::set<std::string> covered;
  for (const OpCase& c : differentiable_cases()) covered.insert(kind_of(c).name);
  for (const OpKind* kind : test::builtin_ops().all())
    EXPECT_TRUE(!kind->gradient || covered.contains(kind->name)) << kind->name;
}

/// Opcodes whose operands must be positive, or whose derivative is not that of their value.
bool positive_operands(std::uint32_t opcode) {
  return opcode == BALEEN_X_SQRT || opcode == BALEEN_X_RSQRT || opcode == BALEEN_X_LOG || opcode == BALEEN_X_DIV ||
         opcode == BALEEN_X_POW;
}

TEST(Gradient, OfEveryOpcodeAgreesWithFiniteDifferences) {
  std::set<std::uint32_t> opcodes;
  for (std::uint32_t opcode = 0; opcode < 128; ++opcode)
    if (operand_count(opcode) > 0 && opcode != BALEEN_X_ROUND) opcodes.insert(opcode);
  ASSERT_EQ(opcodes.size(), 33u);
  for (std::uint32_t opcode : opcodes) {
    const OpCase example{
        std::string("pointwise ") + opcode_name(opcode), [opcode](test::CaseBuilder& b) {
          const Shape shape = b.shape(2);
          auto operand = [&](const Shape& s) { return positive_operands(opcode) ? b.positive(s) : b.normal(s); };
          std::vector<ValueId> inputs{operand(shape)};
          Expression e;
          std::uint32_t y = 0;
          if (operand_count(opcode) == 1) {
            y = e.unary(opcode, e.input(0));
          } else {
            inputs.push_back(operand({1, shape[1]}));
            const auto x0 = e.input(0), x1 = e.input(1);
            y = opcode == BALEEN_X_SELECT ? e.select(e.binary(BALEEN_X_LT, x0, x1), e.unary(BALEEN_X_SIN, x0), x1)
                                          : e.binary(opcode, x0, x1);
          }
          return b.op("pointwise", inputs, {{"expression", e}, {"results", Attributes::ints({y})}});
        }};
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(example.name + ", seed " + std::to_string(seed));
      BuiltCase built(example, seed);
      check(built, seed);
    }
  }
}

/// d(sum of the result)/dx of a one-input case, at given numbers.
std::vector<double> slope_at(const Shape& shape, const std::vector<double>& numbers,
                             const std::function<ValueId(Graph&, ValueId)>& build) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.parameter("x", {BALEEN_F64, shape, {}});
  const ValueId y = build(graph, x);
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < graph.value(y).rank(); ++d) dims.push_back(static_cast<std::int64_t>(d));
  const ValueId loss =
      dims.empty() ? y : *graph.append1("reduce", {y}, {{"kind", "sum"}, {"dims", Attributes::ints(dims)}});
  const auto gradient = differentiate(graph, loss, *graph.constant(1, BALEEN_F64), {x});
  EXPECT_TRUE(gradient);
  ReferenceInterpreter interpreter(graph);
  interpreter.set("x", numbers);
  interpreter.run();
  return interpreter.value((*gradient)[0]).data;
}

TEST(Gradient, OfAMaximumIsSharedAmongTies) {
  const auto slope = slope_at({4}, {2, 5, 5, 1}, [](Graph& g, ValueId x) {
    return *g.append1("reduce", {x}, {{"kind", "max"}, {"dims", Attributes::ints({0})}});
  });
  EXPECT_EQ(slope, (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(Gradient, OfMaxAndMinIsHalvedWhereTheOperandsAreEqual) {
  for (std::uint32_t opcode : {BALEEN_X_MAX, BALEEN_X_MIN}) {
    const auto slope = slope_at({1}, {3}, [&](Graph& g, ValueId x) {
      Expression e;
      const auto y = e.binary(opcode, e.input(0), e.constant(3));
      return *g.pointwise({x}, e, y);
    });
    EXPECT_EQ(slope, std::vector<double>{0.5});
  }
}

TEST(Gradient, OfReluAtZeroIsZero) {
  const auto slope = slope_at({3}, {-1, 0, 1}, [](Graph& g, ValueId x) { return *g.unary(BALEEN_X_RELU, x); });
  EXPECT_EQ(slope, (std::vector<double>{0, 0, 1}));
}

TEST(Gradient, GoesStraightThroughRounding) {
  const auto slope = slope_at({2}, {1.0001, -3.7}, [](Graph& g, ValueId x) {
    Expression e;
    const auto y = e.append({BALEEN_X_ROUND, e.input(0), BALEEN_BF16, 0, 0});
    const auto twice = e.binary(BALEEN_X_MUL, y, e.constant(2));
    return *g.pointwise({x}, e, twice);
  });
  EXPECT_EQ(slope, (std::vector<double>{2, 2}));
}

TEST(Gradient, OfAStatisticIsRefused) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.parameter("x", {BALEEN_F64, {2, 3}, {}});
  const auto made = *graph.append("cross_entropy", {x, *graph.input("t", {BALEEN_I32, {2}, {}})});
  const ValueId loss = *graph.append1("reduce", {made[1]}, {{"kind", "sum"}, {"dims", Attributes::ints({0})}});
  const auto gradient = differentiate(graph, loss, *graph.constant(1, BALEEN_F64), {x});
  ASSERT_FALSE(gradient);
  EXPECT_NE(gradient.error().message.find("cross_entropy: only its first result"), std::string::npos);
}

}  // namespace
}  // namespace baleen
