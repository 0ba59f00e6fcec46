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

/// Two data sets of one shape, whose classes or characters have other names.
class LoadOfOtherNames : public testing::Test {
 protected:
  std::string job(const std::string& data, const std::string& model) const {
    return folder_.write(
        "job.lua",
        "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal data = baleen.data." + data +
            "\nreturn baleen.job { model = " + model +
            ", loss = nn.cross_entropy {}, data = data,\n"
            "  batch = 2, steps = baleen.arg('steps', 2), optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  }
  /// Trains on the first file, then goes on with each.
  void expect_told(const std::string& script, const std::string& first, const std::string& second,
                   const std::string& difference) const {
    const std::string saved = folder_ / "m.safetensors", manifest = folder_.write("c.toml", "[checkpoint]\n");
    const auto run = [&](const std::string& data, std::vector<std::string> words) {
      words.insert(words.begin(), {"run", script, "--set", "checkpoint.folder=" + (folder_ / "checkpoints")});
      words.insert(words.end(), {"--", "--data", data});
      return run_baleen(words);
    };
    ASSERT_EQ(run(first, {"--save", saved}).exit_code, 0);
    const std::string told = saved + ": its data taught other names than this job's data does: ";
    EXPECT_EQ(run(first, {"--load", saved}).err.find(told), std::string::npos);
    const ProcessResult other = run(second, {"--load", saved});
    EXPECT_EQ(other.exit_code, 0) << other.err;
    EXPECT_NE(other.err.find("warning: " + told + difference), std::string::npos) << other.err;
    ASSERT_EQ(run(first, {}).exit_code, 0);
    EXPECT_EQ(run(first, {"--resume", "latest", "--steps", "3"}).exit_code, 0);
    expect_refusal(
        run(second, {"--resume", "latest", "--steps", "4"}),
        {.after_others = true,
         .parts = {"was saved with other data: what that taught (a vocabulary, classes, means) is not what this "
                   "job's data teaches; bring the data back, or begin anew from the parameters with --load"},
         .before = Before::kNoStep});
  }

  const TemporaryFolder folder_;
};

TEST_F(LoadOfOtherNames, OfClassesIsTold) {
  std::string first = "a,b,label\n";
  for (int i = 0; i < 8; ++i) first += std::to_string(i % 3) + ",2," + (i % 2 ? "cat\n" : "dog\n");
  std::string second = first;
  for (std::size_t at = 0; (at = second.find("dog", at)) != std::string::npos;) second.replace(at, 3, "fox");
  expect_told(job("table { path = baleen.arg 'data', label = 'label', held_out = 0 }", "nn.linear { out = 2 }"),
              folder_.write("1.csv", first), folder_.write("2.csv", second), "`/classes/1` was \"dog\" and is \"fox\"");
}

TEST_F(LoadOfOtherNames, OfCharactersIsTold) {
  std::string first, second;
  for (int i = 0; i < 40; ++i) first += "abcd\n", second += "abce\n";
  expect_told(job("text { path = baleen.arg 'data', context = 4, tokenizer = 'chars', held_out = 0 }",
                  "nn.sequential { nn.embedding { vocab = data.vocab, dim = 4 }, nn.linear { out = data.vocab } }"),
              folder_.write("1.txt", first), folder_.write("2.txt", second), "`/alphabet` was ");
}

TEST_F(Load, OfTheFileThatNamesTheLatestSaysWhichThatIs) {
  const std::string folder = *folder_ / "named";
  ASSERT_EQ(run({"--steps", "2", "--set", "checkpoint.folder=" + folder}, {}).exit_code, 0);
  for (const std::string command : {"run", "evaluate"})
    expect_refusal(run({"--load", folder + "/latest"}, {}, command),
                   {.whole = folder + "/latest: holds the name of a checkpoint; give that one's folder, " + folder +
                             "/step-000000002"});
  const ProcessResult again = run({"--resume", "latest", "--steps", "1", "--set", "checkpoint.folder=" + folder}, {});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.err.find("warning: the job has 1 steps, so nothing is left to train; --steps N goes on to step N"),
            std::string::npos)
      << again.err;
}

TEST_F(Load, OfNothingIsRefused) {
  expect_refused(file(), {"--load-only", "*", "--load-except", "*"}, {},
                 file() +
                     ": --load-only * --load-except * leaves no parameter to load; take one of these away, or begin "
                     "without --load");
  expect_refusal(run({"--resume", file()}, {}),
                 {.whole = file() + ": is a file; a run is resumed from the folder of a checkpoint, and parameters are "
                                    "read with --load"});
}

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
