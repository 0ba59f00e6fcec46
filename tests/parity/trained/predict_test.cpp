/// \file `baleen predict` against a forward pass of the test's own, over the parameters and the facts that a run saves:
/// the same rows in the same order, on any number of ranks, one row or many.
#include <cmath>
#include <sstream>

#include "parity/trained/trained_run.hpp"

namespace baleen::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& csv) {
  Rows rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return rows;
}

/// What a run saved beside its tensors about the data.
nlohmann::json facts_in(const std::string& file) {
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  const nlohmann::json entries = nlohmann::json::parse(file.substr(sizeof header, header));
  const nlohmann::json record = nlohmann::json::parse(entries.at("__metadata__").at("data_learned").get<std::string>());
  return nlohmann::json::parse(record.at("facts").get<std::string>());
}

class Predict : public testing::TestWithParam<TrainedSplit> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    for (const std::string task : {"classify", "regress"}) {
      folder_->write(task + ".csv", table_text(task));
      const ProcessResult trained = run_trained(
          "run", {"--save", file(task), "--set", "checkpoint.folder=" + (*folder_ / (task + ".checkpoints"))},
          trained_splits()[0], own(task));
      ASSERT_EQ(trained.exit_code, 0) << trained.err;
      ASSERT_EQ(rename((*folder_ / (task + ".csv")).c_str(), (*folder_ / ("away_" + task + ".csv")).c_str()), 0);
      // Other rows, in other columns, without what is to be predicted.
      std::string text = "b,more,a\n";
      for (const auto& row : expected_rows()) text += row[1] + ",x," + row[0] + "\n";
      folder_->write("rows.csv", text);
      folder_->write("one.csv", "a,b\n" + expected_rows()[5][0] + "," + expected_rows()[5][1] + "\n");
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string file(const std::string& task) { return *folder_ / (task + ".safetensors"); }
  /// The data of the training, which is not there any more.
  static std::vector<std::string> own(const std::string& task) {
    return {"--data", *folder_ / (task + ".csv"), "--task", task};
  }
  static Rows expected_rows() {
    Rows rows = rows_of(table_text("classify", 37, 200));
    rows.erase(rows.begin());
    return rows;
  }
  static std::string predicted(const std::string& task, const std::string& data, const std::string& out,
                               const TrainedSplit& split, const std::string& from) {
    const ProcessResult result =
        run_trained("predict", {"--load", from, "--data", *folder_ / data, "--out", *folder_ / out}, split, own(task));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return read_file(*folder_ / out);
  }
  /// last(tanh(first(features))).
  static std::vector<double> outputs(const std::string& task, const std::vector<std::string>& row) {
    const std::string saved = read_file(file(task));
    const auto tensors = saved_tensors(saved);
    const nlohmann::json facts = facts_in(saved);
    double features[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const nlohmann::json& column = facts.at("features")[i];
      EXPECT_EQ(column.at("name"), i == 0 ? "a" : "b");
      const double mean = column.at("mean"), deviation = column.at("deviation");
      features[i] = static_cast<float>((std::stod(row[i]) - mean) / deviation);
    }
    std::vector<double> inner = tensors.at("first.bias"), result = tensors.at("last.bias");
    for (std::size_t j = 0; j < inner.size(); ++j) {
      for (std::size_t i = 0; i < 2; ++i) inner[j] += features[i] * tensors.at("first.weight")[i * inner.size() + j];
      inner[j] = std::tanh(inner[j]);
      for (std::size_t k = 0; k < result.size(); ++k)
        result[k] += inner[j] * tensors.at("last.weight")[j * result.size() + k];
    }
    return result;
  }

  static inline const TemporaryFolder* folder_ = nullptr;
};

TEST_P(Predict, GivesClassesByTheirLabels) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  for (const std::string& from : {file("classify"), *folder_ / "classify.checkpoints"}) {
    const Rows rows = rows_of(predicted("classify", "rows.csv", "out.csv", GetParam(), from));
    ASSERT_EQ(rows.size(), 38u);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"class", "probability"}));
    const std::string labels[] = {"aster", "lily", "rose"};
    std::size_t right = 0;
    for (std::size_t i = 0; i < 37; ++i) {
      const std::vector<double> logits = outputs("classify", expected_rows()[i]);
      const auto best = std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (const double logit : logits) sum += std::exp(logit - *best);
      EXPECT_EQ(rows[i + 1][0], labels[best - logits.begin()]) << i;
      EXPECT_NEAR(std::stod(rows[i + 1][1]), 1 / sum, 1e-12) << i;
      right += rows[i + 1][0] == expected_rows()[i][2];
    }
    EXPECT_GT(right, 25u) << "nothing was learnt";
  }
}

TEST_P(Predict, GivesNumbersInTheUnitsOfTheData) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const std::string text = predicted("regress", "rows.csv", "out.jsonl", GetParam(), file("regress"));
  std::istringstream lines(text);
  std::size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    const nlohmann::json row = nlohmann::json::parse(line);
    ASSERT_LT(i, 37u);
    ASSERT_EQ(row.size(), 1u) << line;
    EXPECT_NEAR(row.at("prediction"), outputs("regress", expected_rows()[i])[0], 1e-12) << i;
  }
  EXPECT_EQ(i, 37u);
}

TEST_P(Predict, OfOneRowIsThatOfMany) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  for (const std::string task : {"classify", "regress"}) {
    const Rows many = rows_of(predicted(task, "rows.csv", "many.csv", GetParam(), file(task)));
    const Rows one = rows_of(predicted(task, "one.csv", "one_out.csv", GetParam(), file(task)));
    ASSERT_EQ(one.size(), 2u);
    EXPECT_EQ(one[1], many[6]);
  }
}

TEST_F(Predict, EvaluatesOtherRowsAsTheTrainingReadThem) {
  std::string text = "b,kind,a\n";
  double loss = 0;
  const Rows rows = expected_rows();
  const std::map<std::string, std::size_t> classes{{"aster", 0}, {"lily", 1}, {"rose", 2}};
  for (std::size_t i = 0; i < 5; ++i) {
    text += rows[i][1] + "," + rows[i][2] + "," + rows[i][0] + "\n";
    const std::vector<double> logits = outputs("classify", rows[i]);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    loss += (std::log(sum) - logits[classes.at(rows[i][2])]) / 5;
  }
  for (const TrainedSplit& split : {trained_splits()[0], trained_splits()[1]}) {
    const ProcessResult result =
        run_trained("evaluate", {"--load", file("classify"), "--data", folder_->write("five.csv", text), "--json"},
                    split, own("classify"));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json said = nlohmann::json::parse(result.out);
    EXPECT_NEAR(said.at("held_out_loss"), loss, 1e-12);
    EXPECT_EQ(said.at("rows"), 5);
  }
}

TEST_F(Predict, ExportedCheckpointsKnowWhatTheDataMeant) {
  const std::string exported = *folder_ / "exported.safetensors";
  ASSERT_EQ(run_baleen({"checkpoint", "export", *folder_ / "classify.checkpoints", exported}).exit_code, 0);
  EXPECT_EQ(predicted("classify", "rows.csv", "a.csv", trained_splits()[0], exported),
            predicted("classify", "rows.csv", "b.csv", trained_splits()[0], file("classify")));
}

INSTANTIATE_TEST_SUITE_P(Trained, Predict, testing::ValuesIn(trained_splits()),
                         [](const auto& info) { return info.param.name; });

/// A model of letters, used on a text that lacks some of them.
class PredictText : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "abcé xyz ";
    own_ = folder_.write("text.txt", text);
    const ProcessResult trained = run({"run", "--save", file()}, own_);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  std::string file() const { return folder_ / "p.safetensors"; }
  ProcessResult run(std::vector<std::string> words, const std::string& data) const {
    words.insert(words.begin() + 1, {source_dir() + "/tests/parity/trained/letters.lua", "--dtype", "fp64"});
    words.insert(words.end(), {"--", "--data", data});
    return run_baleen(words);
  }

  const TemporaryFolder folder_;
  std::string own_;
};

TEST_F(PredictText, GivesTheLettersThatFollow) {
  const std::string out = folder_ / "out.jsonl", other = folder_.write("other.txt", "xyzxyzxyzxyzxyzxyz");
  const ProcessResult result = run({"predict", "--load", file(), "--data", other, "--out", out}, own_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(read_file(out));
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("text"), "yz yz yz");
  EXPECT_EQ(rows[1].at("text"), " yz yz y");
  EXPECT_EQ(rows[0].at("class").size(), 8u);
  EXPECT_EQ(rows[0].at("class")[0], 5) << "the alphabet is that of the training";
  EXPECT_GT(rows[0].at("probability")[0], 0.5);
}

TEST_F(PredictText, GenerationKnowsTheLettersOfTheTraining) {
  const std::string other = folder_.write("other.txt", "xyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz");
  const std::vector<std::string> words{"generate", "--load", file(),          "--prompt", "a",
                                       "--tokens", "8",      "--temperature", "0"};
  const ProcessResult there = run(words, own_), elsewhere = run(words, other);
  EXPECT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.err;
  EXPECT_EQ(there.out, "abcé xyz \n");
  EXPECT_EQ(elsewhere.out, there.out);
}

}  // namespace
}  // namespace baleen::test
