/// \file Candidates that strategies offer: joint ones, only ones, stages.
#include "placement_fixture.hpp"

namespace baleen {
namespace {

/// A matmul with one offered candidate.
class PropagateOffer : public test::PlacementFixture {
 protected:
  void SetUp() override {
    mesh({{"row", 2}, {"col", 2}});
    x_ = input({8, 8}, {"", ""});
    w_ = parameter("w", {8, 8});
    y_ = matmul("mk,kn->mn", x_, w_);
    pin(x_, "S0,S1");
    use(w_, "S0,S1");
    offer_ = {graph_.value(y_).producer,
              "summa",
              "tensor",
              {0, 1},
              {{Placement::shard(0), Placement::shard(0)}, {Placement::shard(1), Placement::shard(1)}},
              {{Placement::shard(0)}, {Placement::shard(1)}},
              64,
              false};
  }
  /// Of the op that makes `v`: along the first axis it runs at this coordinate.
  Offer stage(ValueId v, int at) const {
    const Op& op = graph_.op(graph_.value(v).producer);
    return {op.id, "stage", "", {0}, {std::vector(op.inputs.size(), Placement::at(at))}, {{Placement::at(at)}},
            0,     true};
  }
  ValueId x_ = kNone, w_ = kNone, y_ = kNone;
  Offer offer_;
};

TEST_F(PropagateOffer, IsTakenOnAllItsAxesWhereNothingElseFits) {
  EXPECT_NE(refusal(), "accepted") << "the parameter is cut and no letter is allowed";
  request_.offers = {offer_};
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, y_), "S0,S1");
  EXPECT_EQ(traffic_of(placed), "forward row+col summa: 1, bytes 64\n");
}

TEST_F(PropagateOffer, IsLeftWhereItIsDearer) {
  use(w_, "R,R");
  pin(x_, "R,R");
  request_.offers = {offer_};
  EXPECT_EQ(layout(place(), y_), "R,R");
  request_.offers[0].exclusive = true;
  EXPECT_EQ(refusal(),
            "layer (matmul): no way to run along the mesh axis `row`; the strategy of `row` may allow the logical "
            "axis, or offer this op a candidate");
}

TEST_F(PropagateOffer, IsTakenByTheBackwardOpsOfItsForwardOp) {
  graph_.context() = {Phase::backward, graph_.value(y_).producer, "layer.grad", {}};
  const ValueId d = input({8, 8}, {"", ""}), dx = matmul("mn,kn->mk", d, w_);
  request_.offers = {offer_, offer_};
  request_.offers[1].op = graph_.value(dx).producer;
  request_.offers[1].bytes = 1e9;
  pin(d, "S0,S1");
  EXPECT_EQ(place().ops[graph_.value(dx).producer].choices[0].kind, Choice::Kind::offer);
}

TEST_F(PropagateOffer, MustPlaceEveryOperand) {
  offer_.inputs[1].pop_back();
  request_.offers = {offer_};
  EXPECT_EQ(refusal(), "the candidate `summa` of `tensor` for layer must place every operand and every result");
}

/// Lowered for one of them alone it would compute something else.
TEST_F(PropagateOffer, IsOneOfAnOp) {
  mesh({{"row", 2}, {"col", 2}, {"grid.row", 2}, {"grid.col", 2}});
  request_.cuts.resize(4);
  pin(x_, "S0,S1,S0,S1");
  use(w_, "S0,S1,S0,S1");
  request_.offers = {offer_, offer_};
  request_.offers[1].axes = {2, 3};
  request_.offers[1].owner = "other";
  EXPECT_EQ(
      refusal(),
      "layer (matmul): two strategies want to run it in a form of their own, `summa` of strategy `tensor` along "
      "`row` x `col` and `summa` of strategy `other` along `grid.row` x `grid.col`; an op has one such form: leave "
      "one of the two out, or choose a mode that leaves the op as it is");
}

TEST_F(PropagateOffer, StagesAreOffersThatNobodyNeedsToLower) {
  mesh({{"pipeline", 2}});
  request_ = {};
  request_.cuts.resize(1);
  const ValueId first = gelu(x_), second = gelu(first);
  use(w_, "@0");
  pin(x_, "@0");
  request_.offers = {stage(y_, 0), stage(first, 0), stage(second, 1)};
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, second), "@1");
  EXPECT_EQ(conversions(placed), "send");
}

TEST_F(PropagateOffer, AStageKeepsWhatItWasSentAndGathersItAgain) {
  mesh({{"pipeline", 2}, {"tensor", 2}});
  request_ = {};
  request_.cuts.resize(2);
  const ValueId x = input({8, 4}, {"", "ff"}), forward = gelu(x);
  graph_.context() = {Phase::backward, graph_.value(forward).producer, "layer.grad", {}};
  const ValueId backward = gelu(x);
  pin(x, "@0,S1");
  request_.offers = {stage(forward, 1), stage(backward, 1)};
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, backward), "@1,R");
  EXPECT_EQ(conversions(placed), "send, all_gather, all_gather");
}

}  // namespace
}  // namespace baleen
