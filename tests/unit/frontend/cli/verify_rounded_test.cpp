/// \file Which values of a job are rounded.
#include "frontend/cli/verify_rounded.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "support/op_cases.hpp"
#include "support/reference_interpreter.hpp"

namespace baleen::app {
namespace {

ValueId must(Result<ValueId> made) {
  if (!made) throw std::runtime_error(made.error().text());
  return *made;
}

/// tanh(x w), summed; and x alone, as it is.
Graph small_graph(baleen_dtype_t dtype) {
  Graph graph(&test::builtin_ops());
  const ValueId x = must(graph.input("x", {dtype, {2, 3}, {}})), w = must(graph.parameter("w", {dtype, {3, 2}, {}}));
  const ValueId product = must(graph.append1("matmul", {x, w}, {{"spec", std::string("bi,ij->bj")}}, "product"));
  const ValueId active = must(graph.unary(BALEEN_X_TANH, product));
  const ValueId sum = must(graph.append1(
      "reduce", {active},
      {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}, {"keep", Attributes::ints({0})}}));
  graph.set_output("loss", sum);
  graph.set_output("active", active);
  return graph;
}

double round_to(double number, int digits) {
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

TEST(VerifyRounded, RoundsWhatIsReadAndWhatIsMadeButNoSum) {
  constexpr int kDigits = 8;  // of bf16, with the leading one
  Job job;
  job.train() = small_graph(BALEEN_F64);
  ASSERT_TRUE(round_values(job, {BALEEN_BF16}));
  ASSERT_TRUE(verify(job.train()));
  const std::vector<double> x{0.1, 0.7, -1.3, 2.9, 0.033, 1.01}, w{0.3, -0.21, 0.77, 1.7, -0.09, 0.5};
  test::ReferenceInterpreter run(job.train());
  run.set("x", x);
  run.set("w", w);
  run.run();
  double sum = 0;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t j = 0; j < 2; ++j) {
      double product = 0;
      for (std::size_t i = 0; i < 3; ++i) product += round_to(x[3 * b + i], kDigits) * round_to(w[2 * i + j], kDigits);
      const double active = round_to(std::tanh(round_to(product, kDigits)), kDigits);
      EXPECT_EQ(run.output("active").data[2 * b + j], active);
      sum += active;
    }
  EXPECT_EQ(run.output("loss").data[0], sum);
  EXPECT_NE(round_to(sum, kDigits), sum);
}

/// The product in bf16, of operands that are cast for it alone; all else as it is.
TEST(VerifyRounded, RoundsWhatThePlanHasInFewDigits) {
  constexpr int kDigits = 8, kOfFloat = 24;
  PlannedDtypes planned;
  const Graph as_planned = small_graph(BALEEN_F32);
  planned.note("train: describe", as_planned);
  EXPECT_TRUE(planned.graphs.empty());
  planned.note("train: rewrite", as_planned);
  for (auto& [id, op] : planned.graphs.at("train"))
    if (op.kind == "matmul") {
      op.inputs = {BALEEN_BF16, BALEEN_BF16};
      op.outputs = {BALEEN_BF16};
    }
  Job job;
  job.train() = small_graph(BALEEN_F64);
  ASSERT_TRUE(round_values(job, {BALEEN_BF16, &planned}));
  ASSERT_TRUE(verify(job.train()));
  const std::vector<double> x{0.1, 0.7, -1.3, 2.9, 0.033, 1.01}, w{0.3, -0.21, 0.77, 1.7, -0.09, 0.5};
  test::ReferenceInterpreter run(job.train());
  run.set("x", x);
  run.set("w", w);
  run.run();
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t j = 0; j < 2; ++j) {
      double product = 0;
      for (std::size_t i = 0; i < 3; ++i) product += round_to(x[3 * b + i], kDigits) * round_to(w[2 * i + j], kDigits);
      const double active = round_to(std::tanh(round_to(product, kDigits)), kOfFloat);
      EXPECT_EQ(run.output("active").data[2 * b + j], active);
      EXPECT_NE(round_to(active, kDigits), active);
    }
}

/// -x of what rounding to bf16 makes of it, in one draw; and of what goes back, all of it one at first.
struct Drawn {
  std::vector<double> forward, back;
};
Drawn drawn(const std::vector<double>& x, std::uint64_t draw, double roundings) {
  Graph graph(&test::builtin_ops());
  const auto size = static_cast<std::int64_t>(x.size());
  const ValueId in = must(graph.parameter("x", {BALEEN_F64, {size}, {}}));
  const ValueId made = must(graph.unary(BALEEN_X_NEG, in));
  graph.set_output("made", made);
  graph.set_output(
      "loss", must(graph.append1(
                  "reduce", {made},
                  {{"kind", std::string("sum")}, {"dims", Attributes::ints({0})}, {"keep", Attributes::ints({0})}})));
  Job job;
  job.train() = std::move(graph);
  EXPECT_TRUE(round_values(job, {BALEEN_BF16, nullptr, draw, roundings}));
  Graph& rounded = job.train();
  const ValueId seed = must(rounded.constant(1, BALEEN_F64));
  const ValueId parameter = must(rounded.parameter("x", {BALEEN_F64, {size}, {}}));
  const Result<std::vector<ValueId>> gradients = differentiate(rounded, rounded.output("loss"), seed, {parameter});
  EXPECT_TRUE(gradients);
  rounded.set_output("back", gradients->at(0));
  test::ReferenceInterpreter run(rounded);
  run.set("x", x);
  run.run();
  return {run.output("made").data, run.output("back").data};
}

/// A number that lies between two of bf16, as far as a sum in fp32 tells, becomes now one, now the other; others do
/// not.
TEST(VerifyRounded, DrawsHowSumsRound) {
  std::vector<double> x;
  for (int i = 1; i <= 16; ++i) x.push_back(1 + i * 0x1p-7 + 0x1p-8);  // in the middle
  for (int i = 1; i <= 16; ++i) x.push_back(std::sin(i));
  std::set<std::vector<double>> seen;
  const std::vector<double> nearest = drawn(x, 0, 0).forward;
  for (std::uint64_t draw = 1; draw <= 4; ++draw) {
    const std::vector<double> made = drawn(x, draw, 0).forward;
    seen.insert(made);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(-made[i], x[i], 1.001 * 0x1p-8);
    for (std::size_t i = 16; i < x.size(); ++i) EXPECT_EQ(made[i], nearest[i]);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(VerifyRounded, DrawsWhatGoesBackAndLeavesValues) {
  std::vector<double> x;
  for (int i = 1; i <= 16; ++i) x.push_back(std::sin(i));
  const Drawn nearest = drawn(x, 0, 0);
  std::set<std::vector<double>> seen;
  for (std::uint64_t draw = 1; draw <= 4; ++draw) {
    const Drawn made = drawn(x, draw, 1);
    EXPECT_EQ(made.forward, nearest.forward);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(nearest.back[i], -1);
      EXPECT_NEAR(made.back[i], -1, 4 * 0x1p-8);
    }
    seen.insert(made.back);
  }
  EXPECT_EQ(seen.size(), 4u);
}

/// x w in one draw, and the gradient of w where each element of the product has the cotangent `seed`.
Drawn product_of(const std::vector<double>& x, const std::vector<double>& w, const Rounding& rounding, double seed) {
  Graph graph(&test::builtin_ops());
  const auto depth = static_cast<std::int64_t>(w.size()), rows = static_cast<std::int64_t>(x.size()) / depth;
  const ValueType types[] = {{BALEEN_F64, {rows, depth}, {}}, {BALEEN_F64, {depth, 1}, {}}};
  const ValueId a = must(graph.input("x", types[0])), b = must(graph.parameter("w", types[1]));
  const ValueId product = must(graph.append1("matmul", {a, b}, {{"spec", std::string("bi,ij->bj")}}, "product"));
  graph.set_output("made", product);
  graph.set_output(
      "loss",
      must(graph.append1(
          "reduce", {product},
          {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}, {"keep", Attributes::ints({0})}})));
  Job job;
  job.train() = std::move(graph);
  EXPECT_TRUE(round_values(job, rounding));
  Graph& rounded = job.train();
  const ValueId parameter = must(rounded.parameter("w", types[1]));
  const auto back =
      differentiate(rounded, rounded.output("loss"), must(rounded.constant(seed, BALEEN_F64)), {parameter});
  EXPECT_TRUE(back);
  rounded.set_output("back", back->at(0));
  EXPECT_TRUE(verify(rounded));
  test::ReferenceInterpreter run(rounded);
  run.set("x", x);
  run.set("w", w);
  run.run();
  return {run.output("made").data, run.output("back").data};
}

/// What goes back in fp16 is rounded to the nearest number as it is in bf16, small as it may be; values are as ever.
TEST(VerifyRounded, RoundsWhatGoesBackInFp16AsIfItWereScaled) {
  constexpr int kDigits = 11;
  for (const double seed : {0.1, 1e-6}) {
    const double back = round_to(seed, kDigits);
    ASSERT_NE(back, seed);
    const Drawn made = product_of({1, 0.3}, {0.7}, {BALEEN_F16}, seed);
    const double x = round_to(0.3, kDigits), w = round_to(0.7, kDigits);
    EXPECT_EQ(made.forward, (std::vector<double>{w, round_to(x * w, kDigits)}));
    EXPECT_EQ(made.back[0], round_to(back + x * back, kDigits));
  }
}

/// In some draws a product, or the gradient of what all rows read, is the sum of two rounded terms.
TEST(VerifyRounded, DrawsSumsOfRoundedTerms) {
  constexpr int kDigits = 8;
  const auto rounded = [](double number) { return round_to(number, kDigits); };
  const std::vector<double> x{rounded(1.3), rounded(-1.27), rounded(0.017)},
      w{rounded(1.7), rounded(1.71), rounded(0.33)};
  const double first = x[0] * w[0], second = x[1] * w[1], third = x[2] * w[2], seed = rounded(0.1);
  std::set<double> made, back;
  for (std::uint64_t draw = 11; draw < 43; ++draw) {
    const Rounding rounding{BALEEN_BF16, nullptr, draw, 1e-9, true};
    made.insert(product_of(x, w, rounding, 1).forward[0]);
    back.insert(rounded(product_of({x[0], x[1]}, {w[0]}, rounding, seed).back[0]));
  }
  const double whole = rounded(first + second + third);
  EXPECT_EQ(made, (std::set<double>{whole, rounded(rounded(first) + rounded(second + third)),
                                    rounded(rounded(first + second) + rounded(third))}));
  EXPECT_GT(made.size(), 1u);
  const double terms = rounded(rounded(x[0] * seed) + rounded(x[1] * seed));
  EXPECT_NE(terms, rounded((x[0] + x[1]) * seed));
  EXPECT_EQ(back, std::set<double>{terms}) << "there is one cut";
}

TEST(VerifyRounded, LeavesProgramsWithoutALossAlone) {
  Job job;
  job.graphs["predict"] = {GraphRole::infer, false, small_graph(BALEEN_F64)};
  const std::size_t before = job.graphs["predict"].graph.ops().size();
  ASSERT_TRUE(round_values(job, {BALEEN_BF16}));
  EXPECT_EQ(job.graphs["predict"].graph.ops().size(), before);
}

}  // namespace
}  // namespace baleen::app
