/// \file The verbs of strategies write structs as far as the strategy has them, and refuse offers that cannot be.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <new>
#include <stdexcept>

#include "baleen/plugin.hpp"
#include "compiler/plan/strategy_verbs.hpp"
#include "support/op_cases.hpp"
#include "support/sized_struct.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

/// What a strategy called `member` may say of a small job's gradients.
class VerbsOfGradients : public testing::Test {
 protected:
  Job job = affine_job(4);
  Graph graph = job.train();
  LossGradients gradients = *differentiate_loss(graph, job);
  GradientVerbs verbs{graph, job, "member", gradients};
  const baleen_gradients_t& table = *verbs.table();
};

TEST_F(VerbsOfGradients, ReadIntoAnOlderStruct) {
  ASSERT_EQ(table.count(table.self), 2u);
  const std::uint64_t older = offsetof(baleen_gradient_t, value);
  SizedStruct<baleen_gradient_t> gradient(older);
  ASSERT_EQ(table.read(table.self, 0, gradient.get()), BALEEN_OK) << verbs.status().error().text();
  EXPECT_EQ(gradient.get()->size, older);
  EXPECT_EQ(view(gradient.get()->name), job.parameters[0].name);
  EXPECT_EQ(gradient.get()->gradient, gradients.all[0].gradient);
  EXPECT_TRUE(gradient.is_whole_behind(older));
  SizedStruct<baleen_gradient_t> unset(0);
  EXPECT_EQ(table.read(table.self, 0, unset.get()), BALEEN_INVALID);
  EXPECT_TRUE(unset.is_whole_behind(sizeof(std::uint64_t)));
}

/// Under the strategy's name; a checkpoint of another number of ranks keeps the sum of terms alone.
TEST_F(VerbsOfGradients, AddTensors) {
  const std::int64_t shape[] = {2, 5};
  ValueId terms = kNone;
  ASSERT_EQ(table.add_terms(table.self, abi(std::string_view("w.error")), BALEEN_F32, 2, shape, 0, &terms), BALEEN_OK);
  EXPECT_EQ(graph.value(terms).shape, (Shape{2, 5}));
  const auto other = verbs.add_state("q", {BALEEN_F32, {3, 4}, {}}, 1);
  ASSERT_TRUE(other) << other.error().text();
  ASSERT_EQ(gradients.states.size(), 2u);
  EXPECT_EQ(gradients.states[0].spec.name, "member.w.error");
  EXPECT_TRUE(gradients.states[0].spec.has_terms);
  EXPECT_EQ(gradients.states[1].spec.name, "member.q");
  EXPECT_FALSE(gradients.states[1].spec.has_terms);
}

/// What strategies say adds up; a share that is none is refused.
TEST_F(VerbsOfGradients, KeepWhatIsApproximated) {
  baleen_gradient_t first{};
  first.size = sizeof first;
  ASSERT_EQ(table.read(table.self, 0, &first), BALEEN_OK);
  const std::string name(view(first.name));
  EXPECT_EQ(table.approximate(table.self, 0, 0.25), BALEEN_OK);
  EXPECT_EQ(table.approximate(table.self, 0, 0.5), BALEEN_OK);
  EXPECT_EQ(gradients.approximated, (std::map<std::string, double>{{name, 0.75}}));
  for (const double share : {0.0, -1.0, std::nan("")})
    EXPECT_EQ(table.approximate(table.self, 0, share), BALEEN_INVALID) << share;
  EXPECT_EQ(table.approximate(table.self, table.count(table.self), 0.5), BALEEN_INVALID);
  EXPECT_EQ(gradients.approximated.size(), 1u);
}

class ThrowingVerbs : public Verbs<ThrowingVerbs, baleen_gradients_t> {
 public:
  template <class Thrown>
  baleen_status_t status_of(const Thrown& thrown) {
    return run([&]() -> Status { throw thrown; });
  }
};

TEST(AnyVerbs, TellMemoryThatRunsOutFromBugs) {
  ThrowingVerbs verbs;
  EXPECT_EQ(verbs.status_of(std::bad_alloc()), BALEEN_NO_MEMORY);
  EXPECT_EQ(verbs.status_of(std::runtime_error("on fire")), BALEEN_INTERNAL);
  EXPECT_EQ(verbs.status().error().message, "out of memory") << "the first";
}

/// A matmul [8, 8] by [8, 8] on a mesh of two axes.
class PlaceVerbs : public testing::Test {
 protected:
  PlaceVerbs() {
    graph_.set_mesh({{{"pipe", 2}, {"data", 2}}});
    x_ = *graph_.input("x", {BALEEN_F32, {8, 8}, {"", ""}});
    w_ = *graph_.parameter("w", {BALEEN_F32, {8, 8}, {}});
    y_ = *graph_.append1("matmul", {x_, w_}, {{"spec", "mk,kn->mn"}});
    request_.cuts.resize(2);
    request_.trained = {{w_, y_, {x_}}};
  }

  /// The message that an offer along `pipe` gets; "accepted" where there is none.
  std::string offer(std::vector<baleen_placement_t> inputs, std::vector<baleen_placement_t> outputs,
                    bool run_unmodified = true) {
    const std::uint32_t axis = 0;
    baleen_candidate_t offer{};
    offer.size = sizeof offer;
    offer.op = graph_.value(y_).producer;
    offer.run_unmodified = run_unmodified ? 1 : 0;
    offer.name = abi("stage");
    offer.axes = &axis;
    offer.axis_count = 1;
    offer.inputs = inputs.empty() ? nullptr : inputs.data();
    offer.outputs = outputs.empty() ? nullptr : outputs.data();
    return offered(offer);
  }
  std::string offered(const baleen_candidate_t& offer) {
    PlacingVerbs verbs(graph_, request_, requests_, mesh_, {0, "mine"}, 1);
    const baleen_status_t status = verbs.table()->add_candidate(verbs.table()->self, &offer);
    EXPECT_EQ(status == BALEEN_OK, static_cast<bool>(verbs.status()));
    return verbs.status() ? "accepted" : verbs.status().error().message;
  }

  static constexpr baleen_placement_t kHere{BALEEN_AT, 0, 0}, kThere{BALEEN_AT, 1, 0}, kWhole{BALEEN_REPLICATE, 0, 0};
  static constexpr baleen_placement_t kPartial{BALEEN_PARTIAL_SUM, 0, 0}, kRows{BALEEN_SHARD, 0, 0};
  const std::vector<baleen_axis_t> axes_{{abi("pipe"), 2}, {abi("data"), 2}};
  const baleen_mesh_t mesh_{sizeof(baleen_mesh_t), axes_.data(), axes_.size()};
  Graph graph_{&builtin_ops()};
  ValueId x_ = kNone, w_ = kNone, y_ = kNone;
  PlacementRequest request_;
  ShardingRequests requests_;
};

TEST_F(PlaceVerbs, ReadTrainedParametersIntoAnOlderStruct) {
  PlacingVerbs verbs(graph_, request_, requests_, mesh_, {0, "mine"}, 1);
  const baleen_placing_t& table = *verbs.table();
  const std::uint64_t older = offsetof(baleen_trained_t, states);
  SizedStruct<baleen_trained_t> trained(older);
  ASSERT_EQ(table.trained(table.self, 0, trained.get()), BALEEN_OK);
  EXPECT_EQ(trained.get()->size, older);
  EXPECT_EQ(trained.get()->parameter, w_);
  EXPECT_TRUE(trained.is_whole_behind(older));
  SizedStruct<baleen_trained_t> unset(0);
  EXPECT_EQ(table.trained(table.self, 0, unset.get()), BALEEN_INVALID);
}

TEST_F(PlaceVerbs, TakeOffersThatCanBe) {
  EXPECT_EQ(offer({kThere, kThere}, {kThere}), "accepted");
  EXPECT_EQ(offer({kRows, kWhole}, {kRows}), "accepted");
  EXPECT_EQ(offer({kThere, kWhole}, {kThere}, false), "accepted") << "who lowers the op knows what it does";
  EXPECT_EQ(request_.offers.size(), 3u);
}

TEST_F(PlaceVerbs, RefuseOffersWhereTheyAreMade) {
  const std::string head = "offer `stage` for op " + std::to_string(graph_.value(y_).producer) + " (matmul): ";
  EXPECT_EQ(offer({}, {kWhole}), head + "it gives no placements for 2 values");
  EXPECT_EQ(offer({kWhole, kWhole}, {}), head + "it gives no placements for 1 values");
  const std::string all_or_none =
      "; an op that runs as it stands with an operand at one coordinate has all operands and results there";
  EXPECT_EQ(offer({kHere, kHere}, {kPartial}), head + "along `pipe` it gives @0 @0 P" + all_or_none);
  EXPECT_EQ(offer({kHere, kWhole}, {kHere}), head + "along `pipe` it gives @0 R @0" + all_or_none);
  EXPECT_EQ(offer({kHere, kHere}, {kThere}), head + "along `pipe` it gives @0 @0 @1" + all_or_none);
  EXPECT_EQ(offer({{BALEEN_AT, 2, 0}, kHere}, {kHere}).rfind(head, 0), 0u) << "the axis has no coordinate 2";
  EXPECT_EQ(offer({{BALEEN_SHARD, 2, 0}, kWhole}, {kWhole}).rfind(head, 0), 0u) << "x has no dimension 2";
  EXPECT_EQ(offer({{99, 0, 0}, kWhole}, {kWhole}), head + "unknown placement 99");
  EXPECT_TRUE(request_.offers.empty());
}

TEST_F(PlaceVerbs, RefuseOffersWithoutAxesOrSize) {
  baleen_candidate_t empty{};
  EXPECT_EQ(offered(empty), "offer: the struct's `size` is not set; set it to sizeof the struct before the call");
  empty.size = sizeof empty;
  empty.op = graph_.value(y_).producer;
  EXPECT_NE(offered(empty).find("it names no axis of the mesh"), std::string::npos);
  const std::uint32_t descending[] = {1, 0};
  const std::vector<baleen_placement_t> placements(4, kWhole);
  empty.axes = descending;
  empty.axis_count = 2;
  empty.inputs = empty.outputs = placements.data();
  EXPECT_NE(offered(empty).find("its axes do not ascend"), std::string::npos);
}

}  // namespace
}  // namespace baleen::test
