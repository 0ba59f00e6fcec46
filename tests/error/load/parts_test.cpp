/// \file Files that do not fit a model, and options that would not do what was meant, are refused before step 1.
#include "parity/parity_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

const std::vector<std::string> kNoBias{"--bias", "false"};

class Load : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const ProcessResult saved =
        run({"--save", file(), "--steps", "1", "--set", "checkpoint.folder=" + (*folder_ / "checkpoints")}, {});
    ASSERT_EQ(saved.exit_code, 0) << saved.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string file() { return *folder_ / "model.safetensors"; }
  static ProcessResult run(std::vector<std::string> words, const std::vector<std::string>& own,
                           const std::string& command = "run") {
    const std::string script = folder_->write(
        "job.lua",
        "local baleen = require 'baleen'\n"
        "local nn, rows = baleen.nn, {}\n"
        "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
        "return baleen.job {\n"
        "  model = nn.sequential { nn.linear { name = baleen.arg('first', 'first'), out = baleen.arg('width', 3) },\n"
        "    nn.linear { name = 'last', out = 2, bias = baleen.arg('bias', true) } },\n"
        "  loss = nn.cross_entropy {}, data = baleen.data.table { rows = rows, held_out = 0.5 }, batch = 4,\n"
        "  steps = 5, optimizer = baleen.optimizer('adamw', { lr = 0.1 }),\n"
        "  programs = { out = { inputs = { x = { dtype = 'fp32', shape = { 1, 2 } } },\n"
        "    run = function(t) return { y = t.x } end } } }\n");
    words.insert(words.begin(), {command, script});
    words.emplace_back("--");
    words.insert(words.end(), own.begin(), own.end());
    return run_baleen(words);
  }
  static void expect_refused(const std::string& from, std::vector<std::string> words,
                             const std::vector<std::string>& own, const std::string& message) {
    words.insert(words.begin(), {"--load", from, "--log-json", *folder_ / "log"});
    expect_refusal(run(words, own), {.after_others = true, .parts = {message}});
    EXPECT_EQ(read_file(*folder_ / "log").find("\"step\""), std::string::npos);
  }

  static inline const TemporaryFolder* folder_ = nullptr;
};

TEST_F(Load, OfAMissingTensorNamesItAndTheOptions) {
  const std::vector<std::string> renamed{"--first", "fist"};
  expect_refused(file(), {}, renamed,
                 file() +
                     ": it has no tensor `fist.weight`, `fist.bias`; the nearest name is `first.weight`; what is "
                     "called otherwise there: --load-rename FROM=TO; what is to keep its first values: "
                     "--allow-missing PATTERN");
  expect_refused(file(), {"--allow-missing", "fist.weight", "--load-except", "first.*"}, renamed,
                 "it has no tensor `fist.bias`; ");
  expect_refused(file(), {"--load-rename", "first.bias=fist.bias"}, {},
                 "it has no tensor `first.bias`; --load-rename makes `fist.bias` of the one that is there: FROM is the "
                 "name in the file, TO the model's; ");
}

TEST_F(Load, OfAFurtherTensorNamesItAndTheOption) {
  const std::string message =
      ": the model has no parameter `last.bias`; the nearest name is `first.bias`; what is to be passed over: "
      "--allow-extra PATTERN";
  expect_refused(file(), {}, kNoBias, file() + message);
  expect_refused(*folder_ / "checkpoints", {}, kNoBias, message);
  EXPECT_EQ(run({"--load", *folder_ / "checkpoints", "--allow-extra", "last.b*"}, kNoBias).exit_code, 0);
}

TEST_F(Load, OfAnotherShapeNamesBothAndTheOption) {
  for (const std::string& from : {file(), *folder_ / "checkpoints"})
    expect_refused(
        from, {}, {"--width", "4"},
        "`first.weight` is [2, 3] in the file and [2, 4] in the model, and 2 others differ; what is to keep its "
        "first values: --load-except first.weight");
}

TEST_F(Load, RefusesPatternsThatFitNothing) {
  const std::string neither = " fits neither a parameter of the model nor a tensor of this";
  for (const std::string& from : {file(), *folder_ / "checkpoints"}) {
    expect_refused(from, {"--load-only", "frist.*"}, {}, "--load-only frist.*" + neither);
    expect_refused(from, {"--load-except", "lst.bias"}, {},
                   "--load-except lst.bias" + neither + "; the nearest name is `last.bias`");
    expect_refused(from, {"--load-rename", "fist.*=first.*"}, {}, "--load-rename fist.* fits no tensor of this");
    expect_refused(from, {"--allow-missing", "none"}, {}, "--allow-missing none fits no parameter of the model");
    expect_refused(from, {"--allow-extra", "none"}, {}, "--allow-extra none fits no tensor of this");
  }
  expect_refusal(
      run({"--resume", *folder_ / "checkpoints", "--allow-missing", "none"}, {}),
      {.after_others = true, .parts = {"--allow-missing none fits no tensor of the checkpoint or of this job"}});
}

TEST_F(Load, RefusesRenamesThatCannotBe) {
  expect_refused(file(), {"--load-rename", "first"}, {}, "--load-rename: must be FROM=TO");
  expect_refused(file(), {"--load-rename", "first.bias=*.bias"}, {}, "`*.bias` has more `*` than `first.bias`");
  expect_refused(file(), {"--load-rename", "first.*=last.*"}, {},
                 "`first.bias` and `last.bias` would both become `last.bias`");
}

TEST_F(Load, PartsNeedSomethingToLoad) {
  for (const std::string option : {"--load-only", "--load-except", "--load-rename", "--allow-extra"}) {
    expect_refusal(run({option, "a=b"}, {}), {.after_others = true, .parts = {option + " requires --load"}});
  }
}

TEST_F(Load, IsAsStrictForOtherCommands) {
  const std::vector<std::string> outputs{"--load", file(), "--outputs", *folder_ / "out.safetensors"};
  expect_refusal(run(outputs, kNoBias, "infer"),
                 {.after_others = true, .parts = {"the model has no parameter `last.bias`"}});
}

}  // namespace
}  // namespace baleen::test
