/// \file What `baleen predict` cannot do is refused, and leaves what was there.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "parity/parity_run.hpp"
#include "support/damaged_model.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

class Predict : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string text = "a,colour,kind\n";
    for (int i = 0; i < 30; ++i) text += std::to_string(i % 7) + (i % 2 ? ",red," : ",blue,") + (i % 3 ? "x\n" : "y\n");
    folder_->write("rows.csv", text);
    folder_->write("job.lua",
                   "local baleen = require 'baleen'\n"
                   "local made = { features = 4, classes = 3, rows = 16 }\n"
                   "local data = baleen.arg('made', false) and baleen.data.synthetic(made)\n"
                   "  or baleen.data.table { path = 'rows.csv', held_out = 0.5 }\n"
                   "return baleen.job {\n"
                   "  model = baleen.nn.linear { name = 'l', out = data.classes }, loss = baleen.nn.cross_entropy {},\n"
                   "  data = data, batch = 4, steps = 1, optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
    folder_->write("good.csv", "a,colour\n1,red\n");
    ASSERT_EQ(run_baleen({"run", *folder_ / "job.lua", "--save", file()}).exit_code, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string file() { return *folder_ / "m.safetensors"; }
  static ProcessResult predict(const std::string& data, const std::string& out, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"predict", *folder_ / "job.lua", "--load", file(), "--data", data, "--out", out});
    return run_baleen(more);
  }
  static void expect_refused(const ProcessResult& result, const std::string& message) {
    expect_refusal(result, {.after_others = true, .parts = {message}});
  }
  /// `rows`: of the file to predict.
  static void expect_refused_rows(const std::string& rows, const std::string& message) {
    const std::string out = folder_->write("kept.csv", "what was there\n");
    expect_refused(predict(folder_->write("bad.csv", rows), out), message);
    EXPECT_EQ(read_file(out), "what was there\n");
  }

  static inline const TemporaryFolder* folder_ = nullptr;
};

TEST_F(Predict, KnowsItsFormatByTheEnding) {
  expect_refused(predict(*folder_ / "good.csv", *folder_ / "out.txt"),
                 "out.txt: its ending is none of .csv and .jsonl; give it one, or --format csv or jsonl");
  EXPECT_EQ(predict(*folder_ / "good.csv", *folder_ / "out.txt", {"--format", "csv"}).exit_code, 0);
  expect_refused(predict(*folder_ / "good.csv", *folder_ / "out.csv", {"--format", "xml"}), "--format: xml not in");
}

TEST_F(Predict, NeedsAPlaceToWriteTo) {
  expect_refused(predict(*folder_ / "good.csv", *folder_ / "none/out.csv"),
                 "none/out.csv: cannot be written: No such file or directory");
  expect_refused(predict(*folder_ / "good.csv", folder_->path(), {"--format", "csv"}), "cannot be written");
}

TEST_F(Predict, NamesRowsThatTheTrainingCouldNotHaveHad) {
  expect_refused_rows("a,colour\n1,red\n2,green\n",
                      "bad.csv:3: `green` is no category of column `colour` that was there in training; there were 2");
  expect_refused_rows("a,colour\n1,red\nfour,blue\n",
                      "bad.csv: column `a` held numbers in training, and here `four` (");
  expect_refused_rows("a,shade\n1,red\n", "no column `colour`; the columns are `a`, `shade`");
  expect_refused_rows("a,colour\n1,red\n,blue\n", "bad.csv:3: column `a` lacks a value");
  expect_refused(predict(*folder_ / "absent.csv", *folder_ / "out.csv"), "absent.csv");
}

TEST_F(Predict, NeedsDataThatSaysWhatItLearned) {
  const std::string saved = *folder_ / "made.safetensors";
  ASSERT_EQ(run_baleen({"run", *folder_ / "job.lua", "--save", saved, "--", "--made", "true"}).exit_code, 0);
  const ProcessResult result = run_baleen({"predict", *folder_ / "job.lua", "--load", saved, "--data",
                                           *folder_ / "good.csv", "--out", *folder_ / "o.csv", "--", "--made", "true"});
  expect_refused(result, "data `synthetic` cannot read `" + (*folder_ / "good.csv") +
                             "` in place of its own rows: it does not offer baleen.data.learned/1");
}

TEST_F(Predict, NeedsTheDataThatTheModelWasTrainedOn) {
  const std::string text =
      folder_->write("text.lua",
                     "local baleen = require 'baleen'\n"
                     "local data = baleen.data.text { path = 'good.csv', context = 4, held_out = 0 }\n"
                     "return baleen.job { model = baleen.nn.embedding { name = 'l', vocab = 256, dim = 256 },\n"
                     "  loss = baleen.nn.cross_entropy {}, data = data, batch = 1, steps = 1,\n"
                     "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  expect_refused(
      run_baleen({"predict", text, "--load", file(), "--data", *folder_ / "good.csv", "--out", *folder_ / "o.csv"}),
      "text.lua:3: the job's data is `text`, and what is loaded was trained on `table`");
}

TEST_F(Predict, TellsThatTheDiskIsFull) {
  const std::string two = folder_->write("two.toml", manifest_of({{"data", 2}}, ""));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--manifest", two}}) {
    std::vector<std::string> words{"--format", "csv"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(predict(*folder_ / "good.csv", "/dev/full", words),
                   "/dev/full: cannot be written: No space left on device");
  }
}

/// A class that is named for NaN would look as sure as any other.
TEST_F(Predict, NamesTheRowWhoseNumbersAreNotFinite) {
  const std::string good = read_file(file());
  set_to_nan(file(), "l.bias");
  const std::string out = *folder_ / "none.csv";
  const ProcessResult result = predict(*folder_ / "good.csv", out);
  std::ofstream(file(), std::ios::binary) << good;
  expect_refusal(
      result, {.exit_code = 6, .after_others = true, .parts = {"good.csv: row 1: the model gives NaN for `logits`"}});
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Predict, LeavesNothingBeside) {
  EXPECT_EQ(predict(*folder_ / "good.csv", *folder_ / "beside.csv").exit_code, 0);
  struct stat written = {};
  ASSERT_EQ(stat((*folder_ / "beside.csv").c_str(), &written), 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder_->path()))
    EXPECT_EQ(entry.path().filename().string().find("partial"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace baleen::test
