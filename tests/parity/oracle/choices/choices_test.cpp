/// \file In 16 bits a choice may be closer to a tie than rounding: the larger of two, an expert, a side of a hinge, the
/// sign of a sum whose terms cancel. `baleen verify --dtype fp32` calls no such model different, and finds what is
/// wrong in it all the same.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

const char* const kModels[] = {"adversarial", "code_book", "dead_units", "dropout", "hinge",    "pooling", "quantiles",
                               "recurrent",   "rounded",   "switch",     "top_two", "triplets", "turns"};

std::string precision_in(const std::string& dtype) {
  return "[[plan]]\nstrategy = \"precision\"\ndtype = \"" + dtype + "\"\n";
}

struct Case {
  std::string model, dtype;
  int ranks = 1;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model << " " << c.dtype << " " << c.ranks; }

class Choices : public ::testing::TestWithParam<Case> {};

TEST_P(Choices, MakeNothingDifferent) {
  const Case& c = GetParam();
  const std::string manifest =
      manifest_of({{"data", c.ranks}}, "[[plan]]\nstrategy = \"data\"\n" + precision_in(c.dtype));
  for (const char* seed : {"1", "3", "6"}) {
    SCOPED_TRACE(seed);
    const ProcessResult result =
        run_parity({"verify", "--dtype", "fp32", "--seed", seed}, "oracle/choices/" + c.model, manifest, {});
    expect_equal(result, 20, c.dtype);
    EXPECT_EQ(result.out.find("updates are judged in"), std::string::npos) << "not all: " << result.out;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* model : kModels)
    for (const char* dtype : {"bf16", "fp16"})
      for (const int ranks : {1, 2}) all.push_back({model, dtype, ranks});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, Choices, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.model + "_" + info.param.dtype + "_On" + std::to_string(info.param.ranks);
});

/// In fp64, too, rounding may decide: whether a loss of terms that cancel is above 0, which side of 0 a constant is on.
TEST(ChoicesInFp64, MakeNothingDifferentAndHideNoFault) {
  for (const char* model : {"policy", "constant"})
    for (const int ranks : {2, 3}) {
      const std::string plan = "[[plan]]\nstrategy = \"data\"\n", script = std::string("oracle/choices/") + model;
      SCOPED_TRACE(model + std::to_string(ranks));
      const ProcessResult equal = run_parity({"verify"}, script, manifest_of({{"data", ranks}}, plan), {});
      expect_equal(equal, 20, "fp64");
      const ProcessResult wrong =
          run_parity({"verify", "--plugin-path", MUTANTS_FOLDER}, script,
                     manifest_of({{"data", ranks}},
                                 plan + "[[plan]]\nstrategy = \"mutant\"\ndamage = \"doubled\"\nof = \"out.bias\"\n"),
                     {});
      EXPECT_EQ(wrong.exit_code, 2) << wrong.out << wrong.err;
      EXPECT_NE(wrong.err.find("the gradient of `out.bias` of step 1"), std::string::npos) << model << wrong.err;
    }
}

TEST(ChoicesInFp32, TakeALossThatIsRoundingForOne) {
  const ProcessResult result = run_parity({"verify", "--dtype", "fp32"}, "oracle/choices/policy",
                                          manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"data\"\n"), {});
  expect_equal(result, 20, "fp32");
}

struct Fault {
  std::string name, model, mutant, says;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, AreFoundBesideChoices) {
  const Fault& fault = GetParam();
  for (const char* dtype : {"bf16", "fp16"}) {
    // A scaler reads the norm before the mutant does its damage.
    const std::string plan = "[[plan]]\nstrategy = \"data\"\n" + precision_in(dtype) +
                             "loss_scale = \"none\"\n[[plan]]\nstrategy = \"mutant\"\n" + fault.mutant;
    const ProcessResult result = run_parity({"verify", "--dtype", "fp32", "--plugin-path", MUTANTS_FOLDER},
                                            "oracle/choices/" + fault.model, manifest_of({{"data", 2}}, plan), {});
    EXPECT_EQ(result.exit_code, 2) << dtype << result.out << result.err;
    EXPECT_NE(result.err.find("one rank computes: see " + fault.says), std::string::npos) << dtype << result.err;
  }
}

std::string of(const std::string& damage, const std::string& name) {
  return "damage = \"" + damage + "\"\nof = \"" + name + "\"\n";
}

INSTANTIATE_TEST_SUITE_P(
    Mutants, Faults,
    ::testing::Values(
        Fault{"AGradientOfAProgramThatLearns", "adversarial", of("doubled", "dis.linear.weight"),
              "the gradient of `judge/dis.linear.weight` of run "},
        Fault{"AGradientBesideAProgram", "adversarial", of("doubled", "gen.linear.weight"),
              "the gradient of `gen.linear.weight` of step 1"},
        Fault{"AGradientOfAnExpert", "top_two", of("doubled", "m2.up"), "the gradient of `m2.up` of step 1"},
        Fault{"AGradientBehindAHinge", "hinge", of("doubled", "c.weight"), "the gradient of `c.weight` of step "},
        Fault{"AGradientBehindPooling", "pooling", of("doubled", "c1.w"), "the gradient of `c1.w` of step "}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
