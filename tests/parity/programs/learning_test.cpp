/// \file Programs that learn: what they compute against the job's own step, and on any mesh against one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "parity/parity_run.hpp"
#include "support/refusal.hpp"
#include "support/saved_tensors.hpp"

namespace baleen::test {
namespace {

const std::string kZero = "[[plan]]\nstrategy = \"zero\"\nstage = ";
const std::string kTensor = "[[plan]]\nstrategy = \"tensor\"\n";

/// What a script printed and what its run saved, all in fp64.
struct Learned {
  std::vector<std::string> lines;  ///< without their numbers
  std::vector<double> numbers;     ///< of the lines
  std::map<std::string, std::vector<double>> parameters;
};

class LearningPrograms : public testing::Test {
 protected:
  ProcessResult run(const std::string& command, const std::string& script, std::vector<std::string> words,
                    const std::string& manifest, const std::vector<std::string>& arguments) {
    words.insert(words.begin(), {command, source_dir() + "/tests/parity/programs/" + script + ".lua"});
    if (!manifest.empty()) words.insert(words.end(), {"--manifest", folder_.write("ranks.toml", manifest)});
    words.emplace_back("--");
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_baleen(words);
  }

  Learned learn(const std::string& script, const std::vector<std::string>& arguments,
                const std::string& manifest = "") {
    const std::string model = folder_ / "model.safetensors";
    const ProcessResult result = run("run", script, {"--dtype", "fp64", "--save", model}, manifest, arguments);
    EXPECT_EQ(result.exit_code, 0) << manifest << result.err;
    Learned learned;
    if (result.exit_code != 0) return learned;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("learnt ") && !line.starts_with("made ")) continue;
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        char* end = nullptr;
        const double number = std::strtod(word.c_str(), &end);
        if (*end == 0) learned.numbers.push_back(number);
      }
      learned.lines.push_back(line);
    }
    learned.parameters = saved_tensors(read_file(model));
    return learned;
  }

  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 1e-10 * std::max(1.0, std::abs(wanted[i]))) << what << " " << i;
  }
  static void expect_parity(const Learned& got, const Learned& wanted) {
    ASSERT_FALSE(wanted.parameters.empty());
    for (const auto& [name, numbers] : wanted.parameters) {
      ASSERT_TRUE(got.parameters.contains(name)) << name;
      expect_near(got.parameters.at(name), numbers, name);
    }
    ASSERT_EQ(got.parameters.size(), wanted.parameters.size());
  }

  const TemporaryFolder folder_;
};

/// The schedule, its state, clipping and groups: all is as in a job that trains.
TEST_F(LearningPrograms, TrainAsTheJobsOwnStepDoes) {
  const Learned step = learn("learn", {"--as", "train"}), program = learn("learn", {"--as", "program"});
  ASSERT_EQ(step.lines.size(), 8u);
  ASSERT_EQ(program.lines.size(), 9u) << "and what `act` made";
  expect_near({program.numbers.begin(), program.numbers.end() - 2}, step.numbers, "step, loss, norm");
  expect_parity(program, step);
  EXPECT_LT(step.numbers.at(22), 0.8 * step.numbers.at(1)) << "the loss falls";
}

/// Each run of one is followed as a step is: its update is judged from the ranks' own gradients.
TEST_F(LearningPrograms, AreVerifiedInFewDigits) {
  const std::string in_bf16 = "[[plan]]\nstrategy = \"data\"\n[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n";
  for (const std::string& plan : std::vector<std::string>{"", kZero + "1\n", in_bf16}) {
    const ProcessResult result =
        run("verify", "adversarial", {"--dtype", "fp32"}, manifest_of({{"data", 2}}, plan), {"--dropout", "0.2"});
    SCOPED_TRACE(plan);
    expect_equal(result, 20, plan == in_bf16 ? "bf16" : "fp32");
    EXPECT_NE(result.out.find("largest difference of parameters as updated from the same gradients"), std::string::npos)
        << result.out;
    EXPECT_EQ(result.out.find("largest difference of parameters (of their norms)"), std::string::npos)
        << "some are shown only: " << result.out;
  }
}

struct Mix {
  const char* name;
  const char* script;
  MeshAxes axes;
  std::string plan;
};
void PrintTo(const Mix& mix, std::ostream* out) { *out << mix.name; }

class LearningMix : public LearningPrograms, public testing::WithParamInterface<Mix> {};

TEST_P(LearningMix, IsWhatOneRankLearns) {
  const Mix& mix = GetParam();
  const std::string manifest = manifest_of(mix.axes, mix.plan);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const std::vector<std::string> arguments = std::string(mix.script) == "learn"
                                                 ? std::vector<std::string>{"--as", "program"}
                                                 : std::vector<std::string>{"--dropout", "0.2"};
  const Learned one = learn(mix.script, arguments), many = learn(mix.script, arguments, manifest);
  ASSERT_FALSE(one.numbers.empty());
  expect_near(many.numbers, one.numbers, "what was printed");
  expect_parity(many, one);
}

INSTANTIATE_TEST_SUITE_P(
    Alone, LearningMix,
    testing::Values(Mix{"data", "learn", {{"data", 4}}, ""}, Mix{"zero1", "learn", {{"data", 3}}, kZero + "1\n"},
                    Mix{"zero3", "learn", {{"data", 2}}, kZero + "3\n"}, Mix{"tensor", "learn", {{"tensor", 2}}, ""},
                    Mix{"zero2_tensor", "learn", {{"data", 2}, {"tensor", 2}}, kZero + "2\n" + kTensor}),
    [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(
    BesideTraining, LearningMix,
    testing::Values(Mix{"data", "adversarial", {{"data", 4}}, ""},
                    Mix{"zero1", "adversarial", {{"data", 3}}, kZero + "1\n"},
                    Mix{"zero3", "adversarial", {{"data", 2}}, kZero + "3\n"},
                    Mix{"tensor", "adversarial", {{"tensor", 2}}, ""},
                    Mix{"zero3_tensor", "adversarial", {{"tensor", 2}, {"data", 2}}, kZero + "3\n" + kTensor}),
    [](const auto& info) { return std::string(info.param.name); });

/// In 16 bits the program has a loss scale of its own.
TEST_F(LearningPrograms, RunIn16Bits) {
  const std::string manifest =
      manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"precision\"\ndtype = \"fp16\"\n" + kZero + "1\n");
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  for (const auto& [script, arguments] :
       {std::pair{"learn", std::vector<std::string>{"--as", "program"}}, {"adversarial", {}}}) {
    const ProcessResult result = run("run", script, {}, manifest, arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("learnt 4 loss"), std::string::npos) << result.out;
  }
}

TEST_F(LearningPrograms, AreShownByPlanAndGraph) {
  const ProcessResult plan = run("plan", "learn", {}, manifest_of({{"data", 2}}, kZero + "1\n"), {"--as", "program"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find("sent per run of the program `learn`"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("reduce_scatter along data"), std::string::npos) << plan.out;
  const ProcessResult graph = run("graph", "learn", {"--ops", "--graph", "learn"}, "", {"--as", "program"});
  EXPECT_EQ(graph.exit_code, 0) << graph.err;
  EXPECT_NE(graph.out.find("linear.weight.update"), std::string::npos) << graph.out;
}

/// What a job of programs alone has trained, a process that only infers reads.
TEST_F(LearningPrograms, LeaveTheOthersToInfer) {
  const Learned learned = learn("learn", {"--as", "program"});
  const std::string model = folder_ / "model.safetensors", out = folder_ / "out.safetensors";
  const ProcessResult refused =
      run("infer", "learn", {"--program", "learn", "--load", model, "--outputs", out}, "", {"--as", "program"});
  expect_refusal(refused, {.after_others = true, .parts = {"program `learn` learns, which takes a run"}});
}

TEST_F(LearningPrograms, AreRefusedWithAReason) {
  const auto refused = [&](const std::string& job, const std::string& said) {
    const std::string script = folder_.write("refused.lua", R"(local baleen = require "baleen"
local nn = baleen.nn
local layer, adam = nn.linear { out = 1 }, baleen.optimizer("adamw", { lr = 0.1 })
local inputs = { x = { shape = { 2, 3 }, axes = { "batch", "" } } }
local function total(given) return { loss = layer(given.x):sum() } end
)" + job);
    SCOPED_TRACE(job);
    expect_refusal(run_baleen({"run", script}), {.after_others = true, .parts = {said}});
  };
  const auto program = [](const std::string& of) {
    return "return baleen.job { programs = { p = { inputs = inputs, " + of + " } }, loop = function() end }";
  };
  refused(program("run = function(given) return { y = layer(given.x) } end, optimizer = adam"),
          "program `p` has an optimizer and gives no `loss`");
  refused(program("run = function(given) return { loss = layer(given.x) } end, optimizer = adam"),
          "`loss` has the shape [2, 1]; it must be a single number");
  refused(program("run = total, optimizer = adam, replicated = true"), "it has an `optimizer`, so its ranks share");
  refused(program("run = total, optimizer = \"adamw\""), "make it with baleen.optimizer");
  refused(program("run = total, parameters = { \"*\" }"), "`parameters` is for programs with an `optimizer`");
  refused(program("run = total, optimizer = adam, parameters = { \"liner.*\" }"),
          "the pattern `liner.*` matches no parameter");
  refused(program("run = total, optimizer = baleen.optimizer(\"adamw\", { lr = 0.1, groups = { { match = \"*\", "
                  "frozen = true } } })"),
          "program `p`: no parameter is trained");
  refused("return baleen.job { programs = {} }", "neither a `loss` to train by nor programs");
  refused("return baleen.job { programs = { p = { inputs = inputs, run = total } }, batch = 4 }", "it has no `loss`");
  refused("return baleen.job { programs = { p = { inputs = inputs, run = total } } }",
          "the job has no `loss` to train by, and no `loop`");
}

}  // namespace
}  // namespace baleen::test
