/// \file Runs of this folder's model on rows that the test makes, and how they are split.
#pragma once
#include "parity/parity_run.hpp"
#include "support/saved_tensors.hpp"

namespace baleen::test {

/// Where ranks are and how they split the work.
struct TrainedSplit {
  friend void PrintTo(const TrainedSplit& split, std::ostream* out) { *out << split.name; }
  std::string name;
  MeshAxes axes;  ///< none: one rank
  std::string plan;

  std::string manifest() const { return axes.empty() ? "" : manifest_of(axes, plan); }
};

inline std::vector<TrainedSplit> trained_splits() {
  const std::string data = "[[plan]]\nstrategy = \"data\"\n", tensor = "[[plan]]\nstrategy = \"tensor\"\n";
  const auto zero = [](int stage) { return "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n"; };
  return {{"one", {}, ""},
          {"data2", {{"data", 2}}, data},
          {"zero1_2", {{"data", 2}}, zero(1)},
          {"zero2_2", {{"data", 2}}, zero(2)},
          {"zero3_4", {{"data", 4}}, zero(3)},
          {"tensor2", {{"tensor", 2}}, tensor},
          {"zero3_tensor_4", {{"data", 2}, {"tensor", 2}}, zero(3) + tensor}};
}

/// Three classes of flowers, say: 101 rows `a,b,kind` (or `a,b,size` with numbers around 1000) from row `from` on.
inline std::string table_text(const std::string& task, int rows = 101, int from = 0) {
  std::string text = task == "classify" ? "a,b,kind\n" : "a,b,size\n";
  const char* const kinds[] = {"rose", "aster", "lily"};
  for (int i = from; i < from + rows; ++i) {
    const double a = (i * 37 % 101) / 10.0, b = 100 + (i * 53 % 97);
    const int kind = a < 3 ? 0 : b < 150 ? 1 : 2;
    text += std::to_string(a) + "," + std::to_string(b) + ",";
    text += task == "classify" ? kinds[kind] : std::to_string(1000 + 20 * a - b);
    text += "\n";
  }
  return text;
}

/// `baleen COMMAND model.lua` in fp64; `words` are the command's, `own` the script's.
inline ProcessResult run_trained(const std::string& command, std::vector<std::string> words, const TrainedSplit& split,
                                 const std::vector<std::string>& own) {
  const TemporaryFolder folder;
  words.insert(words.begin(), {command, source_dir() + "/tests/parity/trained/model.lua", "--dtype", "fp64"});
  if (!split.axes.empty()) words.insert(words.end(), {"--manifest", folder.write("ranks.toml", split.manifest())});
  words.emplace_back("--");
  words.insert(words.end(), own.begin(), own.end());
  ProcessOptions options;
  options.limit = std::chrono::minutes(2);
  return run_baleen(words, options);
}

}  // namespace baleen::test
