/// \file Fusion of pointwise ops: what is joined and what must not be, and that it changes no bit.
#include "compiler/plan/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "unit/compiler/plan/batch_graphs.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

ScheduledGraph fused(ScheduledGraph scheduled) {
  if (Status ok = fuse_pointwise(scheduled); !ok) throw std::runtime_error(ok.error().text());
  if (Status ok = verify(scheduled.graph); !ok) throw std::runtime_error(ok.error().text());
  return scheduled;
}

ScheduledGraph fused(const Graph& graph) { return fused(cut_and_schedule(graph, 1)); }

std::vector<const Op*> pointwise_ops(const ScheduledGraph& scheduled) {
  std::vector<const Op*> found;
  for (OpId id : scheduled.graph.ops())
    if (scheduled.graph.op(id).kind->has(kPointwise)) found.push_back(&scheduled.graph.op(id));
  return found;
}

std::ptrdiff_t count_opcode(const ScheduledGraph& scheduled, std::uint32_t opcode) {
  std::ptrdiff_t found = 0;
  for (const Op* op : pointwise_ops(scheduled)) {
    const auto& code = op->attributes.expression("expression").code;
    found += std::count_if(code.begin(), code.end(), [&](const auto& i) { return i.opcode == opcode; });
  }
  return found;
}

std::vector<std::uint64_t> bits(const Numbers& numbers) {
  std::vector<std::uint64_t> result;
  for (double number : numbers) result.push_back(std::bit_cast<std::uint64_t>(number));
  return result;
}

/// All outputs and assigned values before and after fusion, bit by bit.
void expect_same_bits(const Graph& graph, std::int64_t micro_batches, std::uint64_t seed) {
  const auto sources = random_sources(graph, seed);
  const ScheduledGraph before = cut_and_schedule(graph, micro_batches), after = fused(before);
  ScheduledRun expected(before, seed, 1), got(after, seed, 1);
  expected.run(sources);
  got.run(sources);
  for (const GraphOutput& output : graph.outputs())
    ASSERT_EQ(bits(expected.output(output.name).data), bits(got.output(output.name).data)) << output.name;
  ASSERT_EQ(expected.assigned().size(), got.assigned().size());
  for (const auto& [name, tensor] : expected.assigned())
    ASSERT_EQ(bits(tensor.data), bits(got.assigned().at(name).data)) << name;
}

// --- what is joined

TEST(PlanFusePointwise, AChainBecomesOneOp) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {3, 4}), y = m.parameter("y", {3, 4});
  m.output("z", m.unary(BALEEN_X_TANH, m.scale(m.binary(BALEEN_X_MUL, m.unary(BALEEN_X_SIN, x), y), 2)));
  const ScheduledGraph scheduled = fused(m.graph);
  ASSERT_EQ(pointwise_ops(scheduled).size(), 1u) << print(scheduled.graph);
  EXPECT_EQ(pointwise_ops(scheduled)[0]->inputs, (std::vector<ValueId>{x, y}));
  expect_same_bits(m.graph, 1, 1);
}

TEST(PlanFusePointwise, BranchesThatMeetBecomeOneOp) {
  GraphMaker m;
  const ValueId x = m.unary(BALEEN_X_EXP, m.parameter("x", {5}));
  m.output("y", m.binary(BALEEN_X_ADD, m.unary(BALEEN_X_SIN, x), m.unary(BALEEN_X_COS, x)));
  const ScheduledGraph scheduled = fused(m.graph);
  EXPECT_EQ(pointwise_ops(scheduled).size(), 1u);
  EXPECT_EQ(count_opcode(scheduled, BALEEN_X_EXP), 1) << "what both branches read is computed once";
}

TEST(PlanFusePointwise, AValueThatOthersReadBecomesAFurtherResult) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {3, 4});
  const ValueId h = m.unary(BALEEN_X_SIN, x), y = m.unary(BALEEN_X_COS, h);
  m.output("kept", h);
  m.output("soft", m.op("softmax", {h}));
  m.output("y", y);
  const ScheduledGraph scheduled = fused(m.graph);
  ASSERT_EQ(pointwise_ops(scheduled).size(), 1u) << print(scheduled.graph);
  EXPECT_EQ(pointwise_ops(scheduled)[0]->outputs.size(), 2u);
  EXPECT_EQ(scheduled.graph.output("kept"), pointwise_ops(scheduled)[0]->outputs[0]);
  expect_same_bits(m.graph, 1, 2);
}

TEST(PlanFusePointwise, AValueThatOnlyTheGroupReadsIsNoResult) {
  GraphMaker m;
  m.output("y", m.unary(BALEEN_X_COS, m.unary(BALEEN_X_SIN, m.parameter("x", {4}))));
  EXPECT_EQ(pointwise_ops(fused(m.graph)).at(0)->outputs.size(), 1u);
}

/// Of `a` and `b` as one op and of `early` and `late` as one op, each would need the other: `b` reads the sum of what
/// is early, which stands before `a`, and what is late reads `a`.
TEST(PlanFusePointwise, GroupsThatReadEachOtherAreNotMade) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {4}), y = m.parameter("y", {});
  const ValueId early = m.unary(BALEEN_X_SIN, x);
  const ValueId sum = m.op("reduce", {early}, {{"kind", "sum"}, {"dims", Attributes::ints({0})}});
  const ValueId a = m.unary(BALEEN_X_COS, y);
  m.output("late", m.binary(BALEEN_X_MUL, early, a));
  m.output("b", m.binary(BALEEN_X_ADD, a, sum));
  EXPECT_EQ(pointwise_ops(fused(m.graph)).size(), 3u);
  expect_same_bits(m.graph, 1, 3);
}

// --- 16 bits

/// A pointwise op whose result is `dtype`.
ValueId typed(GraphMaker& m, std::vector<ValueId> inputs, Expression e, std::uint32_t result, baleen_dtype_t dtype) {
  return m.op(
      "pointwise", std::move(inputs),
      {{"expression", std::move(e)}, {"results", Attributes::ints({result})}, {"dtype", Attributes::ints({dtype})}});
}

ValueId typed(GraphMaker& m, std::uint32_t opcode, ValueId a, ValueId b, baleen_dtype_t dtype) {
  Expression e;
  const auto result = e.binary(opcode, e.input(0), e.input(1));
  return typed(m, {a, b}, std::move(e), result, dtype);
}

ValueId cast(GraphMaker& m, ValueId x, baleen_dtype_t dtype) {
  Expression e;
  const auto result = e.input(0);
  return typed(m, {x}, std::move(e), result, dtype);
}

/// fp32 to 16 bits and back, sums of both, and a value in 16 bits that others read too.
TEST(PlanFusePointwise, AValueOf16BitsIsRoundedWhereItIsNoLongerStored) {
  for (const baleen_dtype_t half : {BALEEN_BF16, BALEEN_F16}) {
    GraphMaker m(BALEEN_F32);
    const ValueId x = m.parameter("x", {3, 5}), y = m.parameter("y", {3, 5});
    const ValueId narrow = cast(m, x, half), product = typed(m, BALEEN_X_MUL, narrow, y, half);
    const ValueId sum = m.binary(BALEEN_X_ADD, product, narrow), wide = typed(m, BALEEN_X_ADD, sum, y, BALEEN_F32);
    m.output("product", product);
    m.output("wide", m.binary(BALEEN_X_MUL, wide, wide));
    m.output("back", cast(m, m.unary(BALEEN_X_TANH, sum), BALEEN_F32));
    const ScheduledGraph scheduled = fused(m.graph);
    ASSERT_EQ(pointwise_ops(scheduled).size(), 1u) << print(scheduled.graph);
    EXPECT_GE(count_opcode(scheduled, BALEEN_X_ROUND), 3);
    expect_same_bits(m.graph, 1, 7);
  }
}

/// A gradient in 16 bits, widened for its norm and for the update: the wide numbers are never stored.
TEST(PlanFusePointwise, AWideningIsComputedByEachReader) {
  GraphMaker m(BALEEN_F32);
  const ValueId x = cast(m, m.parameter("x", {3, 5}), BALEEN_BF16);
  const ValueId stored = m.op("copy", {x}), wide = cast(m, stored, BALEEN_F32);
  const ValueId norm = m.unary(BALEEN_X_SQRT, m.sum(m.binary(BALEEN_X_MUL, wide, wide), {0, 1}));
  m.output("y", m.binary(BALEEN_X_DIV, wide, norm));
  const ScheduledGraph scheduled = fused(m.graph);
  int readers = 0;
  for (const Op* op : pointwise_ops(scheduled)) {
    const bool reads = std::find(op->inputs.begin(), op->inputs.end(), stored) != op->inputs.end();
    readers += reads;
    EXPECT_EQ(op->outputs.size(), 1u) << print(scheduled.graph);
  }
  EXPECT_EQ(readers, 2);
  expect_same_bits(m.graph, 1, 8);
}

/// The limit is on what a tile reads, not on what it computes on the way.
TEST(PlanFusePointwise, ALongChainOfFewOperandsBecomesOneOp) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {3, 4});
  ValueId y = x;
  for (int i = 0; i < 24; ++i) y = m.binary(BALEEN_X_ADD, y, x);
  m.output("y", y);
  const ScheduledGraph scheduled = fused(m.graph);
  ASSERT_EQ(pointwise_ops(scheduled).size(), 1u) << print(scheduled.graph);
  EXPECT_EQ(pointwise_ops(scheduled)[0]->inputs, std::vector<ValueId>{x});
  expect_same_bits(m.graph, 1, 4);
}

/// Two readers of one random tensor must see the same numbers, drawn once.
TEST(PlanFusePointwise, RandomNumbersAreDrawnOnce) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {3, 4});
  Expression e;
  const auto noisy = e.binary(BALEEN_X_MUL, e.input(0), e.random(BALEEN_X_NORMAL, 5));
  const ValueId h = m.op("pointwise", {x}, {{"expression", std::move(e)}, {"results", Attributes::ints({noisy})}});
  m.output("a", m.unary(BALEEN_X_SIN, h));
  m.output("b", m.binary(BALEEN_X_MUL, m.op("softmax", {h}), h));
  EXPECT_EQ(count_opcode(fused(m.graph), BALEEN_X_NORMAL), 1);
  expect_same_bits(m.graph, 1, 3);
}

// --- what is not

TEST(PlanFusePointwise, OpsOfOtherShapesStayApart) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {6, 4}), b = m.parameter("b", {1, 4});
  m.output("y", m.binary(BALEEN_X_ADD, m.unary(BALEEN_X_SIN, x), m.unary(BALEEN_X_EXP, b)));
  const ScheduledGraph scheduled = fused(m.graph);
  const auto ops = pointwise_ops(scheduled);
  ASSERT_EQ(ops.size(), 2u) << "exp would be computed six times per element of b";
  EXPECT_EQ(count_opcode(scheduled, BALEEN_X_EXP), 1);
}

/// sin and add may not be one op, since softmax needs the one and is needed by the other.
TEST(PlanFusePointwise, NoOpIsJoinedAroundAThird) {
  GraphMaker m;
  const ValueId h = m.unary(BALEEN_X_SIN, m.parameter("x", {3, 4}));
  m.output("y", m.binary(BALEEN_X_ADD, h, m.op("softmax", {h})));
  EXPECT_EQ(pointwise_ops(fused(m.graph)).size(), 2u);
  expect_same_bits(m.graph, 1, 4);
}

/// The same through a longer way: neg may join sin or exp, but not both.
TEST(PlanFusePointwise, NoGroupIsJoinedAroundAThird) {
  GraphMaker m;
  const ValueId h = m.unary(BALEEN_X_SIN, m.parameter("x", {3, 4}));
  const ValueId through = m.unary(BALEEN_X_EXP, m.op("softmax", {m.unary(BALEEN_X_COS, h)}));
  m.output("y", m.binary(BALEEN_X_ADD, m.unary(BALEEN_X_NEG, h), through));
  expect_same_bits(m.graph, 1, 5);
  EXPECT_EQ(pointwise_ops(fused(m.graph)).size(), 2u);
}

TEST(PlanFusePointwise, PhasesStayApart) {
  GraphMaker m;
  const ValueId h = m.unary(BALEEN_X_SIN, m.parameter("x", {3, 4}));
  m.output("h", h);
  m.graph.context().phase = Phase::backward;
  const ValueId g = m.unary(BALEEN_X_COS, h);
  m.output("g", m.unary(BALEEN_X_EXP, g));
  const ScheduledGraph scheduled = fused(m.graph);
  ASSERT_EQ(scheduled.sections.size(), 2u);
  ASSERT_EQ(pointwise_ops(scheduled).size(), 2u);
  EXPECT_EQ(pointwise_ops(scheduled)[0]->phase, Phase::forward);
  EXPECT_EQ(pointwise_ops(scheduled)[1]->phase, Phase::backward);
}

TEST(PlanFusePointwise, OtherDtypesStayApart) {
  GraphMaker m;
  const ValueId ids = m.batch("ids", {3, 4}, BALEEN_I32);
  Expression shift, real;
  const auto next = shift.binary(BALEEN_X_ADD, shift.input(0), shift.constant(0.75));
  const ValueId rounded = m.op("pointwise", {ids},
                               {{"expression", std::move(shift)},
                                {"results", Attributes::ints({next})},
                                {"dtype", Attributes::ints({BALEEN_I32})}});
  const auto half = real.binary(BALEEN_X_MUL, real.input(0), real.constant(0.5));
  m.output("y", m.op("pointwise", {rounded},
                     {{"expression", std::move(real)},
                      {"results", Attributes::ints({half})},
                      {"dtype", Attributes::ints({BALEEN_F64})}}));
  EXPECT_EQ(pointwise_ops(fused(m.graph)).size(), 2u) << "storing as integers rounds";
  expect_same_bits(m.graph, 1, 6);
}

TEST(PlanFusePointwise, NoOpGrowsBeyondWhatATileHolds) {
  GraphMaker m;
  ValueId many = m.parameter("x", {8}), longest = many;
  for (int i = 0; i < 60; ++i) many = m.binary(BALEEN_X_ADD, many, m.parameter("p" + std::to_string(i), {8}));
  for (int i = 0; i < 300; ++i) longest = m.unary(i % 2 ? BALEEN_X_SIN : BALEEN_X_COS, longest);
  m.output("many", many);
  m.output("longest", longest);
  const ScheduledGraph scheduled = fused(m.graph);
  EXPECT_LT(pointwise_ops(scheduled).size(), 60u);
  for (const Op* op : pointwise_ops(scheduled)) {
    EXPECT_LE(op->inputs.size(), 20u);
    EXPECT_LE(op->attributes.expression("expression").code.size(), 96u);
  }
  expect_same_bits(m.graph, 1, 7);
}

// --- loops

/// A chain that two loops compute, each for itself: fusing each must not make them one again.
TEST(PlanFusePointwise, TheSameChainOfTwoLoopsIsNotMerged) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const ValueId h = m.unary(BALEEN_X_EXP, m.unary(BALEEN_X_SIN, x));
  const ValueId rows = m.op("softmax", {h});
  const ValueId total = m.unary(BALEEN_X_SQRT, m.sum(rows, {0, 1}));
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, m.reshape(h, {6, 2, 2}), total), {0, 1, 2}));
  const ScheduledGraph scheduled = fused(cut_and_schedule(m.graph, 3));
  EXPECT_EQ(count_opcode(scheduled, BALEEN_X_EXP), 2) << print(scheduled.graph);
  ASSERT_NO_THROW(expect_computes(scheduled, m.graph));
}

// --- no bit changes

TEST(PlanFusePointwise, TrainingGivesTheSameBits) {
  auto made = train_graph(gpt_job(4));
  ASSERT_TRUE(made) << made.error().text();
  for (std::int64_t micro : {1, 2, 4}) {
    SCOPED_TRACE(micro);
    expect_same_bits(made->graph, micro, 8);
  }
  EXPECT_LT(pointwise_ops(fused(made->graph)).size(), pointwise_ops(cut_and_schedule(made->graph, 1)).size() / 2);
}

TEST(PlanFusePointwise, RandomGraphsGiveTheSameBits) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_THROW(expect_same_bits(random_graph(seed, 40), 1, seed));
    ASSERT_NO_THROW(expect_same_bits(random_batch_graph(seed, 30), 3, seed));
    if (HasFatalFailure()) return;
  }
}

/// A graph of pointwise ops on fp32, whose values on the device round where an expression's do.
Graph random_chain(std::uint64_t seed) {
  constexpr std::uint32_t kUnary[] = {BALEEN_X_GELU, BALEEN_X_TANH, BALEEN_X_EXP, BALEEN_X_SIGMOID, BALEEN_X_NEG};
  constexpr std::uint32_t kBinary[] = {BALEEN_X_ADD, BALEEN_X_SUB, BALEEN_X_MUL, BALEEN_X_DIV, BALEEN_X_MAX};
  GraphMaker m;
  std::mt19937_64 random(seed);
  std::vector<ValueId> pool;
  for (const char* name : {"x", "y", "z"}) pool.push_back(*m.graph.parameter(name, {BALEEN_F32, {7, 33}, {}}));
  auto any = [&] { return pool[pool.size() - 1 - random() % std::min<std::size_t>(pool.size(), 6)]; };
  for (int i = 0; i < 25; ++i) {
    const ValueId a = any(), b = any();
    pool.push_back(random() % 3 ? m.binary(kBinary[random() % 5], a, b) : m.unary(kUnary[random() % 5], a));
    if (i % 8 == 7) m.output("o" + std::to_string(i), pool.back());
  }
  m.output("last", pool.back());
  m.graph.remove_dead();
  return std::move(m.graph);
}

/// Outputs of a program on the device that trains.
std::map<std::string, Numbers> run_on_device(const ScheduledGraph& scheduled,
                                             const std::map<std::string, Numbers>& sources) {
  Workbench bench(scheduled, make_device(CPU, {{"threads", "1"}}));
  for (const auto& [name, numbers] : sources) bench.set(name, numbers);
  bench.run();
  std::map<std::string, Numbers> outputs;
  for (const GraphOutput& output : scheduled.graph.outputs()) outputs[output.name] = bench.output(output.name);
  return outputs;
}

TEST(PlanFusePointwise, TheDeviceGivesTheSameBitsInSinglePrecision) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_chain(seed);
    const auto sources = random_sources(graph, seed);
    const ScheduledGraph before = cut_and_schedule(graph, 1), after = fused(before);
    ASSERT_LT(pointwise_ops(after).size(), pointwise_ops(before).size());
    const auto expected = run_on_device(before, sources), got = run_on_device(after, sources);
    for (const auto& [name, numbers] : expected) ASSERT_EQ(bits(numbers), bits(got.at(name))) << name;
  }
}

}  // namespace
}  // namespace baleen::test
