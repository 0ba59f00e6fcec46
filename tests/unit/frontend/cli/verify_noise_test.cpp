/// \file What `baleen verify` makes of gradients of which some elements are rounding noise, on records made by hand.
#include "frontend/cli/verify_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "verify_records.hpp"

namespace baleen::app {
namespace {

/// Gradients of `a` and `b` as a step kept them.
Record keeping(const std::vector<float>& a, const std::vector<float>& b) {
  Record record = record_in(BALEEN_F64);
  record.steps.resize(1);
  record.kept.push_back({{a, b}, {}});
  return record;
}

TEST(VerifyNoise, MakesElementsLouderThatOneRoundingChanges) {
  const Record one = keeping({1e-9f, 80}, {60, -2e-9f, 0, 0}), shaken = keeping({1.2e-9f, 80}, {60, 3e-9f, 0, 0});
  const LoudNoise loud = loud_noise(one, shaken);
  EXPECT_EQ(loud.names, GradientNames{"b"}) << "a fifth is no quarter";
  ASSERT_EQ(loud.gradients.kept.size(), 1u);
  const auto& gradients = loud.gradients.kept[0].gradients;
  EXPECT_EQ(gradients[0], one.kept[0].gradients[0]);
  EXPECT_EQ(std::abs(gradients[1][1]), 64 * 3e-9f);
  EXPECT_EQ(gradients[1][0], 60);
  EXPECT_EQ(gradients[1][2], 0) << "nothing is no noise";
  EXPECT_EQ(loud.gradients.names[Record::gradients], one.names[Record::gradients]);
}

/// An expert without rows in one step has some in the others.
TEST(VerifyNoise, OfNextToNothingIsSoInItsStepAlone) {
  Record one = record_in(BALEEN_F32), shaken = one;
  set(one, 3, Record::gradients, 1, {0, 0, 0, 0});
  set(shaken, 3, Record::gradients, 1, {1e-3, 0, 0, 0});
  const Noise noise = noise_of(one, one, {{&shaken}});
  const auto holds = [&](std::size_t step) { return noise.holds("b", step - 1); };
  EXPECT_TRUE(!holds(2) && holds(3) && !holds(4));
  EXPECT_EQ(noise.until(1), GradientNames()) << "not yet";
  for (const std::size_t step : {2u, 7u}) EXPECT_EQ(noise.until(step), GradientNames{"b"}) << "what it made lasts";
  set(one, 1, Record::gradients, 1, {1e-3, 0, 0, 0});
  EXPECT_TRUE(noise_of(one, one, {{&shaken}}).holds("b", 6)) << "all of what the first step shows";
}

/// Twice what an update makes of louder noise, of that parameter and its states alone.
TEST(VerifyNoise, AllowsWhatAnUpdateMakesOfIt) {
  const auto judged = [](Record::List list, std::size_t tensor, double off) {
    Record many = record_in(BALEEN_F64), loud = many;
    const GradientNames names{"a"};
    for (const auto& [record, by] : {std::pair{&many, off}, {&loud, 1e-3}}) {
      Numbers numbers = kNumbers[list][tensor];
      numbers[0] += by;
      set(*record, 2, list, tensor, numbers);
    }
    return judge(many, record_in(BALEEN_F64), {}, {}, {}, {&loud, &names});
  };
  for (const auto list : {Record::parameters, Record::states}) {
    const Judgement right = judged(list, 0, 1.9e-3);
    EXPECT_EQ(right.difference.value_or(""), "");
    EXPECT_NE(right.summary.find("ill-conditioned, for elements of their gradients are rounding noise: `a"),
              std::string::npos);
    EXPECT_TRUE(judged(list, 0, 2.1e-3).difference);
    EXPECT_EQ(judged(list, 0, 2.1e-3).updated, (std::pair{list, record_in(BALEEN_F64).names[list][0]}));
    EXPECT_TRUE(judged(list, 1, 1.9e-3).difference) << "its gradient has no noise";
  }
  EXPECT_TRUE(judged(Record::gradients, 0, 1.9e-3).difference);
  EXPECT_FALSE(judged(Record::gradients, 0, 1.9e-3).updated);
}

}  // namespace
}  // namespace baleen::app
