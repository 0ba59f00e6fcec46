/// \file Loss scaling over sequences of good and overflowing steps, against the rule written once more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "unit/strategies/precision/planned.hpp"

namespace baleen::test {
namespace {

UserValues options(UserValues more) {
  more.try_emplace("dtype", UserValue{std::string("fp16"), "test"});
  return more;
}

/// The dynamic scale as documented: grows after `interval` good steps in a row, falls with a skipped one once
/// `hysteresis` of them are spent since it grew, no lower than `least`.
struct Rule {
  double scale = 65536, growth = 2, backoff = 0.5, least = 1;
  int interval = 2000, hysteresis = 1, good = 0, left = 1, skipped = 0;

  void step(bool finite) {
    if (finite) {
      if (++good < interval) return;
      good = 0;
      left = hysteresis;
      scale *= growth;
      return;
    }
    ++skipped;
    good = 0;
    left = std::max(left - 1, 0);
    if (left == 0) scale = std::max(scale * backoff, least);
  }
};

const Numbers kFine{0.5, -1, 0.25, 1, 0.125, -0.5};
/// Beyond fp16: infinite as soon as it is cast.
const Numbers kOverflow{1e6, -1, 0.25, 1, 0.125, -0.5};

TEST(LossScale, FollowsTheRuleOverAnySequence) {
  Rule rule{1024, 4, 0.25, 2, 3, 2, 0, 2, 0};
  Steps steps(plan_with_precision(affine_job(2, BALEEN_F32), options({{"initial_scale", {1024.0, "test"}},
                                                                      {"growth_factor", {4.0, "test"}},
                                                                      {"backoff_factor", {0.25, "test"}},
                                                                      {"min_scale", {2.0, "test"}},
                                                                      {"growth_interval", {std::int64_t{3}, "test"}},
                                                                      {"hysteresis", {std::int64_t{2}, "test"}}})),
              3);
  std::mt19937 rng(11);
  double applied = 0;
  for (int i = 0; i < 120; ++i) {
    const bool finite = rng() % 10 < 7;
    const auto before = steps.all_stored();
    // 4 x 4 = 16 is the largest that this model's gradients come to: no good step overflows at scales up to 2048.
    steps.run({{"x", finite && rule.scale <= 1024 ? Numbers(6, 1e-3) : finite ? Numbers(6, 0) : kOverflow}});
    rule.step(finite);
    applied += finite;
    ASSERT_EQ(steps.output("fact.loss_scale"), rule.scale) << i;
    ASSERT_EQ(steps.output("fact.skipped"), rule.skipped) << i;
    ASSERT_EQ(steps.output("applied"), finite) << i;
    ASSERT_EQ(steps.stored("optimizer.updates"), Numbers{applied}) << i;
    if (!finite) {
      for (const char* name : {"up.weight", "up.bias", "optimizer.updates"})
        ASSERT_EQ(steps.stored(name), before.at(name)) << "step " << i << " was skipped and changed " << name;
    }
  }
}

TEST(LossScale, LeavesSlotsOfASkippedStepAsTheyAre) {
  Job job = affine_job(2, BALEEN_F32);
  job.optimizer = {"adamw", {}, {}, "test"};
  Steps steps(plan_with_precision(std::move(job), options({})), 3);
  steps.run({{"x", kFine}});
  const auto before = steps.all_stored();
  steps.run({{"x", kOverflow}});
  for (const char* name : {"up.weight", "up.weight.m", "up.weight.v", "up.bias", "up.bias.m", "up.bias.v"})
    EXPECT_EQ(steps.stored(name), before.at(name)) << name;
  EXPECT_EQ(steps.output("fact.skipped"), 1);
  EXPECT_FALSE(std::isfinite(steps.output("gradient_norm")));
}

/// A power of two changes nothing but what would underflow or overflow.
TEST(LossScale, ChangesNoGradientOfOrdinarySize) {
  Steps scaled(plan_with_precision(affine_job(2, BALEEN_F32), options({{"loss_scale", {64.0, "test"}}})), 3),
      plain(plan_with_precision(affine_job(2, BALEEN_F32), options({{"loss_scale", {std::string("none"), "test"}}})),
            3);
  for (auto* steps : {&scaled, &plain}) steps->run({{"x", kFine}});
  EXPECT_EQ(scaled.output("gradient_norm"), plain.output("gradient_norm"));
  EXPECT_EQ(scaled.output("loss"), plain.output("loss"));
  for (const char* name : {"up.weight", "up.bias"}) EXPECT_EQ(scaled.stored(name), plain.stored(name)) << name;
}

TEST(LossScale, KeepsAliveWhatWouldUnderflow) {
  const Numbers tiny(6, 1e-5);  // gradients near 1e-10, under fp16's smallest number 6e-8
  const auto norm = [&](UserValue scale) {
    Job job = affine_job(2, BALEEN_F32);
    job.groups = {{{"up.bias"}, {}, {}, true, "test"}};
    for (ParameterSpec& p : job.parameters)
      if (p.name == "up.bias") p.initializer = {Initializer::Kind::constant, 0, 0};
    Steps steps(plan_with_precision(std::move(job), options({{"loss_scale", std::move(scale)}})), 3);
    steps.run({{"x", tiny}});
    return steps.output("gradient_norm");
  };
  EXPECT_EQ(norm({std::string("none"), "test"}), 0);
  EXPECT_GT(norm({1048576.0, "test"}), 0);
}

TEST(LossScale, StopsTheRunWhereItNoLongerHelps) {
  Steps steps(plan_with_precision(affine_job(2, BALEEN_F32),
                                  options({{"initial_scale", {4.0, "test"}}, {"patience", {std::int64_t{3}, "test"}}})),
              3);
  for (int skipped = 1; skipped <= 5; ++skipped) {
    steps.run({{"x", kOverflow}});
    // 4, 2, then three at the smallest scale.
    EXPECT_EQ(steps.output("stop.0"), skipped >= 5) << skipped;
  }
}

TEST(LossScale, IsNoneWithBf16AndDynamicWithFp16) {
  const auto has_scale = [](const char* dtype) {
    const Planned planned =
        plan_with_precision(affine_job(2, BALEEN_F32), options({{"dtype", {std::string(dtype), "test"}}}));
    return planned.plan.train().graph.output("fact.loss_scale") != kNone;
  };
  EXPECT_FALSE(has_scale("bf16"));
  EXPECT_TRUE(has_scale("fp16"));
}

/// States of the scale are the job's, so that a resumed run goes on with them.
TEST(LossScale, LivesInStates) {
  const Planned planned = plan_with_precision(affine_job(2, BALEEN_F32), options({}));
  std::set<std::string> control;
  for (const PersistentSpec& spec : planned.plan.persistent)
    if (spec.category == "control") control.insert(spec.name);
  EXPECT_EQ(control, (std::set<std::string>{"optimizer.updates", "precision.loss_scale", "precision.good_steps",
                                            "precision.hysteresis", "precision.skipped", "precision.stuck"}));
}

}  // namespace
}  // namespace baleen::test
