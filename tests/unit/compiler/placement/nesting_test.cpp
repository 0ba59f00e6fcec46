/// \file In which order several axes cut one dimension of what is stored, and of what an op of the update reads.
#include <gtest/gtest.h>

#include "placement_fixture.hpp"

namespace baleen {
namespace {

class Nesting : public test::PlacementFixture {
 protected:
  Nesting() { mesh({{"data", 2}, {"shard", 2}, {"row", 2}, {"depth", 2}}); }

  ValueId state(const std::string& name, const Shape& shape) { return *graph_.state(name, {BALEEN_F32, shape, {}}); }
  void store(ValueId value, const char* layout) { request_.stored[value] = *parse_layout(layout); }
  PlacementRequest completed() {
    auto request = complete_request(graph_, request_);
    EXPECT_TRUE(request) << request.error().text();
    return request ? *request : PlacementRequest{};
  }
};

/// As stage 1 of ZeRO asks for it that stands before stage 3.
TEST_F(Nesting, StatesAreCutWithinThePiecesOfTheirParameter) {
  const ValueId w = parameter("w", {64, 8}), m = state("w.m", {64, 8}), gradient = gelu(w);
  store(w, "R,F,R,R");
  store(m, "F,F,R,R");
  pin(gradient, "F,F,R,R");
  request_.trained = {{w, gradient, {m}, {}}};
  const PlacementRequest made = completed();
  EXPECT_EQ(to_string(made.stored.at(w)), "R,F,R,R");
  EXPECT_EQ(to_string(made.stored.at(m)), "F.1,F,R,R") << "so that an all-gather along `data` makes the parameter";
  EXPECT_EQ(to_string(*made.pins.at(gradient).placements[0]), "F.1");
}

/// What a cube stores along its depth beside columns of 1d, which asks for nothing.
TEST_F(Nesting, AStoredParameterIsCutWithinThePiecesThatAreUsed) {
  const ValueId w = parameter("w", {64, 8});
  use(w, "S0,R,S0,R");
  store(w, "R,R,S0,S0");
  request_.open_axes[w] = {0, 1};
  EXPECT_EQ(to_string(completed().stored.at(w)), "S0,R,S0,S0") << "in the order of the mesh, depth innermost";
}

TEST_F(Nesting, TheAxisAlongWhichACopyIsKeptWholeIsInnermost) {
  const ValueId w = parameter("w", {64, 8}), copy = gelu(w);
  graph_.op(graph_.value(copy).producer).schedule.edit().compute_copy = "cast";
  store(w, "F,F,R,R");
  request_.pins[copy].placements = {Placement::replicate(), std::nullopt, std::nullopt, std::nullopt};
  EXPECT_EQ(to_string(completed().stored.at(w)), "F.1,F,R,R");
}

/// One order is of no use before the other is right.
TEST_F(Nesting, OrdersOfTwoDimensionsAreFoundTogether) {
  const ValueId p = state("p", {64, 8}), q = state("q", {64, 8});
  for (const ValueId one : {p, q}) store(one, "F.1,F,S0.1,S0");
  graph_.context().phase = Phase::update;
  const ValueId sum = add(p, q);
  const PlacedGraph placed = place();
  EXPECT_EQ(layout(placed, sum), "F.1,F,S0.1,S0");
  EXPECT_EQ(conversions(placed), "");
}

}  // namespace
}  // namespace baleen
