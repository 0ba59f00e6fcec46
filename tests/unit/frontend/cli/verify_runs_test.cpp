/// \file What `baleen verify` makes of references that round, and of programs that learn, on records made by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "verify_records.hpp"

namespace baleen::app {
namespace {

/// Beside the first reference, within what one rounding of it comes to; not beyond, and not what the rounded one has
/// not.
TEST(VerifyRuns, TakesWhatTheRoundedReferenceHas) {
  const auto judged = [](baleen_dtype_t dtype, double gradient, double loss) {
    Record many = record_in(dtype), rounded = record_in(BALEEN_F64);
    set(rounded, 3, Record::gradients, 1, {60, 30, 0, 0});
    rounded.steps[2].facts["gradient_norm"] = 104;
    rounded.steps[2].loss = 2;
    set(many, 3, Record::gradients, 1, {60, gradient, 0, 0});
    many.steps[2].facts["gradient_norm"] = gradient == 0 ? 100 : 104;
    many.steps[2].loss = loss;
    return judge(many, record_in(BALEEN_F64), {}, {}, {{&rounded}}).difference.value_or("");
  };
  for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F32})
    for (const double loss : {4.0 / 3, 2.0}) {
      EXPECT_EQ(judged(dtype, 0, loss), "");
      EXPECT_EQ(judged(dtype, 30, loss), "");
      EXPECT_EQ(first_words(judged(dtype, 15, loss)), "the gradient of `b` of step 3");
      EXPECT_EQ(first_words(judged(dtype, 33, loss)), "the gradient of `b` of step 3");
      EXPECT_EQ(first_words(judged(dtype, 30, 1.7)), "the loss of step 3");
    }
}

/// A run of a program that learns is judged by its own gradients and states, and named.
TEST(VerifyRuns, JudgesRunsOfProgramsToo) {
  const auto with_runs = [](Record record) {
    record.programs = {"p"};
    record.names[Record::gradients].push_back("p/a");
    for (Record::Step& step : record.steps)
      step.tensors[Record::gradients].push_back(step.tensors[Record::gradients][0]);
    Record::Step run = record.steps[0];
    run.program = "p";
    record.steps.insert(record.steps.begin() + 2, {run, run});
    return record;
  };
  const Record one = with_runs(record_in(BALEEN_F64));
  for (const baleen_dtype_t dtype : {BALEEN_F64, BALEEN_F32, BALEEN_BF16}) {
    EXPECT_EQ(judge(with_runs(record_in(dtype)), one).difference.value_or(""), "");
    Record many = with_runs(record_in(dtype));
    many.steps[3].tensors[Record::gradients][1].sums[0] *= 2;  // the training's: nothing new in a run
    EXPECT_EQ(judge(many, one).difference.value_or(""), "");
    many.steps[3].tensors[Record::gradients].back().sums[0] *= 2;
    EXPECT_EQ(first_words(judge(many, one).difference.value_or("")), "the gradient of `p/a` of run 2 of `p`");
    many = with_runs(record_in(dtype));
    many.steps[4].loss *= 2;
    EXPECT_EQ(first_words(judge(many, one).difference.value_or("")), "the loss of step 3");
    many = with_runs(record_in(dtype));
    many.steps[2].program.clear();
    EXPECT_EQ(judge(many, one).difference.value_or("").substr(0, 61),
              "where the ranks made step 3 one rank made run 1 of `p`");
  }
}

/// What random roundings come to, from the reference that only rounds, is allowed twice, and named; others say nothing
/// of what lies between.
TEST(VerifyRuns, AllowsWhatRandomRoundingsComeTo) {
  const auto judged = [](double gradient, bool is_random) {
    Record many = record_in(BALEEN_BF16), rounded = record_in(BALEEN_F64);
    set(rounded, 3, Record::gradients, 1, {60, 30, 0, 0});
    set(many, 3, Record::gradients, 1, {60, gradient, 0, 0});
    const Record first = record_in(BALEEN_F64);
    return judge(many, record_in(BALEEN_F64), {}, {}, {{&first}, {&rounded, is_random}});
  };
  for (const double gradient : {15.0, -15.0, 50.0}) {
    EXPECT_EQ(judged(gradient, true).difference.value_or(""), "");
    EXPECT_NE(judged(gradient, true).summary.find("the gradient of `b` of step 3"), std::string::npos);
    EXPECT_NE(judged(gradient, true).summary.find("ill-conditioned"), std::string::npos);
    EXPECT_EQ(first_words(judged(gradient, false).difference.value_or("")), "the gradient of `b` of step 3");
  }
  EXPECT_EQ(first_words(judged(120, true).difference.value_or("")), "the gradient of `b` of step 3");
  EXPECT_EQ(judged(0, true).summary.find("ill-conditioned"), std::string::npos);
}

}  // namespace
}  // namespace baleen::app
