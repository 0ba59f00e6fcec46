/// \file How often a job is planned until it fits, and with what.
#include "frontend/engine/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace baleen::app {
namespace {

/// Plans of a job that needs 1000 bytes on the rank that needs most. Strategies can move what they are asked for, no
/// more than `movable`; only one of `parts` is that rank's, and of each ten bytes one is taken back for buffers.
struct Planning {
  std::uint64_t have = 1000, movable = 900, parts = 1;
  bool heeds = true;
  std::vector<std::uint64_t> asked = {};
  int counted = 0;

  std::uint64_t total() const {
    const std::uint64_t moved = std::min(asked.back(), movable) / parts;
    return 1000 - moved + moved / 10;
  }
  Result<Plan> run() {
    const auto make = [this](const Job& job) -> Result<Plan> {
      asked.push_back(job.lacking_bytes);
      Plan plan;
      plan.lack = {job.lacking_bytes, heeds, heeds && job.lacking_bytes < movable};
      return plan;
    };
    return plan_to_fit(Job(), make, [this](const Plan&) -> Result<MemoryNeed> {
      ++counted;
      return MemoryNeed::of({{"total", total()}}, have);
    });
  }
};

TEST(PlanToFit, PlansOnceWhereNobodyHeedsTheLack) {
  Planning planning{.have = 10, .heeds = false};
  ASSERT_TRUE(planning.run());
  EXPECT_EQ(planning.asked, std::vector<std::uint64_t>{0});
  EXPECT_EQ(planning.counted, 0) << "what it takes need not be known";
}

TEST(PlanToFit, PlansOnceWhereThereIsRoom) {
  Planning planning;
  ASSERT_TRUE(planning.run());
  EXPECT_EQ(planning.asked, std::vector<std::uint64_t>{0});
}

TEST(PlanToFit, AsksForWhatLacksAndThenForMore) {
  Planning planning{.have = 500};
  ASSERT_TRUE(planning.run());
  ASSERT_EQ(planning.asked.size(), 3u);
  EXPECT_EQ(planning.asked[1], 500u);
  EXPECT_GE(planning.asked[2], 555u) << "a tenth comes back";
  EXPECT_LT(planning.asked[2], 570u) << "and the first time told so";
}

/// What moves may be other ranks' too: how much less it gives back is learned.
TEST(PlanToFit, LearnsHowMuchMovingGivesBack) {
  Planning planning{.have = 500, .movable = 8000, .parts = 8};
  ASSERT_TRUE(planning.run());
  EXPECT_LE(planning.total(), 500u);
  EXPECT_GT(planning.total(), 400u) << "not much more than is needed";
  EXPECT_LE(planning.asked.size(), 4u);
}

TEST(PlanToFit, EndsWhereNothingMoreCanBeDone) {
  for (const std::uint64_t movable : {0, 100, 900}) {
    Planning planning{.have = 20, .movable = movable};
    ASSERT_TRUE(planning.run()) << "whether it fits, others say";
    EXPECT_GE(planning.asked.back(), movable);
    EXPECT_LE(planning.asked.size(), 3u);
  }
}

/// A rank that lacks a byte does not have a job planned a thousand times.
TEST(PlanToFit, GrowsWhereLittleLacks) {
  constexpr std::uint64_t kTotal = 1 << 30;
  std::vector<std::uint64_t> asked;
  const auto make = [&](const Job& job) -> Result<Plan> {
    asked.push_back(job.lacking_bytes);
    Plan plan;
    plan.lack = {job.lacking_bytes, true, job.lacking_bytes < 100 * kTotal};
    return plan;
  };
  ASSERT_TRUE(plan_to_fit(Job(), make, [](const Plan&) -> Result<MemoryNeed> { return MemoryNeed{kTotal, 1}; }));
  EXPECT_LE(asked.size(), 26u);
  EXPECT_TRUE(std::ranges::is_sorted(asked));
}

TEST(PlanToFit, PassesErrorsOn) {
  const auto refuses = [](const Job&) -> Result<Plan> { return invalid("no plan"); };
  const auto makes = [](const Job&) -> Result<Plan> {
    Plan plan;
    plan.lack.is_asked = true;
    return plan;
  };
  const auto fails = [](const Plan&) -> Result<MemoryNeed> { return invalid("no count"); };
  EXPECT_EQ(plan_to_fit(Job(), refuses, fails).error().message, "no plan");
  EXPECT_EQ(plan_to_fit(Job(), makes, fails).error().message, "no count");
}

TEST(MemoryNeed, IsOfTheHostWhereThatLacksMore) {
  MemoryNeed own = MemoryNeed::of({{"total", 1000}}, 900);
  own.heed({1000, 0, 0}, 1000, 4);
  EXPECT_EQ(own.lacking, 100u) << "without stores the device's share says it";
  own.heed({1000, 300, 100}, 5600, 4);
  EXPECT_EQ(own.lacking, 100u) << "1400 for each of them are enough";
  own.heed({1000, 300, 100}, 4000, 4);
  EXPECT_EQ(own.lacking, 400u);
  EXPECT_EQ(own.total, 1400u);
}

}  // namespace
}  // namespace baleen::app
