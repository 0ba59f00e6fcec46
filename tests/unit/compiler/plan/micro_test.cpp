/// \file Micro-batches: what each value's pieces are, that the pieces make up the whole, and what cannot be cut.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/plan/passes.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

Graph take_graph(Job job) {
  auto made = train_graph(std::move(job));
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(made->graph);
}

std::string layout_of(const Graph& graph, ValueId v) { return to_string(graph.value(v).layout); }

/// What shard_micro says when it refuses; empty if it does not.
std::string refusal(Graph graph, std::int64_t micro_batches) {
  const Status status = shard_micro(graph, micro_batches);
  return status ? "" : status.error().message;
}

std::size_t count(const Graph& graph, const std::string& kind) {
  const auto ops = graph.ops();
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [&](OpId id) { return graph.op(id).kind->name == kind; }));
}

// --- the sums of the pieces are the whole

TEST(PlanMicro, AccumulatedGradientsAndUpdatesAreThoseOfTheWholeBatch) {
  const Graph graph = take_graph(gpt_job(4));
  ASSERT_NE(graph.output("gradient.embedding.table"), kNone);
  for (std::int64_t micro : {1, 2, 4}) {
    SCOPED_TRACE(micro);
    expect_computes(cut_and_schedule(graph, micro), graph);
  }
}

TEST(PlanMicro, ClippingByTheNormOfTheWholeGradientIsThatOfTheWholeBatch) {
  Job job = gpt_job(4);
  job.clip_grad_norm = 0.01;
  const Graph graph = take_graph(std::move(job));
  for (std::int64_t micro : {2, 4}) {
    SCOPED_TRACE(micro);
    expect_computes(cut_and_schedule(graph, micro), graph);
  }
}

/// The loss is a sum over a weight, so micro-batches with few targets must not count as much as those with many.
TEST(PlanMicro, AMicroBatchWithoutAnyTargetChangesNothing) {
  const Graph graph = take_graph(gpt_job(4));
  auto sources = random_sources(graph, 8);
  Numbers& targets = sources.at("targets");
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i < 8 || i == 13 ? double{kMasked} : 1;
  for (std::int64_t micro : {1, 2, 4}) {
    SCOPED_TRACE(micro);
    expect_computes(cut_and_schedule(graph, micro), graph, sources);
  }
}

TEST(PlanMicro, ABatchWithoutAnyTargetHasTheGradientZero) {
  const Graph graph = take_graph(gpt_job(4));
  auto sources = random_sources(graph, 9);
  for (double& target : sources.at("targets")) target = kMasked;
  for (std::int64_t micro : {1, 2}) {
    const ScheduledGraph scheduled = cut_and_schedule(graph, micro);
    ScheduledRun run(scheduled);
    run.run(sources);
    EXPECT_EQ(run.output("weight").data, Numbers{0});
    EXPECT_EQ(run.output("gradient_norm").data, Numbers{0});
    for (double g : run.output("gradient.head.weight").data) EXPECT_EQ(g, 0);
  }
}

/// A dropout mask that reads nothing is drawn per micro-batch, with the whole batch's numbers.
TEST(PlanMicro, RandomMasksAreThoseOfTheWholeBatch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  Expression e;
  const auto noise = e.random(BALEEN_X_UNIFORM, 7);
  const ValueId mask = m.op("pointwise", {},
                            {{"expression", std::move(e)},
                             {"results", Attributes::ints({noise})},
                             {"shape", Attributes::ints({6, 4})},
                             {"dtype", Attributes::ints({BALEEN_F64})}});
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, x, mask), {0, 1}));
  for (std::int64_t micro : {2, 3, 6}) expect_computes(cut_and_schedule(m.graph, micro), m.graph);
}

// --- layouts

TEST(PlanMicro, OneMicroBatchLeavesTheGraphAsItIs) {
  Graph graph = take_graph(gpt_job(4));
  const std::uint64_t before = hash(graph);
  ASSERT_TRUE(shard_micro(graph, 1));
  EXPECT_EQ(hash(graph), before);
  EXPECT_TRUE(graph.mesh().axes.empty());
}

TEST(PlanMicro, TheVirtualAxisIsTheInnermost) {
  Graph graph = take_graph(gpt_job(4));
  ASSERT_TRUE(shard_micro(graph, 2));
  ASSERT_FALSE(graph.mesh().axes.empty());
  EXPECT_EQ(graph.mesh().axes.back().name, kMicroAxis);
  EXPECT_EQ(graph.mesh().axes.back().size, 2);
}

TEST(PlanMicro, InputsAreShardedGradientsArePartialAndTheRestIsReplicated) {
  Graph graph = take_graph(affine_job(6));
  ASSERT_TRUE(shard_micro(graph, 3));
  ASSERT_TRUE(verify(graph));
  std::map<std::string, std::string> layouts;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.kind->name == "matmul") layouts["matmul " + op.attributes.text("spec")] = layout_of(graph, op.outputs[0]);
    if (!op.inputs.empty() || !op.kind->has(kStructural)) continue;
    layouts[op.kind->name + " " + op.name] = layout_of(graph, op.outputs[0]);
  }
  const std::map<std::string, std::string> expected{
      {"input x", "S0"},        {"parameter up.weight", "R"},     {"parameter up.bias", "R"},
      {"scalar lr", "R"},       {"state optimizer.updates", "R"}, {"matmul bi,io->bo", "S0"},
      {"matmul bi,bo->io", "P"}};
  for (const auto& [name, layout] : expected) EXPECT_EQ(layouts[name], layout) << name << "\n" << print(graph);
  for (const GraphOutput& output : graph.outputs()) EXPECT_EQ(layout_of(graph, output.value), "R") << output.name;
}

TEST(PlanMicro, AccumulationTurnsAPartialValueIntoAWholeOne) {
  Graph graph = take_graph(gpt_job(4));
  ASSERT_TRUE(shard_micro(graph, 2));
  std::set<ValueId> accumulated;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.kind->name != "accumulate_micro") continue;
    EXPECT_EQ(layout_of(graph, op.inputs[0]), "P");
    EXPECT_EQ(layout_of(graph, op.outputs[0]), "R");
    EXPECT_EQ(graph.value(op.outputs[0]).role, graph.value(op.inputs[0]).role);
    EXPECT_TRUE(accumulated.insert(op.inputs[0]).second) << "a value is accumulated once, whoever reads it";
  }
}

/// The norm reads the gradient whole and so does the optimizer then, instead of scaling it piece by piece into an
/// accumulator of its own.
TEST(PlanMicro, EachGradientHasOneAccumulator) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    Job job = gpt_job(4);
    const std::size_t parameters = job.parameters.size();
    job.optimizer = {optimizer, {{"lr", {0.1, "test"}}}, {}, "test"};
    if (optimizer == std::string("sgd")) job.optimizer.options["momentum"] = {0.9, "test"};
    const Graph graph = take_graph(std::move(job));
    const ScheduledGraph scheduled = cut_and_schedule(graph, 2);
    EXPECT_EQ(count(scheduled.graph, "accumulate_micro"), parameters + 2) << optimizer << ": and loss and weight";
    auto sources = random_sources(graph, 4);
    for (auto& [name, numbers] : sources)
      if (name.ends_with(".v") || name == "optimizer.updates")  // a mean of squares, a count
        for (double& number : numbers) number = std::abs(number);
    expect_computes(scheduled, graph, sources);
  }
}

TEST(PlanMicro, APartialValuePassesALinearOpAndIsAccumulatedBehindIt) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const ValueId sum = m.sum(x, {0}), twice = m.scale(sum, 2);
  m.output("y", twice);
  ASSERT_TRUE(shard_micro(m.graph, 3));
  EXPECT_EQ(layout_of(m.graph, sum), "P");
  EXPECT_EQ(layout_of(m.graph, twice), "P");
  EXPECT_EQ(count(m.graph, "accumulate_micro"), 1u);
}

TEST(PlanMicro, APartialValueIsAccumulatedBeforeAnOpThatIsNotLinear) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const ValueId sum = m.sum(x, {0}), square = m.binary(BALEEN_X_MUL, sum, sum);
  m.output("y", square);
  const Graph original = m.graph;
  ASSERT_TRUE(shard_micro(m.graph, 3));
  EXPECT_EQ(layout_of(m.graph, sum), "P");
  EXPECT_EQ(layout_of(m.graph, square), "R");
  expect_computes(cut_and_schedule(original, 3), original);
}

/// a + b is linear in both together and in neither alone: a whole b would be added once per micro-batch.
TEST(PlanMicro, APartialValuePlusAWholeOneIsAccumulatedFirst) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4}), y = m.batch("y", {6, 4}), w = m.parameter("w", {4});
  const ValueId both = m.binary(BALEEN_X_ADD, m.sum(x, {0}), m.sum(y, {0}));
  const ValueId one = m.binary(BALEEN_X_ADD, m.sum(m.binary(BALEEN_X_MUL, x, y), {0}), w);
  m.output("both", both);
  m.output("one", one);
  const Graph original = m.graph;
  ASSERT_TRUE(shard_micro(m.graph, 2));
  EXPECT_EQ(layout_of(m.graph, both), "P");
  EXPECT_EQ(layout_of(m.graph, one), "R");
  expect_computes(cut_and_schedule(original, 2), original);
}

TEST(PlanMicro, AnInputWithoutTheBatchAxisIsWhole) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const ValueId table = *m.graph.input("table", {BALEEN_F64, {4, 4}, {"rows", ""}});
  m.output("y", m.sum(m.matmul("bi,io->bo", x, table), {0, 1}));
  ASSERT_TRUE(shard_micro(m.graph, 2));
  EXPECT_EQ(layout_of(m.graph, table), "R");
}

TEST(PlanMicro, TheCutFollowsTheBatchThroughShapes) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const ValueId turned = m.transpose(x, {1, 0}), split = m.reshape(x, {6, 2, 2}), flat = m.reshape(x, {24});
  for (const auto& [name, v] : {std::pair{"turned", turned}, {"split", split}, {"flat", flat}})
    m.output(name, m.sum(m.unary(BALEEN_X_SIN, v), {0}));
  m.output("turned", m.sum(m.sum(m.unary(BALEEN_X_SIN, turned), {0}), {0}));
  const Graph original = m.graph;
  ASSERT_TRUE(shard_micro(m.graph, 3));
  EXPECT_EQ(layout_of(m.graph, turned), "S1");
  EXPECT_EQ(layout_of(m.graph, split), "S0");
  EXPECT_EQ(layout_of(m.graph, flat), "S0");
  expect_computes(cut_and_schedule(original, 3), original);
}

/// Each micro-batch has a maximum, and the largest of them is the batch's: nothing is added up, whatever the signs.
TEST(PlanMicro, AMaximumOverTheBatchIsTheLargestOfTheMicroBatches) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const auto largest = [&](std::vector<std::int64_t> dims) {
    return m.op("reduce", {x}, {{"kind", std::string("max")}, {"dims", Attributes::ints(std::move(dims))}});
  };
  const ValueId all = largest({0, 1}), columns = largest({0});
  m.output("all", m.scale(all, 2));
  m.output("columns", columns);
  const Graph original = m.graph;
  auto sources = random_sources(original, 11);
  for (double& number : sources.at("x")) number = -std::abs(number) - 1;
  for (std::int64_t micro : {2, 3}) {
    expect_computes(cut_and_schedule(original, micro), original);
    expect_computes(cut_and_schedule(original, micro), original, sources);
  }
  ASSERT_TRUE(shard_micro(m.graph, 3));
  EXPECT_EQ(layout_of(m.graph, all), "Pmax");
  EXPECT_EQ(count(m.graph, "accumulate_micro"), 2u);
}

// --- refusals

TEST(PlanMicro, ABatchThatDoesNotDivideIsRefusedWithWhatWould) {
  GraphMaker m;
  m.output("y", m.sum(m.batch("x", {6, 4}), {0, 1}));
  EXPECT_EQ(refusal(m.graph, 4),
            "input `x`: a batch of 6 does not divide into 4 micro-batches; take a batch of 8, or accumulate over 3");
  EXPECT_EQ(refusal(m.graph, 7),
            "input `x`: a batch of 6 does not divide into 7 micro-batches; take a batch of 7, or accumulate over 6");
}

TEST(PlanMicro, AnOpThatMixesTheBatchIsRefusedByName) {
  const std::string end =
      ": the batch cannot be cut into micro-batches here; take gradient_accumulation_steps = 1 (and no pipeline, which "
      "needs more), or compute it of each row by itself";
  auto refused = [](const std::function<ValueId(GraphMaker&, ValueId)>& build) {
    GraphMaker m;
    m.graph.context() = {Phase::forward, kNone, "blocks.1.mixer", "train.lua:7"};
    const ValueId y = build(m, m.batch("x", {6, 4}));
    std::vector<std::int64_t> all(m.shape(y).size());
    for (std::size_t d = 0; d < all.size(); ++d) all[d] = static_cast<std::int64_t>(d);
    m.output("y", m.sum(y, all));
    return refusal(m.graph, 2);
  };
  EXPECT_EQ(refused([](GraphMaker& m, ValueId x) {
              return m.op("softmax", {m.transpose(x, {1, 0})});
            }),
            "blocks.1.mixer (softmax) reduces over the batch" + end);
  EXPECT_EQ(refused([](GraphMaker& m, ValueId x) { return m.slice(x, 0, 1, 4); }),
            "blocks.1.mixer (slice) mixes the batch" + end);
  EXPECT_EQ(refused([](GraphMaker& m, ValueId x) {
              return m.op("matmul", {x, x}, {{"spec", std::string("bi,ci->bc")}});
            }),
            "blocks.1.mixer (matmul) combines the batch with another dimension" + end);
}

TEST(PlanMicro, AParameterWithABatchDimensionIsRefused) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4}), w = m.parameter("w", {6, 4});
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, x, w), {0, 1}));
  EXPECT_NE(refusal(m.graph, 2).find("reads a value with a batch dimension that is not a batch input"),
            std::string::npos);
}

TEST(PlanMicro, AnOutputWithABatchDimensionIsRefused) {
  GraphMaker m;
  m.output("rows", m.scale(m.batch("x", {6, 4}), 2));
  EXPECT_EQ(refusal(m.graph, 2), "output `rows` has a batch dimension and cannot be cut into micro-batches");
}

TEST(PlanMicro, ALocalRegionWhosePartOfTheBatchDoesNotDivideIsRefused) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  const auto local = m.graph.append1("to_local", {x}, {{"shape", Attributes::ints({3, 4})}}, "layer");
  ASSERT_TRUE(local) << local.error().text();
  m.output("y", m.sum(*local, {0, 1}));
  EXPECT_NE(refusal(m.graph, 2).find("layer (to_local): a rank's part of the batch, 3 rows, does not divide into 2"),
            std::string::npos)
      << refusal(m.graph, 2);
}

}  // namespace
}  // namespace baleen::test
