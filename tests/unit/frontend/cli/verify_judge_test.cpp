/// \file What `baleen verify` calls equal and what different, on records made by hand.
#include "frontend/cli/verify_judge.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "verify_records.hpp"

namespace baleen::app {
namespace {

using Change = std::function<void(Record&)>;

/// What differs when `change` is done to the record of the ranks, and `shake` to that of the second reference; "" where
/// nothing does.
std::string difference(baleen_dtype_t dtype, const Change& change, const Change& shake = {}) {
  Record many = record_in(dtype), shaken = record_in(BALEEN_F64);
  change(many);
  if (shake) shake(shaken);
  return judge(many, record_in(BALEEN_F64), shake ? std::vector{Shaken{&shaken}} : std::vector<Shaken>())
      .difference.value_or("");
}

TEST(VerifyJudge, CallsLikeRecordsEqual) {
  for (const baleen_dtype_t dtype : {BALEEN_F64, BALEEN_F32, BALEEN_BF16, BALEEN_F16})
    EXPECT_EQ(difference(dtype, [](Record&) {}), "");
}

TEST(VerifyJudge, NamesTheFirstStepThatDiffers) {
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.steps[6].loss *= 1 + 0.9e-10; }), "");
  EXPECT_EQ(difference(BALEEN_F64,
                       [](Record& r) {
                         r.steps[6].loss *= 1 + 1.1e-10;
                         r.steps[8].loss *= 2;
                       }),
            "the loss of step 7 (1.1e-10, 1e-10 allowed)");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.steps[2].loss = NAN; })), "the loss of step 3");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.steps[2].facts["accuracy"] += 1e-9; })),
            "`accuracy` of step 3");
  EXPECT_EQ(difference(BALEEN_F32, [](Record& r) { r.steps[2].facts["accuracy"] = 0.5; }), "") << "it may jump";
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.steps[2].facts["gradient_norm"] += 1e-3; })),
            "the norm of the gradients of step 3");
}

TEST(VerifyJudge, AllowsOneRoundingAndWhatTheSecondReferenceGrowsBy) {
  const auto off = [](baleen_dtype_t dtype, double by, double shaken = 0) {
    return first_words(difference(
        dtype, [&](Record& r) { r.steps[4].loss *= 1 + by; }, [&](Record& r) { r.steps[3].loss *= 1 + shaken; }));
  };
  EXPECT_EQ(off(BALEEN_F32, 0.99e-6), "");
  EXPECT_EQ(off(BALEEN_F32, 1.01e-6), "the loss of step 5");
  EXPECT_EQ(off(BALEEN_BF16, 0.99 / 256), "");
  EXPECT_EQ(off(BALEEN_BF16, 1.01 / 256), "the loss of step 5");
  EXPECT_EQ(off(BALEEN_F16, 0.99 / 2048), "");
  EXPECT_EQ(off(BALEEN_F16, 1.01 / 2048), "the loss of step 5");
  EXPECT_EQ(off(BALEEN_F32, 32.9e-6, 1e-6), "") << "32 times what it has come to, in an earlier step too";
  EXPECT_EQ(off(BALEEN_F32, 33.1e-6, 1e-6), "the loss of step 5");
}

TEST(VerifyJudge, ComparesEvaluations) {
  const auto off = [](baleen_dtype_t dtype, std::size_t number, const char* fact, double by) {
    return first_words(difference(dtype, [&](Record& r) { r.evaluations[number].facts[fact] *= 1 + by; }));
  };
  EXPECT_EQ(off(BALEEN_F64, 0, "held_out_loss", 0.9e-10), "");
  EXPECT_EQ(off(BALEEN_F64, 0, "held_out_loss", 1.1e-10), "held_out_loss after step 10");
  EXPECT_EQ(off(BALEEN_F64, 1, "held_out_accuracy", 1.1e-10), "held_out_accuracy after step 20");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_loss", 0.99e-6), "");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_loss", 1.01e-6), "held_out_loss after step 20");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_accuracy", 0.5), "") << "a metric may jump";
  // In the order of the run.
  const auto both = [](std::size_t step) {
    return first_words(difference(BALEEN_F64, [&](Record& r) {
      r.evaluations[0].facts["held_out_loss"] = 0;
      r.steps[step - 1].loss = 0;
    }));
  };
  EXPECT_EQ(both(10), "the loss of step 10");
  EXPECT_EQ(both(11), "held_out_loss after step 10");
}

TEST(VerifyJudge, NamesTheTensorThatDiffers) {
  const auto off = [](Record::List list, std::size_t tensor, const Numbers& numbers) {
    return first_words(difference(BALEEN_F64, [&](Record& r) { set(r, 3, list, tensor, numbers); }));
  };
  // Its norm is 5, then 0.5.
  EXPECT_EQ(off(Record::parameters, 0, {3, 4 + 4.9e-8}), "");
  EXPECT_EQ(off(Record::parameters, 0, {3, 4 + 5.1e-8}), "parameter `a` after step 3");
  EXPECT_EQ(off(Record::parameters, 1, {0, 0, 2e-14, 0}), "parameter `b` after step 3");
  EXPECT_EQ(off(Record::parameters, 1, {0, 0, 0, NAN}), "parameter `b` after step 3");
  EXPECT_EQ(off(Record::states, 0, {0.3 + 4.9e-9, 0.4}), "");
  EXPECT_EQ(off(Record::states, 0, {0.3 + 5.1e-9, 0.4}), "state `a.m` after step 3");
  EXPECT_EQ(off(Record::gradients, 1, {60 + 6.1e-7, 0, 0, 0}), "the gradient of `b` of step 3");
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.last[Record::parameters][0][1] += 1; }).substr(0, 52),
            "parameter `a` at the end, most at element 1 (0.2, 1e")
      << "which the script has changed since";
  EXPECT_EQ(difference(BALEEN_F32,
                       [](Record& r) {
                         set(r, 3, Record::states, 0, {9, 9});
                       }),
            "")
      << "an optimizer may divide noise by itself";
}

TEST(VerifyJudge, SaysWhatTheNumbersTellOfTheMistake) {
  const auto off = [](const Numbers& b) {
    return last_words(difference(BALEEN_F64, [&](Record& r) { set(r, 2, Record::gradients, 1, b); }));
  };
  EXPECT_EQ(
      off({120, 0, 0, 0}),
      "it is 2 times what one rank has, as if it were added up along `data` once too often, or a mean were a sum");
  EXPECT_EQ(off({30, 0, 0, 0}),
            "it is 0.5 times what one rank has, as if a sum along `data` were missing, or a mean taken twice");
  EXPECT_EQ(off({-60, 0, 0, 0}), "it is -1 times what one rank has");
  EXPECT_EQ(off({0, 0, 0, 0}), "it is zero: nothing reaches it");
  EXPECT_EQ(off({1, 2, 3, 4}), "");
  EXPECT_EQ(last_words(difference(BALEEN_F64,
                                  [](Record& r) {
                                    set(r, 3, Record::gradients, 0, {0.16, 80});
                                  })),
            "it is that of the step before");
}

/// Four ranks; those with another second coordinate have something else.
TEST(VerifyJudge, NamesTheRankAndTheAxisOfACopyThatDiffers) {
  const auto off = [](double by) {
    return difference(BALEEN_F64, [&](Record& r) {
      r.mesh.axes = {{"data", 2}, {"tensor", 2}};
      r.copies = {{4, Record::parameters, 0, 1, 0, by}, {4, Record::parameters, 0, 3, 2, by}};
    });
  };
  EXPECT_EQ(off(4.9e-8), "");
  EXPECT_EQ(first_words(off(1e-3)), "parameter `a` after step 5 on rank 1");
  EXPECT_EQ(last_words(off(1e-3)), "ranks have different copies along `tensor`: a sum or a copy along it is missing");
  EXPECT_EQ(first_words(off(NAN)), "parameter `a` after step 5 on rank 1");
}

/// The gradient of what is read last is computed first, and what is wrong in it goes on to those before.
TEST(VerifyJudge, NamesTheGradientThatIsComputedFirst) {
  EXPECT_EQ(first_words(difference(BALEEN_F64,
                                   [](Record& r) {
                                     set(r, 3, Record::gradients, 0, {9, 9});
                                     set(r, 3, Record::gradients, 1, {9, 9, 9, 9});
                                   })),
            "the gradient of `b` of step 3");
}

TEST(VerifyJudge, NamesEachAxisOfTheSizeThatAGradientIsWrongBy) {
  const auto off = [](std::int64_t tensor) {
    return last_words(difference(BALEEN_F64, [&](Record& r) {
      r.mesh.axes = {{"data", 2}, {"tensor", tensor}};
      set(r, 2, Record::gradients, 1, {120, 0, 0, 0});
    }));
  };
  EXPECT_NE(off(2).find("along `data` or `tensor` once too often"), std::string::npos) << off(2);
  EXPECT_NE(off(3).find("along `data` once too often"), std::string::npos) << off(3);
}

/// Of the loss and the norm all ranks have one number.
TEST(VerifyJudge, NamesTheAxisAlongWhichRanksHaveOtherNumbers) {
  const auto off = [](Record::Number number) {
    return difference(BALEEN_F64, [&](Record& r) {
      r.mesh.axes = {{"data", 2}, {"tensor", 2}};
      if (number == Record::loss) r.steps[4].loss *= 1.1;
      if (number == Record::norm) r.steps[4].facts["gradient_norm"] *= 1.1;
      r.copies = {{4, Record::numbers, number, 1, 0, 0.1}, {4, Record::numbers, number, 3, 0, 0.1}};
    });
  };
  const std::string unlike = "ranks have different copies along `tensor`: a sum or a copy along it is missing";
  EXPECT_EQ(first_words(off(Record::loss)), "the loss of step 5");
  EXPECT_EQ(last_words(off(Record::loss)), unlike);
  EXPECT_EQ(first_words(off(Record::norm)), "the norm of the gradients of step 5");
  EXPECT_EQ(last_words(off(Record::norm)), unlike);
  EXPECT_EQ(last_words(difference(BALEEN_F64,
                                  [](Record& r) {
                                    r.mesh.axes = {{"data", 2}, {"tensor", 2}};
                                    r.steps[4].loss *= 1.1;
                                    r.copies = {{4, Record::gradients, 1, 1, 0, 0.1}};
                                  })),
            unlike)
      << "all have the same wrong loss";
}

/// Though rank 0 reports the right one.
TEST(VerifyJudge, NamesTheRankThatHasAnotherNumber) {
  const auto off = [](std::size_t place, Record::List list, std::size_t number, double by) {
    return first_words(difference(BALEEN_F64, [&](Record& r) { r.copies = {{place, list, number, 1, 0, by}}; }));
  };
  const std::size_t accuracy = Record::metrics, held_out_loss = 1;
  EXPECT_EQ(off(3, Record::numbers, Record::loss, 0.9e-10), "");
  EXPECT_EQ(off(3, Record::numbers, Record::loss, 1.1e-10), "the loss of step 4 on rank 1");
  EXPECT_EQ(off(3, Record::numbers, Record::norm, 0.9e-6), "");
  EXPECT_EQ(off(3, Record::numbers, Record::norm, 1.1e-6), "the norm of the gradients of step 4 on rank 1");
  EXPECT_EQ(off(3, Record::numbers, accuracy, 0.9e-10), "");
  EXPECT_EQ(off(3, Record::numbers, accuracy, 1.1e-10), "`accuracy` of step 4 on rank 1");
  EXPECT_EQ(off(1, Record::evaluated, held_out_loss, 0.2e-10), "");
  EXPECT_EQ(off(1, Record::evaluated, held_out_loss, 0.3e-10), "held_out_loss after step 20 on rank 1");
  EXPECT_EQ(off(1, Record::evaluated, held_out_loss, NAN), "held_out_loss after step 20 on rank 1");
}

/// A gradient that the second reference has otherwise says nothing, and neither do its parameter and its states.
TEST(VerifyJudge, NamesNoiseAndDoesNotJudgeIt) {
  const Change noise = [](Record& r) { set(r, 1, Record::gradients, 1, {30, 0, 0, 0}); };
  const Change change = [](Record& r) {
    set(r, 2, Record::gradients, 1, {1, 0, 0, 0});
    set(r, 2, Record::parameters, 1, {1, 0, 0, 0});
    set(r, 2, Record::states, 1, {1, 0, 0, 0});
    r.last[Record::states][1][0] = 1;
  };
  EXPECT_EQ(difference(BALEEN_F64, change, noise), "");
  EXPECT_EQ(first_words(difference(BALEEN_F64, change, [](Record&) {})), "the gradient of `b` of step 2");
  Record many = record_in(BALEEN_F64), shaken = record_in(BALEEN_F64);
  noise(shaken);
  EXPECT_NE(judge(many, record_in(BALEEN_F64), {{&shaken}}).summary.find("rounding noise, not judged: `b`\n"),
            std::string::npos);
}

/// Of so small a gradient rounding decides, in another order otherwise, though the references agree to the last bit.
TEST(VerifyJudge, DoesNotJudgeWhatIsNextToNothing) {
  const auto judged = [](double own, double ranks) {
    Record one = record_in(BALEEN_F64), many = one;
    set(one, 2, Record::gradients, 1, {own, 0, 0, 0});
    const Record shaken = one;
    set(many, 2, Record::gradients, 1, {ranks, 0, 0, 0});
    set(many, 2, Record::parameters, 1, {1, 0, 0, 0});
    return first_words(judge(many, one, {{&shaken}}).difference.value_or(""));
  };
  EXPECT_EQ(judged(1e-14, 1.001e-14), "");
  EXPECT_EQ(judged(1e-14, 1e-14), "parameter `b` after step 2") << "what is made of the same is the same";
  EXPECT_EQ(judged(1e-14, 1e-3), "the gradient of `b` of step 2");
}

/// A state is the parameter's of the longest name.
TEST(VerifyJudge, JudgesWhoseNameOnlyBeginsWithNoise) {
  const auto named = [](Record r) {
    r.names = {std::vector<std::string>{"a", "a.b"}, {"a", "a.b"}, {"a.m", "a.b.m"}};
    return r;
  };
  Record many = named(record_in(BALEEN_F64)), shaken = many;
  set(shaken, 1, Record::gradients, 0, {0, 30});
  set(many, 2, Record::states, 0, {1, 1});
  EXPECT_FALSE(judge(many, named(record_in(BALEEN_F64)), {{&shaken}}).difference);
  set(many, 3, Record::states, 1, {1, 0, 0, 0});
  EXPECT_EQ(first_words(judge(many, named(record_in(BALEEN_F64)), {{&shaken}}).difference.value_or("")),
            "state `a.b.m` after step 3");
}

/// What a choice does that jumps with sixteen roundings, and not with one, is allowed twice; not a hundred times.
TEST(VerifyJudge, AllowsWhatJumpsWithSeveralRoundings) {
  const auto judged = [](double by, const std::vector<double>& roundings) {
    Record many = record_in(BALEEN_F16), still = record_in(BALEEN_F64), jumped = still;
    set(many, 2, Record::gradients, 1, {60, 0, 0, by});
    set(jumped, 2, Record::gradients, 1, {60, 0, 0, 10});
    std::vector<Shaken> shaken;
    for (const double times : roundings) shaken.push_back({times > 1 ? &jumped : &still, times});
    return first_words(judge(many, record_in(BALEEN_F64), shaken).difference.value_or(""));
  };
  EXPECT_EQ(judged(15, {1}), "the gradient of `b` of step 2");
  EXPECT_EQ(judged(15, {1, 16}), "");
  EXPECT_EQ(judged(1000, {1, 16}), "the gradient of `b` of step 2");
}

TEST(VerifyJudge, ComparesGradientsInFewDigits) {
  const auto off = [](baleen_dtype_t dtype, double by) {
    return first_words(difference(dtype, [&](Record& r) { set(r, 1, Record::gradients, 1, {60, 0, 0, by}); }));
  };
  // Of its norm and a tenth of all gradients', which are 60 and 10.
  EXPECT_EQ(off(BALEEN_BF16, 0.99 * 70 * (4.0 / 256 + 1e-5)), "");
  EXPECT_EQ(off(BALEEN_BF16, 1.01 * 70 * (4.0 / 256 + 1e-5)), "the gradient of `b` of step 1");
  EXPECT_EQ(off(BALEEN_F32, 0.6e-3), "");
  EXPECT_EQ(off(BALEEN_F32, 0.8e-3), "the gradient of `b` of step 1");
  EXPECT_EQ(off(BALEEN_F32, NAN), "the gradient of `b` of step 1");
}

/// A step that did not count may have gradients that are no numbers.
TEST(VerifyJudge, TakesASkippedStepWithoutItsGradients) {
  const auto off = [](bool applied) {
    return first_words(difference(BALEEN_F16, [&](Record& r) {
      set(r, 1, Record::gradients, 1, {INFINITY, 0, 0, 0});
      r.steps[0].applied = r.steps[0].counts = applied;
    }));
  };
  EXPECT_EQ(off(false), "");
  EXPECT_EQ(off(true), "the gradient of `b` of step 1");
}

/// Nothing but numbers that are not finite is a reason to leave a step out.
TEST(VerifyJudge, WantsAReasonOfASkippedStep) {
  const auto skips = [](double gradient, double norm) {
    return difference(BALEEN_F16, [&](Record& r) {
      set(r, 3, Record::gradients, 1, {gradient, 0, 0, 0});
      if (std::isinf(norm)) r.steps[2].facts["gradient_norm"] = norm;
      r.steps[2].applied = r.steps[2].counts = false;
    });
  };
  EXPECT_EQ(skips(60, 1), "the update of step 3, which the ranks left out though its gradients are finite");
  EXPECT_EQ(skips(INFINITY, 1), "");
  EXPECT_EQ(skips(60, INFINITY), "") << "its squares are too large";
  Record many = record_in(BALEEN_F16);
  many.steps[2].applied = many.steps[2].counts = false;
  EXPECT_NE(judge(many, record_in(BALEEN_F16)).summary.find("steps that the ranks left out: step 3\n"),
            std::string::npos);
}

/// A bias before a mean is taken off has a gradient of noise, and that adds nothing to a norm.
TEST(VerifyJudge, ComparesNormsBesideNoise) {
  Record one = record_in(BALEEN_F64), many = one, shaken = one;
  set(one, 1, Record::gradients, 1, {1e-9, 0, 0, 0});
  set(many, 1, Record::gradients, 1, {-1e-9, 0, 0, 0});
  set(shaken, 1, Record::gradients, 1, {3e-9, 0, 0, 0});
  EXPECT_FALSE(judge(many, one, {{&shaken}}).difference);
  many.steps[0].facts["gradient_norm"] *= 1.001;
  EXPECT_EQ(first_words(judge(many, one, {{&shaken}}).difference.value_or("")), "the norm of the gradients of step 1");
}

/// Whatever two elements change places.
TEST(VerifyJudge, SketchesTellElementsApart) {
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = i + 1; j < 64; ++j) {
      Numbers one(64), other(64);
      one[i] = other[j] = 1;
      ASSERT_GT(distance(sketch_of(one), sketch_of(other)), 1e-3) << i << " and " << j;
    }
}

/// Sums with signs that cancel in one sum do not in all.
TEST(VerifyJudge, SketchesTellTheNormOfADifference) {
  Numbers numbers(1000), others;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<double>(i));
  others = numbers;
  for (double& number : others) number += 1e-3;
  const double norm = 1e-3 * std::sqrt(1000), found = distance(sketch_of(numbers), sketch_of(others));
  EXPECT_GT(found, norm / 3);
  EXPECT_LT(found, norm * 3);
  EXPECT_DOUBLE_EQ(sketch_of({3, 4}).norm(), 5);
  Sketch pieces;
  for (const std::size_t i : {7, 3, 999}) pieces.add(static_cast<std::int64_t>(i), numbers[i]);
  Numbers few(1000);
  for (const std::size_t i : {3, 7, 999}) few[i] = numbers[i];
  EXPECT_LT(distance(pieces, sketch_of(few)), 1e-15) << "in any order";
}

TEST(VerifyJudge, ComparesRecordsOfOtherSizes) {
  const auto say = [](const Change& change) { return difference(BALEEN_F64, change); };
  EXPECT_EQ(say([](Record& r) { r.steps.pop_back(); }), "the ranks ran 19 steps and one rank ran 20");
  EXPECT_EQ(say([](Record& r) { r.steps.clear(); }), "the ranks ran 0 steps and one rank ran 20");
  EXPECT_EQ(say([](Record& r) { r.evaluations.pop_back(); }), "the ranks evaluated 1 times and one rank 2 times");
  EXPECT_EQ(say([](Record& r) {
              r.evaluations.push_back({20, {}});
            }),
            "the ranks evaluated 3 times and one rank 2 times");
  EXPECT_EQ(say([](Record& r) { r.evaluations[0].steps = 9; }),
            "the ranks evaluated after step 9, and one rank after step 10");
  EXPECT_EQ(say([](Record& r) { r.evaluations[1].facts.erase("held_out_accuracy"); }),
            "the evaluation after step 20 has other results");
  EXPECT_EQ(say([](Record& r) { r.names[Record::parameters].pop_back(); }), "parameter `b` is one rank's alone");
  EXPECT_EQ(say([](Record& r) { r.names[Record::parameters].push_back("c"); }), "parameter `c` is the ranks' alone");
  EXPECT_EQ(say([](Record& r) { r.last[Record::parameters][0].clear(); }),
            "parameter `a` has 0 numbers on the ranks and 2 on one");
  EXPECT_EQ(say([](Record& r) { r.names[Record::states].erase(r.names[Record::states].begin()); }),
            "state `b.m` of the ranks stands where one rank has `a.m`");
}

/// Parameter `a` moves by a tenth in each step, but by `lengths` tenths in steps that these name.
Record moving(baleen_dtype_t dtype, const std::map<std::size_t, double>& lengths = {}) {
  Record record = record_in(dtype);
  record.first = sketches();
  double at = 3;
  for (std::size_t number = 1; number <= record.steps.size(); ++number) {
    const auto length = lengths.find(number);
    at += 0.1 * (length == lengths.end() ? 1 : length->second);
    set(record, number, Record::parameters, 0, {at, 4});
  }
  record.last[Record::parameters][0] = {at, 4};
  return record;
}

/// Of ranks that kept the gradients of so many steps, against a script alone that moves as far in each.
Judgement beside_replay(const Record& ranks, std::size_t kept = 20, double shaken_by = 0) {
  Record many = ranks;
  many.kept.resize(kept);
  const Record replayed = moving(BALEEN_F64);
  Record shaken = replayed;
  for (Record::Step& step : shaken.steps)
    for (double& sum : step.tensors[Record::parameters][0].sums) sum += shaken_by;
  return judge(many, record_in(BALEEN_F64), {}, Replay{&replayed, &shaken});
}

TEST(VerifyJudge, JudgesWhatTheRanksGradientsCameTo) {
  for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_F16}) {
    const Judgement equal = beside_replay(moving(dtype));
    EXPECT_EQ(equal.difference.value_or(""), "");
    EXPECT_NE(equal.summary.find("of parameters as updated from the same gradients (of their norms): 0,"),
              std::string::npos)
        << equal.summary;
    const auto says = [&](const std::map<std::size_t, double>& lengths) {
      return beside_replay(moving(dtype, lengths)).difference.value_or("");
    };
    EXPECT_EQ(first_words(says({{7, 0}})), "parameter `a` after step 7");
    EXPECT_EQ(last_words(says({{7, 0}})), "made from the same gradients; it is as before the step");
    EXPECT_EQ(last_words(says({{20, 2}})), "made from the same gradients; its change is 2 times that of one rank");
    EXPECT_EQ(first_words(says({{1, 1.001}})), "parameter `a` after step 1");
    EXPECT_EQ(says({{1, 1.000001}}), "");
  }
}

TEST(VerifyJudge, AllowsAnUpdateWhatOneRoundingOfItComesTo) {
  const Record ranks = moving(BALEEN_F32, {{7, 1.1}});
  EXPECT_NE(beside_replay(ranks).difference.value_or(""), "");
  EXPECT_EQ(beside_replay(ranks, 20, 0.001).difference.value_or(""), "");
}

TEST(VerifyJudge, SaysWhichUpdatesItDidNotJudge) {
  const Judgement judgement = beside_replay(moving(BALEEN_F32, {{7, 2}}), 5);
  EXPECT_EQ(judgement.difference.value_or(""), "");
  EXPECT_NE(judgement.summary.find("updates are judged in 5 of 20 steps"), std::string::npos) << judgement.summary;
}

TEST(VerifyJudge, SeesWhatChangedBehindTheLastUpdate) {
  Record ranks = moving(BALEEN_F32);
  ranks.last[Record::parameters][0][1] *= 1.01;
  EXPECT_EQ(first_words(beside_replay(ranks).difference.value_or("")), "parameter `a` at the end, most at element 1");
}

/// A loop that ends by the loss may end earlier where everything is shaken.
TEST(VerifyJudge, TakesReferencesThatEndEarlier) {
  Record many = moving(BALEEN_F32, {{7, 2}});
  many.kept.resize(20);
  const Record replayed = moving(BALEEN_F64);
  Record shaken = replayed;
  shaken.steps.resize(6);
  const Judgement judgement = judge(many, record_in(BALEEN_F64), {}, Replay{&replayed, &shaken});
  EXPECT_EQ(judgement.difference.value_or(""), "");
  EXPECT_NE(judgement.summary.find("updates are judged in 6 of 20 steps: the script alone made no more"),
            std::string::npos)
      << judgement.summary;
}

/// By four times the share that strategies state, from the step on from which they do it; not in fp64.
TEST(VerifyJudge, AllowsWhatStrategiesApproximate) {
  const auto says = [](baleen_dtype_t dtype, double share, double off, std::size_t step) {
    Record many = record_in(dtype);
    many.approximated["b"].shares = {{4, share}};
    set(many, step, Record::gradients, 1, {60 * (1 + off), 0, 0, 0});
    return first_words(judge(many, record_in(BALEEN_F64)).difference.value_or(""));
  };
  const std::string wrong = "the gradient of `b` of step ";
  EXPECT_EQ(says(BALEEN_F32, 0.1, 0.39, 5), "");
  EXPECT_EQ(says(BALEEN_F32, 0.1, 0.5, 5), wrong + "5");
  EXPECT_EQ(says(BALEEN_F32, 0.1, 0.39, 4), wrong + "4") << "before it begins";
  EXPECT_EQ(says(BALEEN_F64, 0.1, 0.39, 5), wrong + "5");
  EXPECT_EQ(says(BALEEN_F32, HUGE_VAL, 5, 5), "");
}

}  // namespace
}  // namespace baleen::app
