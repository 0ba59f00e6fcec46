/// \file Each rule of propagation by itself, on graphs of a few ops; and what is refused, in which words.
#include "compiler/placement/passes.hpp"

#include <gtest/gtest.h>

#include "compiler/graph/graph.hpp"
#include "placement_fixture.hpp"
#include "sketch_graph.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

const MeshAxis kData{"data", 2}, kTensor{"tensor", 4};

using Propagate = test::PlacementFixture;

TEST_F(Propagate, OnlyAllowedLogicalAxesAreCut) {
  mesh({kData});
  const ValueId x = input({8, 6}, {"batch", "width"}), y = gelu(x);
  pin(x, "S0");
  EXPECT_EQ(layout(place(), y), "R") << "nothing may be cut: the input is gathered";
  request_.cuts[0] = {"batch"};
  EXPECT_EQ(layout(place(), y), "S0");
}

TEST_F(Propagate, AParameterIsReadAsItIsUsed) {
  mesh({kTensor});
  const ValueId x = input({64, 8}, {"batch", "embed"}), w = parameter("w", {8, 16}, {"embed", "ff"});
  const ValueId y = matmul("bd,df->bf", x, w);
  use(w, "S1");
  request_.cuts[0] = {"ff"};
  EXPECT_EQ(layout(place(), y), "S1");
  use(w, "S0");
  request_.cuts[0] = {"ff", "embed"};
  EXPECT_EQ(layout(place(), y), "P") << "cut along the contracted dimension";
}

TEST_F(Propagate, WhereAParameterFitsNowhereTheErrorNamesOpAxisAndParameter) {
  mesh({kData, kTensor});
  const ValueId x = input({64, 8}, {"batch", "embed"}), w = parameter("mlp.up", {8, 16}, {"embed", "ff"});
  graph_.context().where = "train.lua:7";
  matmul("bd,df->bf", x, w, "mlp");
  use(w, "R,S1");
  request_.cuts = {{"batch"}, {"heads", "vocab"}};
  const auto placed = propagate(graph_, request_);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().text(),
            "train.lua:7: mlp (matmul): no way to run along the mesh axis `tensor`; parameter `mlp.up` [8, 16] is cut "
            "along dimension 2, and nothing there lets it cut ff (16) (it may cut heads, vocab). Keep it whole with "
            "parallel.layout { name = \"mlp.up\", axis = \"tensor\", placement = \"replicate\" } in the script");
}

TEST_F(Propagate, HeadsAndTheirGroupsMustBothDivide) {
  mesh({kTensor});
  const ValueId q = input({2, 4, 8, 2}, {"", "", "heads", ""}), k = parameter("k", {2, 4, 2, 2}, {"", "", "heads", ""});
  ASSERT_TRUE(graph_.append("attention", {q, k, k},
                            {{"causal", Attributes::ints({1})}, {"scale", Attributes::floats({1})}}, "attention"));
  use(k, "S2");
  request_.cuts[0] = {"heads"};
  EXPECT_NE(refusal().find("heads (8, 2) does not divide by 4"), std::string::npos) << refusal();
}

TEST_F(Propagate, ABiasIsSlicedForFree) {
  mesh({kTensor});
  const ValueId x = input({64, 16}, {"batch", "ff"}), b = parameter("bias", {16}, {"ff"});
  pin(x, "S1");
  request_.cuts[0] = {"ff"};
  const ValueId wide = *graph_.append1("reshape", {b}, {{"shape", Attributes::ints({1, 16})}});
  const ValueId y = add(x, wide);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, y), "S1");
  EXPECT_EQ(conversions(placed), "take_shard");
  EXPECT_EQ(traffic_of(placed), "");
}

TEST_F(Propagate, AWeightIsNotSlicedAlongWhatIsSummed) {
  mesh({kTensor});
  const ValueId x = input({64, 16}, {"batch", "ff"}), w = parameter("w", {16, 8}, {"ff", "embed"});
  pin(x, "S1");
  request_.cuts[0] = {"ff"};
  const ValueId y = matmul("bf,fd->bd", x, w);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, y), "R") << "w is used whole";
  EXPECT_EQ(conversions(placed), "all_gather");
}

TEST_F(Propagate, ACastParameterIsStillOne) {
  mesh({kTensor});
  const ValueId x = input({64, 16}, {"batch", "ff"}), w = parameter("w", {16, 8}, {"ff", "embed"});
  pin(x, "S1");
  request_.cuts[0] = {"ff"};
  const ValueId y = matmul("bf,fd->bd", x, *graph_.unary(BALEEN_X_NEG, w));
  EXPECT_EQ(layout(place(), y), "R");
}

TEST_F(Propagate, APartialResultIsPricedAsIfResolved) {
  mesh({kData});
  const ValueId x = input({8, 64}, {"batch", ""}), y = input({8, 64}, {"batch", ""});
  pin(x, "S0"), pin(y, "S0");
  request_.cuts[0] = {"batch"};
  const ValueId weights = matmul("bd,bd->d", x, y), products = matmul("bd,be->de", x, y);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, weights), "P") << "64 elements are cheap to sum";
  EXPECT_EQ(layout(placed, products), "R") << "4096 are dearer to sum than both inputs to gather";
}

TEST_F(Propagate, LinearOpsPassPartialOnWhereTheResultIsNoLarger) {
  mesh({kTensor});
  const ValueId x = input({8, 4}, {"batch", ""}), y = input({8, 4}, {"batch", ""}), z = input({8, 4}, {"batch", ""});
  pin(x, "P"), pin(y, "P"), pin(z, "P");
  Expression e;
  const auto sum = e.binary(BALEEN_X_ADD, e.binary(BALEEN_X_ADD, e.input(0), e.input(1)), e.input(2));
  const ValueId total = *graph_.pointwise({x, y, z}, e, sum);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, total), "P");
  EXPECT_EQ(conversions(placed), "");
}

TEST_F(Propagate, AConvertedCopyServesAllLaterUsers) {
  mesh({kTensor});
  const ValueId x = input({8, 4}, {"batch", "ff"});
  pin(x, "S1");
  gelu(x);
  matmul("bf,bf->b", x, x);
  EXPECT_EQ(conversions(place()), "all_gather");
}

TEST_F(Propagate, BackwardGathersAgainWhatForwardGathered) {
  mesh({kData});
  const ValueId x = input({8, 4}, {"batch", "embed"}), w = parameter("w", {4, 4}, {"embed", "embed"});
  const ValueId y = gelu(matmul("bd,de->be", x, w)),
                loss =
                    *graph_.append1("reduce", {y}, {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}});
  const ValueId seed = input({}, {});
  ASSERT_TRUE(differentiate(graph_, loss, seed, {x}));
  pin(x, "S0");
  request_.cuts[0] = {"batch"};
  request_.stored[w] = *parse_layout("S0");
  std::vector<Phase> gathered;
  const PlacedGraph placed = place();
  for (const Conversion& conversion : placed.conversions)
    if (conversion.value == w) gathered.push_back(conversion.phase);
  EXPECT_EQ(gathered, (std::vector{Phase::forward, Phase::backward}));
}

/// Forward a whole weight is cut along the letter that the result keeps; backward that letter is summed over, and the
/// weight, used whole, cannot follow.
TEST_F(Propagate, ABackwardOpLeavesItsTwinsLetterWhereItsParameterIsWhole) {
  mesh({{"t", 2}});
  request_.cuts[0] = {"vocab"};
  const ValueId a = input({8, 16}, {"", ""}), b = input({16, 4}, {"", ""}), w = parameter("w", {4, 32}, {"", "vocab"});
  pin(a, "S1");
  pin(b, "S0");
  const ValueId x = matmul("mj,jk->mk", a, b), y = matmul("mk,kn->mn", x, w);
  graph_.context() = {Phase::backward, graph_.value(y).producer, "layer.grad", {}};
  const ValueId d = input({8, 32}, {"", "vocab"}), dx = matmul("mn,kn->mk", d, w);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, x), "P");
  EXPECT_EQ(layout(placed, y), "S1");
  EXPECT_EQ(layout(placed, dx), "R");
}

TEST_F(Propagate, ABackwardOpTakesItsTwinsLetter) {
  mesh({kData});
  const ValueId x = input({2, 64}, {"batch", "embed"}), w = parameter("w", {64, 64}, {"embed", "embed"});
  const ValueId y = matmul("bd,de->be", x, w),
                loss = *graph_.append1("reduce", {gelu(y)},
                                       {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}});
  const ValueId seed = input({}, {});
  const auto gradients = differentiate(graph_, loss, seed, {w});
  ASSERT_TRUE(gradients);
  pin(x, "S0");
  request_.cuts[0] = {"batch"};
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, (*gradients)[0]), "P") << "cut along the batch, though gathering would be cheaper";
}

TEST_F(Propagate, AViewFollowsItsOperand) {
  mesh({kData});
  const ValueId x = input({8, 4}, {"", ""});
  pin(x, "P");
  const ValueId y = *graph_.append1("reshape", {x}, {{"shape", Attributes::ints({1, 8, 4})}});
  EXPECT_EQ(layout(place(), y), "P");
}

TEST_F(Propagate, AGradientIsPinnedToItsState) {
  test::SketchGraph sketch({});
  sketch.graph.set_mesh({{kData}});
  PlacementRequest request;
  request.cuts = {{"b"}};
  for (const auto& p : sketch.parameters) request.trained.push_back({p.value, p.gradient, p.states});
  const auto& embed = sketch.parameters[0];
  for (ValueId state : embed.states) request.stored[state] = *parse_layout("S1");
  const auto placed = propagate(sketch.graph, request);
  ASSERT_TRUE(placed) << placed.error().text();
  bool pinned = false;
  for (const Conversion& conversion : placed->conversions)
    if (conversion.value == embed.gradient && conversion.pin) pinned = to_string(conversion.to) == "S1";
  EXPECT_TRUE(pinned);
}

TEST_F(Propagate, UnevenExtentsAreCut) {
  mesh({kTensor});
  const ValueId x = input({7, 3}, {"batch", ""}), y = gelu(x);
  pin(x, "S0");
  request_.cuts[0] = {"batch"};
  EXPECT_EQ(layout(place(), y), "S0");
}

TEST_F(Propagate, BalancedCutsStayBalanced) {
  mesh({kData});
  const ValueId x = input({2, 8, 4}, {"batch", "seq", ""}), y = gelu(gelu(x)),
                table = parameter("positions", {8, 4}, {"seq", ""});
  pin(x, "B1");
  request_.cuts[0] = {"seq"};
  const ValueId z = add(y, *graph_.append1("reshape", {table}, {{"shape", Attributes::ints({1, 8, 4})}}));
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, z), "B1");
  EXPECT_EQ(traffic_of(placed), "");
}

TEST_F(Propagate, SplitsOfOneLetterNestAsTheOperandsDo) {
  mesh({kData, kTensor});
  const ValueId g = *graph_.state("g", {BALEEN_F32, {16, 4}, {}}), m = *graph_.state("m", {BALEEN_F32, {16, 4}, {}});
  request_.stored[g] = request_.stored[m] = *parse_layout("S0.1,S0");
  graph_.context().phase = Phase::update;
  const ValueId sum = add(g, m);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, sum), "S0.1,S0");
  EXPECT_EQ(conversions(placed), "");
}

TEST_F(Propagate, TheUpdateOfAFlatShardNeedsNothing) {
  mesh({kData});
  const ValueId w = parameter("w", {5, 3}), m = *graph_.state("m", {BALEEN_F32, {5, 3}, {}});
  request_.stored[w] = request_.stored[m] = *parse_layout("F");
  graph_.context().phase = Phase::update;
  const ValueId next = add(w, m);
  ASSERT_TRUE(graph_.assign(w, next));
  const ValueId norm = *graph_.append1("reduce", {*graph_.binary(BALEEN_X_MUL, m, m)},
                                       {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}});
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, next), "F");
  EXPECT_EQ(layout(placed, norm), "P");
  EXPECT_EQ(conversions(placed), "");
}

TEST_F(Propagate, OutputsAreMadeWhole) {
  mesh({kData});
  const ValueId x = input({8}, {"batch"});
  pin(x, "S0");
  request_.cuts[0] = {"batch"};
  graph_.set_output("loss",
                    *graph_.append1("reduce", {x}, {{"kind", std::string("sum")}, {"dims", Attributes::ints({0})}}));
  EXPECT_EQ(conversions(place()), "all_reduce");
}

TEST_F(Propagate, AnAxisOfOneChangesNothing) {
  mesh({{"data", 1}});
  const ValueId x = input({8, 4}, {"batch", ""}), w = parameter("w", {4, 4}), y = matmul("bd,de->be", x, w);
  pin(x, "S0");
  use(w, "S0");
  request_.stored[w] = *parse_layout("F");
  request_.cuts[0] = {"batch"};
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, y), "R");
  EXPECT_EQ(conversions(placed), "");
}

TEST_F(Propagate, RefusesLayoutsThatDoNotFit) {
  mesh({kData});
  const ValueId w = parameter("w", {4, 4});
  request_.used[w] = *parse_layout("S2");
  EXPECT_EQ(refusal(),
            "`w` cannot be used so: axis `data`: S2 cuts dimension 2, and a value of shape [4, 4] has 2 dimensions, "
            "counted from 0");
  request_.used[w] = *parse_layout("P");
  EXPECT_EQ(refusal(), "`w` cannot be used as P: a persistent value is never partial");
  request_.used.clear();
  request_.pins[w].placements = {Placement::at(7)};
  EXPECT_EQ(
      refusal(),
      "`w` cannot be pinned so: axis `data`: @7 is at coordinate 7, and the axis has 2 coordinates, counted from 0");
}

TEST(PropagateWork, GrowsWithTheGraphAlone) {
  const auto work = [](std::int64_t layers) {
    test::SketchModel model;
    model.layers = layers;
    test::SketchGraph sketch(model);
    sketch.graph.set_mesh({{kData, kTensor}});
    PlacementRequest request;
    request.cuts = {{"b"}, {"a", "f", "v"}};
    for (const auto& p : sketch.parameters) request.trained.push_back({p.value, p.gradient, p.states});
    request.pins[sketch.ids] = request.pins[sketch.labels] = Pin{{Placement::shard(0), std::nullopt}, false};
    const auto placed = propagate(sketch.graph, request);
    EXPECT_TRUE(placed);
    return std::pair{placed->candidates, placed->conversions.size()};
  };
  const auto once = work(1), few = work(13), many = work(97);
  EXPECT_EQ(many.first - once.first, 8 * (few.first - once.first));
  EXPECT_EQ(many.second - once.second, 8 * (few.second - once.second));
}

}  // namespace
}  // namespace baleen
