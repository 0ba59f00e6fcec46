/// \file Every call that changes a file of a command's, one after another, fails: it is told with file and reason, the
/// exit code says so, and what was good is still there. Where it is not told, nothing is missing.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "parity/parity_run.hpp"
#include "support/failing_calls.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

constexpr int kBadInput = 2;
constexpr const char* kEarlier = "what was here before";

/// What a command writes.
enum class Kind { model, rows, log, trace, printed, trained };

struct Written {
  const char* name;
  Kind kind;
  std::vector<std::string> words;  ///< SCRIPT, FILE (which it writes), MODEL and DATA stand for paths
  friend void PrintTo(const Written& written, std::ostream* out) { *out << written.name; }
  bool prints() const { return kind == Kind::printed || kind == Kind::trained; }
};

const std::vector<std::string> kTwo = {"--set", "mesh.data=2"};

std::vector<Written> all_written() {
  const std::vector<Written> one = {
      {"save", Kind::model, {"run", "SCRIPT", "--save", "FILE"}},
      {"log", Kind::log, {"run", "SCRIPT", "--log-json", "FILE"}},
      {"trace", Kind::trace, {"run", "SCRIPT", "--trace", "FILE"}},
      {"predict", Kind::rows, {"predict", "SCRIPT", "--load", "MODEL", "--data", "DATA", "--out", "FILE"}},
      {"run", Kind::trained, {"run", "SCRIPT", "--profile", "--trace", "/dev/null"}},
      {"verify", Kind::printed, {"verify", "SCRIPT"}},
      {"plan", Kind::printed, {"plan", "SCRIPT"}},
      {"evaluate", Kind::printed, {"evaluate", "SCRIPT", "--load", "MODEL"}},
  };
  std::vector<Written> all = one;
  for (const Written& each : one) {
    all.push_back({each.name, each.kind, each.words});
    all.back().words.insert(all.back().words.end(), kTwo.begin(), kTwo.end());
  }
  all.push_back({"graph", Kind::printed, {"graph", "SCRIPT"}});
  all.push_back({"passes", Kind::printed, {"graph", "SCRIPT", "--print-passes"}});
  all.push_back({"dot", Kind::printed, {"graph", "SCRIPT", "--dot"}});
  return all;
}

/// Whether each record of a log is whole.
bool is_whole_log(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!nlohmann::json::accept(line)) return false;
  return text.empty() || text.ends_with("}\n");
}

/// A trace may lack its bracket; viewers read it all the same.
bool is_whole_trace(const std::string& text) {
  return text.empty() || nlohmann::json::accept(text) || nlohmann::json::accept(text + "]");
}

class FailingWrites : public testing::TestWithParam<std::tuple<Written, std::string>> {
 protected:
  void SetUp() override {
    fs::create_directory(disk_);
    folder_.write("job.lua",
                  "local baleen = require 'baleen'\nlocal nn = baleen.nn\nprint('is read')\n"
                  "local points = baleen.data.table { path = '" +
                      data_ +
                      "', label = 'c', held_out = 0.5 }\n"
                      "return baleen.job { model = nn.sequential { nn.linear { out = 8 }, nn.linear { out = 2 } },\n"
                      "  loss = nn.cross_entropy {}, data = points, batch = 4, steps = 3, seed = 7,\n"
                      "  on_step = function(facts) print('at step ' .. facts.step) end,\n"
                      "  optimizer = baleen.optimizer('adamw') }\n");
    std::string rows = "a,b,c\n";
    for (int i = 0; i < 48; ++i)
      rows += std::to_string(i * 7 % 12) + "," + std::to_string(i * 5 % 11) + "," + (i % 3 ? "up" : "down") + "\n";
    folder_.write("rows.csv", rows);
    if (std::ranges::count(written_.words, "MODEL") == 0) return;
    const ProcessResult trained = run_baleen({"run", script_, "--save", model_});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }

  /// Runs the command with `what` at the n-th call.
  ProcessResult run(const std::string& what, std::size_t n) const {
    fs::remove_all(disk_);
    fs::create_directory(disk_);
    std::ofstream(file_) << kEarlier;
    std::string command = written_.prints() ? "exec > '" + file_ + "'; " : "";
    for (const std::string& pair : with_failing_calls(disk_ + ":" + what + ":" + std::to_string(n) + ":").environment)
      command += pair + " ";
    command += "exec '" + build_dir() + "/bin/baleen'";
    for (const std::string& word : written_.words) command += " '" + path_of(word) + "'";
    ProcessOptions options;
    options.folder = elsewhere_;
    return run_process({"bash", "-c", command}, options);
  }
  std::string path_of(const std::string& word) const {
    if (word == "SCRIPT") return script_;
    if (word == "MODEL") return model_;
    if (word == "DATA") return data_;
    return word == "FILE" ? file_ : word;
  }

  /// What was asked for is all there. Of what tells times, as many lines.
  void expect_complete(const std::string& good, const std::string& trace) const {
    const std::string text = read_file(file_);
    if (written_.kind == Kind::model || written_.kind == Kind::rows) {
      EXPECT_TRUE(text == good) << trace;
    } else if (written_.kind != Kind::trace) {
      EXPECT_EQ(std::ranges::count(text, '\n'), std::ranges::count(good, '\n')) << trace << text;
    }
    expect_whole(good, trace);
  }
  /// Nothing is there in part.
  void expect_whole(const std::string& good, const std::string& trace) const {
    const std::string text = read_file(file_);
    const bool was_kept = text == kEarlier;
    switch (written_.kind) {
      case Kind::model:
      case Kind::rows: EXPECT_TRUE(was_kept || text == good) << trace << text.size() << " bytes"; break;
      case Kind::log: EXPECT_TRUE(was_kept || is_whole_log(text)) << trace << text; break;
      case Kind::trace: EXPECT_TRUE(was_kept || is_whole_trace(text)) << trace << text; break;
      default: break;
    }
    if (trace.find("unlink") != std::string::npos) return;  // left behind for the next run, which removes it
    for (const auto& entry : fs::directory_iterator(disk_))
      EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << trace << entry.path();
  }
  /// The reason is said, and which file; what was trained is not lost.
  void expect_told(const ProcessResult& result, int reason, const std::string& trace) const {
    EXPECT_EQ(result.exit_code, kBadInput) << trace << result.err;
    const std::size_t error = result.err.find("error: ");
    ASSERT_NE(error, std::string::npos) << trace << result.err;
    const std::string told = result.err.substr(error);
    EXPECT_NE(told.find(std::strerror(reason)), std::string::npos) << trace << result.err;
    EXPECT_NE(told.find(written_.prints() ? "standard output" : disk_), std::string::npos) << trace << result.err;
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << trace << result.err;
    if (written_.kind == Kind::log || written_.kind == Kind::trace) {
      EXPECT_TRUE(result.out.find("finished 3/3") != std::string::npos || result.out == "is read\n")
          << trace << result.out;
    }
    const bool was_refused = told.find("cannot be saved to") != std::string::npos;  // before the first step
    EXPECT_TRUE(!was_refused || result.out.find("at step") == std::string::npos) << trace << result.out;
    if (written_.kind == Kind::model && !was_refused && read_file(file_) == kEarlier) expect_rescued(result, trace);
    if (written_.kind == Kind::model && read_file(file_) == good_) {  // its folder could not be synced
      EXPECT_NE(told.find("may not survive a power cut"), std::string::npos) << trace << result.err;
      EXPECT_EQ(result.err.find("are saved in"), std::string::npos) << trace << result.err;
    }
  }
  void expect_rescued(const ProcessResult& result, const std::string& trace) const {
    const std::string said = "warning: the parameters after step 3 are saved in ";
    const std::size_t at = result.err.find(said);
    ASSERT_NE(at, std::string::npos) << trace << result.err;
    const std::string path = result.err.substr(at + said.size(), result.err.find('\n', at) - at - said.size());
    EXPECT_TRUE(read_file(path) == good_) << trace << path;
  }

  const Written written_ = std::get<0>(GetParam());
  const std::string how_ = std::get<1>(GetParam());
  const TemporaryFolder folder_, elsewhere_folder_;
  const std::string elsewhere_ = elsewhere_folder_.path();
  const std::string disk_ = folder_ / "disk", script_ = folder_ / "job.lua", data_ = folder_ / "rows.csv",
                    model_ = folder_ / "model.safetensors";
  const std::string file_ = disk_ + (written_.kind == Kind::model  ? "/out.safetensors"
                                     : written_.kind == Kind::rows ? "/out.csv"
                                                                   : "/out.jsonl");
  std::string good_;
};

TEST_P(FailingWrites, LoseNothingGood) {
  const ProcessResult counted = run("count", 0);
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  good_ = read_file(file_);
  std::vector<std::string> calls;  // by their number, in whichever processes they are made
  for (const auto& process : counted_calls(disk_))
    for (std::size_t i = 0; i < process.size(); ++i)
      if (i < calls.size())
        calls[i] += calls[i] == process[i] ? "" : ", " + process[i];
      else
        calls.push_back(process[i]);
  ASSERT_GT(calls.size(), 0u);
  const int reason = how_ == "half" ? ENOSPC : std::stoi(how_);
  for (std::size_t n = 1; n <= calls.size() && !HasFailure(); ++n) {
    const std::string trace = how_ + " at call " + std::to_string(n) + " (" + calls[n - 1] +
                              (how_ == "half" && n < calls.size() ? ", " + calls[n] : "") + "): ";
    const ProcessResult result = run(how_, n);
    if (result.exit_code == 0)
      expect_complete(good_, trace);
    else
      expect_told(result, reason, trace);
    expect_whole(good_, trace);
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Written, std::string>>& info) {
  const auto& [written, how] = info.param;
  const std::string reason = how == "half" ? how : std::string(strerrorname_np(std::stoi(how)));
  return std::string(written.name) + (written.words.back() == kTwo.back() ? "2_" : "_") + reason;
}
INSTANTIATE_TEST_SUITE_P(Of, FailingWrites,
                         testing::Combine(testing::ValuesIn(all_written()),
                                          testing::Values(std::to_string(ENOSPC), std::to_string(EIO),
                                                          std::to_string(EROFS), "half")),
                         name_of);

}  // namespace
}  // namespace baleen::test
