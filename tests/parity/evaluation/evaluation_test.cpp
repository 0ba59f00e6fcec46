/// \file Held-out losses and metrics against a forward pass of the test's own, over the parameters that a run saves:
/// which batches count, how, and the same on any number of ranks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "parity/parity_run.hpp"
#include "support/run_log.hpp"
#include "support/saved_tensors.hpp"

namespace baleen::test {
namespace {

constexpr std::size_t kContext = 12, kBatch = 8, kVocabulary = 256, kWidth = 8;
constexpr int kIgnored = 101;  // the letter e
/// 83 windows of 12 bytes and the byte behind: ten batches, and three rows that fill none.
constexpr std::size_t kRows = 83, kBytes = kRows * kContext + 5, kBatches = 10;

struct Means {
  double loss = 0, accuracy = 0;
};

/// -log softmax(head(table[previous]))[next], over the windows of `batches` batches (0: of all rows), each byte of
/// which counts but `e`.
Means means_of(const std::map<std::string, std::vector<double>>& tensors, const std::string& text,
               std::size_t batches) {
  const std::vector<double>&table = tensors.at("table.weight"), &head = tensors.at("head.weight");
  double loss = 0, right = 0, count = 0;
  for (std::size_t b = 0; b < std::max<std::size_t>(batches, 1); ++b) {
    const std::size_t first = batches == 0 ? 0 : (b * kBatches / batches) * kBatch * kContext;  // spread over the part
    for (std::size_t i = first; i < first + (batches == 0 ? kRows : kBatch) * kContext; ++i) {
      const auto previous = static_cast<unsigned char>(text[i]), next = static_cast<unsigned char>(text[i + 1]);
      if (next == kIgnored) continue;
      std::vector<double> logits(kVocabulary);
      for (std::size_t k = 0; k < kWidth; ++k)
        for (std::size_t c = 0; c < kVocabulary; ++c)
          logits[c] += table[previous * kWidth + k] * head[k * kVocabulary + c];
      double sum = 0;
      for (const double logit : logits) sum += std::exp(logit);
      loss += std::log(sum) - logits[next];
      right += std::max_element(logits.begin(), logits.end()) - logits.begin() == next;
      count += 1;
    }
  }
  return {loss / count, right / count};
}

struct Case {
  std::string name;
  int ranks;
  std::string plan;
  std::size_t batches;
  std::vector<std::string> arguments = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Evaluation : public ::testing::TestWithParam<Case> {};

TEST_P(Evaluation, IsTheMeanOverTheRowsThatCount) {
  const Case& c = GetParam();
  const std::string manifest = manifest_of({{"data", c.ranks}}, c.plan);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder folder;
  const std::string text = read_file(source_dir() + "/tests/golden/whales.txt").substr(0, kBytes);
  const std::string log = folder / "log.jsonl", saved = folder / "p.safetensors";
  std::vector<std::string> arguments{"data=" + source_dir() + "/tests/golden/whales.txt",
                                     "held_out=" + folder.write("held_out.txt", text),
                                     "batches=" + std::to_string(c.batches)};
  arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
  const ProcessResult result = run_parity({"run", "--dtype", "fp64", "--log-json", log, "--save", saved},
                                          "evaluation/bigram", manifest, arguments);
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::vector<nlohmann::json> evaluations = records_in(read_file(log), "evaluate");
  ASSERT_EQ(evaluations.size(), 2u);
  EXPECT_EQ(evaluations[0].at("step"), 2);
  const Means expected = means_of(saved_tensors(read_file(saved)), text, c.batches);
  EXPECT_NEAR(evaluations[1].at("held_out_loss"), expected.loss, 1e-12 * expected.loss);
  EXPECT_NEAR(evaluations[1].at("held_out_accuracy"), expected.accuracy, 1e-12);
  EXPECT_LT(expected.loss, std::log(256.0) - 0.3) << "nothing was learnt";
  EXPECT_GT(evaluations[0].at("held_out_loss"), expected.loss + 0.1) << "the model went on learning";
}

const std::string kData = "[[plan]]\nstrategy = \"data\"\n", kZero = "[[plan]]\nstrategy = \"zero\"\nstage = 3\n";

INSTANTIATE_TEST_SUITE_P(Ranks, Evaluation,
                         ::testing::Values(Case{"One", 1, "", 0}, Case{"OneOfThreeBatches", 1, "", 3},
                                           Case{"OneOfAllWholeBatches", 1, "", 10},
                                           Case{"OneOfMicroBatches", 1, "", 4, {"accumulate=2"}},
                                           Case{"Three", 3, kData, 0},
                                           Case{"TwoOfShortBatches", 2, kZero, 0, {"accumulate=2"}},
                                           Case{"ThreeOfThreeBatches", 3, kData, 3},
                                           Case{"TwoOfMicroBatches", 2, kZero, 7, {"accumulate=2"}}),
                         [](const auto& info) { return info.param.name; });

/// The loss on `arguments`' rows, and all notes.
std::pair<double, std::string> evaluated(int ranks, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  const ProcessResult result = run_parity({"run", "--dtype", "fp64", "--log-json", log}, "evaluation/statistic",
                                          manifest_of({{"data", ranks}}, ranks == 1 ? "" : kData), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  std::string notes;
  for (const nlohmann::json& note : records_in(read_file(log), "note")) notes += note.dump() + "\n";
  const std::vector<nlohmann::json> evaluations = records_in(read_file(log), "evaluate");
  return {evaluations.empty() ? NAN : evaluations.back().at("held_out_loss").get<double>(), notes};
}

/// What was taken off for the rows that filled a batch up was wrong then: a cross entropy could be below 0.
TEST(EvaluationOfStatistics, LeavesOutRowsThatFillNoBatch) {
  for (const int ranks : {1, 2}) {
    const auto [loss, notes] = evaluated(ranks, {"held_out=11"});
    const auto [whole, none] = evaluated(ranks, {"held_out=11", "batches=1"});
    EXPECT_NEAR(loss, whole, 1e-12) << ranks;
    EXPECT_NE(notes.find("3 of 11 held-out rows fill no batch of 8: these are left out of it"), std::string::npos)
        << notes;
    EXPECT_EQ(none, "");
    const auto [filled, told] = evaluated(ranks, {"held_out=3"});
    EXPECT_GT(filled, 0.1);
    EXPECT_NE(told.find("the last one counts for those that are missing"), std::string::npos) << told;
    const auto [apart, nothing] = evaluated(ranks, {"held_out=11", "apart=true"});
    EXPECT_NE(apart, evaluated(ranks, {"held_out=11", "apart=true", "batches=1"}).first);
    EXPECT_EQ(nothing, "") << "these add up";
  }
}

}  // namespace
}  // namespace baleen::test
