/// \file What `baleen verify` calls equal and what different, on records made by hand.
#include "frontend/cli/verify_judge.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace baleen::app {
namespace {

/// Twenty steps, evaluations after the tenth and the last, two parameters with a state each.
Record record_in(baleen_dtype_t dtype) {
  Record record;
  record.coarsest = dtype;
  for (int step = 1; step <= 20; ++step) record.losses.push_back(4.0 / step);
  for (const int steps : {10, 20})
    record.evaluations.push_back({steps, {{"held_out_accuracy", 0.5}, {"held_out_loss", 5.0 / steps}}});
  record.parameters = {{"a", {3, 4}}, {"b", {0, 0, 0, 0}}};
  record.states = {{"a.m", {0.3, 0.4}}, {"b.m", {0, 0, 0, 0}}};
  record.replicas.emplace_back();
  for (const auto* list : {&record.parameters, &record.states})
    for (const Record::Tensor& tensor : *list) record.replicas[0].push_back(sketch_of(tensor.numbers));
  if (dtype != BALEEN_F64) record.first_gradients = {{"a", {0, 80}}, {"b", {60, 0, 0, 0}}};
  return record;
}

/// What differs when `change` is done to the record of the ranks; "" where nothing does.
template <class Change>
std::string difference(baleen_dtype_t dtype, Change&& change) {
  Record many = record_in(dtype);
  change(many);
  return judge(many, record_in(dtype)).difference.value_or("");
}

std::string first_words(const std::string& text) { return text.substr(0, text.find(" (")); }

TEST(VerifyJudge, CallsLikeRecordsEqual) {
  for (const baleen_dtype_t dtype : {BALEEN_F64, BALEEN_F32, BALEEN_BF16, BALEEN_F16})
    EXPECT_EQ(difference(dtype, [](Record&) {}), "");
}

TEST(VerifyJudge, NamesTheFirstStepThatDiffers) {
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.losses[6] *= 1 + 0.9e-10; }), "");
  EXPECT_EQ(difference(BALEEN_F64,
                       [](Record& r) {
                         r.losses[6] *= 1 + 1.1e-10;
                         r.losses[8] *= 2;
                       }),
            "the loss of step 7 (1.1e-10, 1e-10 allowed)");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.losses[2] = NAN; })), "the loss of step 3");
}

TEST(VerifyJudge, AllowsTheBoundsOfEachStepInFp32) {
  const auto off = [](baleen_dtype_t dtype, std::size_t step, double by) {
    return first_words(difference(dtype, [&](Record& r) { r.losses[step - 1] *= 1 + by; }));
  };
  EXPECT_EQ(off(BALEEN_F32, 1, 0.99e-6), "");
  EXPECT_EQ(off(BALEEN_F32, 1, 1.01e-6), "the loss of step 1");
  EXPECT_EQ(off(BALEEN_F32, 20, 0.99e-4), "");
  EXPECT_EQ(off(BALEEN_F32, 20, 1.01e-4), "the loss of step 20");
  // 256 times that with 8 digits, 90 times with 11.
  EXPECT_EQ(off(BALEEN_BF16, 1, 2.55e-4), "");
  EXPECT_EQ(off(BALEEN_BF16, 1, 2.57e-4), "the loss of step 1");
  EXPECT_EQ(off(BALEEN_F16, 1, 0.90e-4), "");
  EXPECT_EQ(off(BALEEN_F16, 1, 0.91e-4), "the loss of step 1");
}

TEST(VerifyJudge, ComparesEvaluations) {
  const auto off = [](baleen_dtype_t dtype, std::size_t number, const char* fact, double by) {
    return first_words(difference(dtype, [&](Record& r) { r.evaluations[number].facts[fact] *= 1 + by; }));
  };
  EXPECT_EQ(off(BALEEN_F64, 0, "held_out_loss", 0.9e-10), "");
  EXPECT_EQ(off(BALEEN_F64, 0, "held_out_loss", 1.1e-10), "held_out_loss after step 10");
  EXPECT_EQ(off(BALEEN_F64, 1, "held_out_accuracy", 1.1e-10), "held_out_accuracy after step 20");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_loss", 0.99e-4), "");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_loss", 1.01e-4), "held_out_loss after step 20");
  EXPECT_EQ(off(BALEEN_F32, 1, "held_out_accuracy", 0.5), "") << "a metric may jump";
  // In the order of the run.
  const auto both = [](std::size_t step) {
    return first_words(difference(BALEEN_F64, [&](Record& r) {
      r.evaluations[0].facts["held_out_loss"] = 0;
      r.losses[step - 1] = 0;
    }));
  };
  EXPECT_EQ(both(10), "the loss of step 10");
  EXPECT_EQ(both(11), "held_out_loss after step 10");
  EXPECT_EQ(first_words(difference(BALEEN_F64,
                                   [](Record& r) {
                                     r.evaluations[1].facts["held_out_loss"] = 0;
                                     r.parameters[0].numbers[0] = 0;
                                   })),
            "parameter `a`, most at element 0")
      << "what the last evaluation reads";
}

/// |a| is 5: 5e-8 and 1.4e-12.
TEST(VerifyJudge, NamesTheParameterOrTheStateThatDiffers) {
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.parameters[0].numbers[1] += 4.9e-8; }), "");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.parameters[0].numbers[1] += 5.1e-8; })),
            "parameter `a`, most at element 1");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.parameters[1].numbers[2] = 2.1e-12; })),
            "parameter `b`, most at element 2");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.parameters[1].numbers[3] = NAN; })),
            "parameter `b`, most at element 3");
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.states[0].numbers[0] += 4.9e-9; }), "");
  EXPECT_EQ(first_words(difference(BALEEN_F64, [](Record& r) { r.states[0].numbers[0] += 5.1e-9; })),
            "state `a.m`, most at element 0");
  EXPECT_EQ(difference(BALEEN_F32, [](Record& r) { r.parameters[0].numbers[1] = r.states[0].numbers[0] = 9; }), "");
}

/// A change of one element is one of each sum.
TEST(VerifyJudge, NamesTheRankWhoseReplicaDiffers) {
  const auto off = [](std::size_t number, std::size_t element, double by) {
    return first_words(difference(BALEEN_F64, [&](Record& r) {
      std::vector<double> numbers = number < 2 ? r.parameters[number].numbers : r.states[number - 2].numbers;
      numbers[element] += by;
      r.replicas[0][number] = sketch_of(numbers);
    }));
  };
  EXPECT_EQ(off(0, 0, 4.9e-8), "");
  EXPECT_EQ(off(0, 0, 5.1e-8), "parameter `a` on rank 1");
  EXPECT_EQ(off(1, 3, 2.1e-12), "parameter `b` on rank 1");
  EXPECT_EQ(off(2, 1, 5.1e-9), "state `a.m` on rank 1");
  EXPECT_EQ(off(3, 0, NAN), "state `b.m` on rank 1");
  EXPECT_EQ(difference(BALEEN_F64, [](Record& r) { r.replicas[0].pop_back(); }),
            "state `b.m` on rank 1, which is not there");
}

/// Sums with signs that cancel in one sum do not in all.
TEST(VerifyJudge, SketchesTellTheNormOfADifference) {
  std::vector<double> numbers(1000), others;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<double>(i));
  others = numbers;
  for (double& number : others) number += 1e-3;
  const Sketch a = sketch_of(numbers), b = sketch_of(others);
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i], 2) / static_cast<double>(a.size());
  const double norm = 1e-3 * std::sqrt(1000);
  EXPECT_GT(std::sqrt(squares), norm / 3);
  EXPECT_LT(std::sqrt(squares), norm * 3);
}

/// Their norm is 100.
TEST(VerifyJudge, ComparesFirstGradientsInFp32) {
  EXPECT_EQ(difference(BALEEN_F32, [](Record& r) { r.first_gradients[1].numbers[3] = 0.99e-3; }), "");
  EXPECT_EQ(first_words(difference(BALEEN_F32, [](Record& r) { r.first_gradients[1].numbers[3] = 1.01e-3; })),
            "the gradients of the first step, most of `b`");
  const auto in_half = [](double by) {
    return difference(BALEEN_BF16, [&](Record& r) { r.first_gradients[1].numbers[3] = by; });
  };
  EXPECT_EQ(in_half(1.56), "");
  EXPECT_NE(in_half(1.57), "") << "4 * 2^-8";
  EXPECT_EQ(first_words(difference(BALEEN_F32, [](Record& r) { r.first_gradients[1].numbers[3] = NAN; })),
            "the gradients of the first step, most of `b`");
  EXPECT_EQ(first_words(difference(BALEEN_F32,
                                   [](Record& r) {
                                     r.losses[1] = 0;
                                     r.first_gradients[0].numbers[0] = 1;
                                   })),
            "the gradients of the first step, most of `a`");
}

TEST(VerifyJudge, ComparesRecordsOfOtherSizes) {
  const auto say = [](auto&& change) { return difference(BALEEN_F64, change); };
  EXPECT_EQ(say([](Record& r) { r.losses.pop_back(); }), "the ranks ran 19 steps and one rank ran 20");
  EXPECT_EQ(say([](Record& r) { r.losses.push_back(1); }), "the ranks ran 21 steps and one rank ran 20");
  EXPECT_EQ(say([](Record& r) { r.losses.clear(); }), "the ranks ran 0 steps and one rank ran 20");
  EXPECT_EQ(say([](Record& r) { r.evaluations.pop_back(); }), "the ranks evaluated 1 times and one rank 2 times");
  EXPECT_EQ(say([](Record& r) {
              r.evaluations.push_back({20, {}});
            }),
            "the ranks evaluated 3 times and one rank 2 times");
  EXPECT_EQ(say([](Record& r) { r.evaluations[0].steps = 9; }),
            "the ranks evaluated after step 9, and one rank after step 10");
  EXPECT_EQ(say([](Record& r) { r.evaluations[1].facts.erase("held_out_accuracy"); }),
            "the evaluation after step 20 has other results");
  EXPECT_EQ(say([](Record& r) { r.parameters.pop_back(); }), "parameter `b` is one rank's alone");
  EXPECT_EQ(say([](Record& r) { r.parameters.push_back({"c", {1}}); }), "parameter `c` is the ranks' alone");
  EXPECT_EQ(say([](Record& r) { r.parameters[0].numbers.clear(); }),
            "parameter `a` has 0 numbers on the ranks and 2 on one");
  EXPECT_EQ(say([](Record& r) { r.states.erase(r.states.begin()); }),
            "state `b.m` of the ranks stands where one rank has `a.m`");
  EXPECT_EQ(difference(BALEEN_F32, [](Record& r) { r.first_gradients.clear(); }),
            "first gradient `a` is one rank's alone");
}

}  // namespace
}  // namespace baleen::app
