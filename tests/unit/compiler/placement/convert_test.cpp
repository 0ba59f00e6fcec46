/// \file Conversions in the graph: where they stand, what is shared, that wrong layouts are found; and local regions
/// that a strategy puts in place of an op.
#include "compiler/placement/passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "placed_traffic.hpp"
#include "simulated_ranks.hpp"
#include "sketch_plans.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

struct Converted {
  Graph graph;
  PlacedGraph placed;
};

Converted convert(const test::SketchPlan& plan) {
  auto placed = propagate(plan.sketch->graph, plan.request);
  EXPECT_TRUE(placed) << placed.error().text();
  Converted result{plan.sketch->graph, *placed};
  const Status status = insert_conversions(result.graph, plan.request, result.placed);
  EXPECT_TRUE(status) << status.error().text();
  return result;
}

class ConvertedPlan : public testing::TestWithParam<std::string> {};

TEST_P(ConvertedPlan, IsSoundAndReadsEverythingAsPlaced) {
  const Converted converted = convert(test::make_plan(GetParam()));
  const Status sound = verify(converted.graph), laid_out = verify_layouts(converted.graph);
  EXPECT_TRUE(sound) << sound.error().text();
  EXPECT_TRUE(laid_out) << laid_out.error().text();
}

TEST_P(ConvertedPlan, AgreesWithTheCountOfItsTransfers) {
  const auto plan = test::make_plan(GetParam());
  const Converted converted = convert(plan);
  std::map<std::tuple<Phase, std::string, std::string>, std::int64_t> counted, expected;
  for (OpId id : converted.graph.ops()) {
    const Op& op = converted.graph.op(id);
    if (!op.kind->has(kCollective)) continue;
    std::string axes;
    for (std::int64_t axis : op.attributes.integers("axes"))
      axes += (axes.empty() ? "" : "+") + converted.graph.mesh().axes[static_cast<std::size_t>(axis)].name;
    ++counted[{op.phase, axes, op.kind->name}];
  }
  for (const test::TrafficRow& row :
       test::traffic(test::transfers(plan.sketch->graph, plan.request, converted.placed), -1))
    if (row.kind != "internal" && row.kind != "summa") expected[{row.phase, row.axis, row.kind}] = row.count;
  EXPECT_EQ(counted, expected);
}

TEST_P(ConvertedPlan, StandsInTheOrderOfItsPhases) {
  const Converted converted = convert(test::make_plan(GetParam()));
  Phase phase = Phase::forward;
  for (OpId id : converted.graph.ops()) {
    const Op& op = converted.graph.op(id);
    if (op.inputs.empty()) continue;
    EXPECT_GE(op.phase, phase) << op.kind->name << " " << op.name;
    phase = op.phase;
  }
}

INSTANTIATE_TEST_SUITE_P(Sketch, ConvertedPlan, testing::ValuesIn(test::plan_names()),
                         [](const auto& info) { return info.param; });

/// Any other placement of any value on any axis is found out.
TEST(VerifyLayouts, FindsEveryWrongLayout) {
  for (const char* name : {"dp", "tp", "dp_tp_zero3"}) {
    const Converted converted = convert(test::make_plan(name));
    for (ValueId v = 0; v < converted.graph.value_count(); v += 7) {
      const Value& value = converted.graph.value(v);
      if (value.rank() == 0 || value.users.empty()) continue;
      Graph wrong = converted.graph;
      Layout& layout = wrong.value(v).layout;
      layout[0] = layout[0].is_partial() ? Placement::replicate() : Placement::partial();
      layout = canonical(layout);
      EXPECT_FALSE(verify_layouts(wrong)) << name << ": %" << v << " " << to_string(value.layout);
    }
  }
}

class Convert : public testing::Test {
 protected:
  ValueId input(const Shape& shape, const char* layout) {
    const std::string name = "x" + std::to_string(request_.pins.size());
    const ValueId v = *graph_.input(name, {BALEEN_F64, shape, {}});
    request_.pins[v] = test::pin_to(*parse_layout(layout));
    data_[name].resize(static_cast<std::size_t>(element_count(shape)));
    for (double& number : data_[name]) number = std::normal_distribution<double>()(rng_);
    return v;
  }
  ValueId op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    auto made = graph_.append1(kind, std::move(inputs), std::move(attributes), "layer");
    EXPECT_TRUE(made) << made.error().text();
    return *made;
  }
  ValueId matmul(const std::string& spec, ValueId a, ValueId b) { return op("matmul", {a, b}, {{"spec", spec}}); }

  void place() {
    request_.cuts.resize(graph_.mesh().axes.size());
    auto placed = propagate(graph_, request_);
    ASSERT_TRUE(placed) << placed.error().text();
    whole_ = graph_;
    const Status status = insert_conversions(graph_, request_, *placed);
    ASSERT_TRUE(status) << status.error().text();
    check();
  }
  void check() {
    const Status sound = verify(graph_), laid_out = verify_layouts(graph_);
    ASSERT_TRUE(sound) << sound.error().text();
    ASSERT_TRUE(laid_out) << laid_out.error().text() << "\n" << print(graph_);
  }
  /// Outputs on the simulated ranks are those of the graph before it was placed.
  void compare() {
    test::ReferenceInterpreter one(whole_);
    test::SimulatedRanks ranks(graph_);
    for (const auto& [name, numbers] : data_) {
      one.set(name, numbers);
      ranks.set(name, numbers);
    }
    one.run();
    ranks.run();
    for (const GraphOutput& output : graph_.outputs())
      EXPECT_LT(test::difference(ranks.whole(output.value), one.output(output.name)), 1e-12) << output.name;
  }
  std::string kinds() const {
    std::string text;
    for (OpId id : graph_.ops())
      if (!graph_.op(id).inputs.empty()) text += (text.empty() ? "" : " ") + graph_.op(id).kind->name;
    return text;
  }

  Graph graph_{&test::builtin_ops()}, whole_{&test::builtin_ops()};
  PlacementRequest request_;
  std::map<std::string, std::vector<double>> data_;
  std::mt19937_64 rng_{3};
};

TEST_F(Convert, ACollectiveStandsBeforeItsFirstUserAndServesAll) {
  graph_.set_mesh({{{"data", 2}}});
  const ValueId x = input({4, 6}, "S0"), y = input({4, 6}, "R");
  const ValueId a = *graph_.unary(BALEEN_X_EXP, y), b = *graph_.binary(BALEEN_X_MUL, x, a),
                c = *graph_.binary(BALEEN_X_SUB, x, b);
  graph_.set_output("c", c);
  place();
  EXPECT_EQ(kinds(), "pointwise all_gather pointwise pointwise");
  compare();
}

TEST_F(Convert, APinStandsRightBehindItsValue) {
  graph_.set_mesh({{{"data", 2}}});
  const ValueId x = input({4, 6}, "P"), g = op("reshape", {x}, {{"shape", Attributes::ints({4, 6, 1})}});
  const ValueId other = *graph_.unary(BALEEN_X_EXP, x);
  graph_.value(g).role = Role::gradient;
  request_.pins[g] = test::pin_to(*parse_layout("S1"));
  request_.pins[g].every_micro_batch = true;
  graph_.set_output("g", g);
  graph_.set_output("other", other);
  place();
  ASSERT_EQ(kinds(), "reshape reduce_scatter all_reduce pointwise all_gather");
  const Op& made = graph_.op(graph_.ops()[2]);
  EXPECT_EQ(graph_.value(made.outputs[0]).role, Role::gradient);
  EXPECT_EQ(made.attributes.integer("every_micro_batch"), 1);
}

/// Along one axis in each micro-batch; what the other axis sums of its shards waits for the last.
TEST_F(Convert, APinOfOneAxisLeavesTheOthersForOnce) {
  graph_.set_mesh({{{"data", 2}, {"shard", 2}}});
  const ValueId x = input({4, 6}, "P,P"), g = op("reshape", {x}, {{"shape", Attributes::ints({4, 6, 1})}});
  graph_.value(g).role = Role::gradient;
  request_.pins[g] = test::pin_to(*parse_layout("R,F"));
  request_.pins[g].every_micro_batch = true;
  request_.pins[g].each_along = {1};
  graph_.set_output("g", g);
  place();
  const auto is_each = [&](std::size_t op) {
    return graph_.op(graph_.ops()[op]).attributes.integer_or("every_micro_batch", 0) != 0;
  };
  ASSERT_TRUE(kinds().starts_with("reshape reduce_scatter all_reduce")) << kinds();
  EXPECT_TRUE(is_each(2));
  EXPECT_FALSE(is_each(3));
}

TEST_F(Convert, AGraphThatChangedMeanwhileIsRefused) {
  graph_.set_mesh({{{"data", 2}}});
  const ValueId x = input({4}, "S0");
  request_.cuts.resize(1);
  const auto placed = propagate(graph_, request_);
  ASSERT_TRUE(placed);
  *graph_.unary(BALEEN_X_EXP, x);
  const Status status = insert_conversions(graph_, request_, *placed);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the graph has changed since it was placed");
}

/// What a strategy does in `lower`: C = A B by SUMMA (van de Geijn and Watts, 1997) in place of a matmul that took its
/// offer.
class LowersSumma : public Convert {
 protected:
  Offer offer(ValueId y) {
    const auto cut = [](int dim) { return Placement::shard(dim); };
    return {graph_.value(y).producer, "summa", "tensor", {0, 1}, {{cut(0), cut(0)}, {cut(1), cut(1)}},
            {{cut(0)}, {cut(1)}},     1,       true};
  }

  ValueId to_local(ValueId v) {
    return op("to_local", {v}, {{"shape", local_shape(graph_.value(v).shape, graph_.value(v).layout, graph_.mesh())}});
  }
  ValueId broadcast(ValueId v, int axis, std::int64_t root) {
    return op("broadcast", {v}, {{"axes", Attributes::ints({axis})}, {"root", Attributes::ints({root})}});
  }

  void lower(OpId id) {
    const Op matmul = graph_.op(id);
    const Value y = graph_.value(matmul.outputs[0]);
    const ValueId a = to_local(matmul.inputs[0]), b = to_local(matmul.inputs[1]);
    ValueId sum = kNone;
    for (std::int64_t step = 0; step < graph_.mesh().size(0); ++step) {
      const ValueId product = this->matmul("mk,kn->mn", broadcast(a, 1, step), broadcast(b, 0, step));
      sum = sum == kNone ? product : op("accumulate", {sum, product});
    }
    const ValueId whole = op("from_local", {sum}, {{"shape", y.shape}, {"layout", to_string(y.layout)}});
    graph_.value(whole).layout = y.layout;
    ASSERT_TRUE(graph_.redirect(y.id, whole));
  }
};

class LowersSummaOf : public LowersSumma, public testing::WithParamInterface<std::vector<Shape>> {};

TEST_P(LowersSummaOf, OnAGridOfRanks) {
  graph_.set_mesh({{{"row", 3}, {"col", 3}}});
  const ValueId x = input(GetParam()[0], "S0,S1"), v = input(GetParam()[1], "S0,S1"), w = input(GetParam()[2], "S0,S1");
  const ValueId h = matmul("mk,kn->mn", x, v), y = matmul("mk,kn->mn", *graph_.unary(BALEEN_X_TANH, h), w);
  graph_.set_output("y", y);
  request_.offers = {offer(h), offer(y)};
  place();
  int lowered = 0;
  for (OpId id : graph_.ops())
    if (graph_.op(id).schedule->owner == "tensor") lower(id), ++lowered;
  ASSERT_EQ(lowered, 2);
  ASSERT_TRUE(graph_.normalise());
  graph_.remove_dead();
  check();
  compare();
}

/// Pieces that are shorter than others, or empty, have zeros behind them.
INSTANTIATE_TEST_SUITE_P(Sizes, LowersSummaOf,
                         testing::Values(std::vector<Shape>{{6, 9}, {9, 12}, {12, 3}},
                                         std::vector<Shape>{{5, 7}, {7, 4}, {4, 2}}));

class LocalRegion : public Convert {
 protected:
  ValueId axes(const char* kind, ValueId v, Attributes more) {
    more.set("axes", Attributes::ints({0}));
    return op(kind, {v}, std::move(more));
  }
  ValueId from_local(ValueId v, const Shape& shape, const char* layout) {
    const ValueId whole = op("from_local", {v}, {{"shape", shape}, {"layout", std::string(layout)}});
    graph_.value(whole).layout = *parse_layout(layout);
    return whole;
  }
};

TEST_F(LocalRegion, ARingAndCollectivesAgree) {
  graph_.set_mesh({{{"ring", 3}}});
  const ValueId x = input({6, 3}, "S0");
  for (double& number : data_["x0"]) number = std::round(100 * number);  // so that every order of sums is exact
  place();
  const ValueId local = op("to_local", {x}, {{"shape", Attributes::ints({2, 3})}});
  ValueId travelling = local, sum = local;
  for (int step = 1; step < 3; ++step) {
    travelling = axes("permute", travelling, {{"shift", Attributes::ints({1})}});
    sum = *graph_.binary(BALEEN_X_ADD, sum, travelling);
  }
  const ValueId reduced = axes("all_reduce", local, {});
  const ValueId scattered =
      axes("reduce_scatter", local, {{"dim", Attributes::ints({1})}, {"size", Attributes::ints({3})}});
  const ValueId gathered =
      axes("all_gather", scattered, {{"dim", Attributes::ints({1})}, {"size", Attributes::ints({3})}});
  const ValueId turned =
      axes("all_to_all", local,
           {{"from_dim", Attributes::ints({0})}, {"to_dim", Attributes::ints({1})}, {"size", Attributes::ints({3})}});
  const ValueId back =
      axes("all_to_all", turned,
           {{"from_dim", Attributes::ints({1})}, {"to_dim", Attributes::ints({0})}, {"size", Attributes::ints({3})}});
  const ValueId results[] = {from_local(sum, {2, 3}, "R"), from_local(reduced, {2, 3}, "R"),
                             from_local(gathered, {2, 3}, "R"), from_local(back, {6, 3}, "S0"),
                             from_local(turned, {6, 3}, "S1")};
  check();
  test::SimulatedRanks ranks(graph_);
  for (const auto& [name, numbers] : data_) ranks.set(name, numbers);
  ranks.run();
  const test::Tensor whole = ranks.whole(x);
  for (int i : {0, 1, 2})
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = 0; c < 3; ++c)
        EXPECT_NEAR(ranks.whole(results[i]).at({r, c}), whole.at({r, c}) + whole.at({r + 2, c}) + whole.at({r + 4, c}),
                    1e-12)
            << i;
  EXPECT_EQ(ranks.whole(results[3]).data, whole.data);
  EXPECT_EQ(ranks.whole(results[4]).data, whole.data);
}

TEST_F(LocalRegion, PickTakesWhatBelongsToTheCoordinate) {
  graph_.set_mesh({{{"ring", 3}}});
  const ValueId x = input({3, 4}, "S0");
  place();
  const ValueId local = op("to_local", {x}, {{"shape", Attributes::ints({1, 4})}});
  std::vector<ValueId> sums;
  for (std::int64_t root = 0; root < 3; ++root) {
    Expression scaled;
    const auto result = scaled.binary(BALEEN_X_MUL, scaled.input(0), scaled.constant(static_cast<double>(root + 1)));
    const ValueId term = *graph_.pointwise({local}, scaled, result);
    sums.push_back(axes("reduce_to", term, {{"root", Attributes::ints({root})}}));
  }
  const ValueId y = from_local(op("pick", sums, {{"axes", Attributes::ints({0})}}), {3, 4}, "S0");
  check();
  test::SimulatedRanks ranks(graph_);
  for (const auto& [name, numbers] : data_) ranks.set(name, numbers);
  ranks.run();
  const test::Tensor whole = ranks.whole(x);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 4; ++c)
      EXPECT_NEAR(ranks.whole(y).at({r, c}),
                  static_cast<double>(r + 1) * (whole.at({0, c}) + whole.at({1, c}) + whole.at({2, c})), 1e-12);
}

TEST_F(LocalRegion, MustOpenAndCloseOnWhatARankHolds) {
  graph_.set_mesh({{{"ring", 3}}});
  const ValueId x = input({6, 3}, "S0"), y = input({6, 3}, "S0");
  place();
  const Graph before = graph_;
  op("to_local", {x}, {{"shape", Attributes::ints({6, 1})}});
  EXPECT_NE(verify_layouts(graph_).error().message.find("a piece of [6, 3] in S0 is [2, 3], and does not fit [6, 1]"),
            std::string::npos);
  graph_ = before;
  const ValueId local = op("to_local", {x}, {{"shape", Attributes::ints({2, 3})}});
  from_local(local, {6, 3}, "S1");
  EXPECT_NE(verify_layouts(graph_).error().message.find("[2, 3] is no piece of [6, 3] in S1"), std::string::npos);
  graph_ = before;
  const ValueId inside = op("to_local", {x}, {{"shape", Attributes::ints({2, 3})}});
  const ValueId other = *graph_.append1(
      "slice", {y},
      {{"dim", Attributes::ints({0})}, {"start", Attributes::ints({0})}, {"length", Attributes::ints({2})}});
  graph_.value(other).layout = *parse_layout("P");
  *graph_.binary(BALEEN_X_ADD, inside, other);
  EXPECT_FALSE(verify_layouts(graph_));
}

/// Each rank may have something else in it.
TEST_F(LocalRegion, IsClosedBeforeAStateKeepsWhatItComesTo) {
  graph_.set_mesh({{{"ring", 3}}});
  const ValueId x = input({6, 3}, "R");
  place();
  const ValueId state = *graph_.state("s", graph_.type(x));
  graph_.value(state).layout = *parse_layout("R");
  const ValueId local = op("to_local", {x}, {{"shape", Attributes::ints({6, 3})}});
  const Graph before = graph_;
  ASSERT_TRUE(graph_.assign(state, local));
  EXPECT_NE(verify_layouts(graph_).error().message.find("close it with from_local"), std::string::npos);
  graph_ = before;
  ASSERT_TRUE(graph_.assign(state, from_local(local, {6, 3}, "R")));
  check();
}

}  // namespace
}  // namespace baleen
