/// \file Full disks: what was saved before stays whole and nothing lies beside it; logs, traces, printed lines and
/// caches that cannot be written cost no training. The exit code tells of what is missing.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "parity/parity_run.hpp"
#include "support/losses.hpp"
#include "support/refusal.hpp"
#include "support/small_disk.hpp"

namespace baleen::test {
namespace {

constexpr int kBadInput = 2;

class FullDisk : public testing::Test {
 protected:
  static std::vector<std::string> words(std::vector<std::string> more, const std::string& size = "dim=24") {
    std::vector<std::string> all{"run", source_dir() + "/tests/parity/gpt.lua"};
    if (std::ranges::count(more, "--steps") == 0) more.insert(more.end(), {"--steps", "4"});
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt", "--" + size, "--layers=1"});
    return all;
  }
  static ProcessResult run(std::vector<std::string> more, const std::string& size = "dim=24") {
    return run_baleen(words(std::move(more), size));
  }
  std::vector<std::string> files_in(const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// The run goes on to its end; what was not written is said when it happens, and is the run's error at its end.
  static void expect_told(const ProcessResult& result, const std::string& monitor, const std::string& says) {
    EXPECT_EQ(result.exit_code, kBadInput) << result.err;
    const std::string failure = "monitor `" + monitor + "`: " + says + ": No space left on device";
    const std::string warning = "warning: monitor `" + monitor + "` failed and is told nothing more: " + failure + "\n";
    EXPECT_TRUE(result.err.starts_with(warning + "error: ")) << result.err;  // of several ranks which one, and when
    EXPECT_TRUE(result.err.ends_with(failure + "; the run itself is complete, what it saved is good\n")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  }
  static ProcessResult run_to(const std::string& output, std::vector<std::string> more) {
    std::string command = "exec '" + build_dir() + "/bin/baleen'";
    for (const std::string& word : words(std::move(more))) command += " '" + word + "'";
    return run_process({"bash", "-c", command + " " + output});
  }
  const TemporaryFolder folder_;
};

TEST_F(FullDisk, KeepsTheModelThatWasSavedBefore) {
  const SmallDisk disk(folder_ / "disk", "256k");
  if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string model = folder_ / "disk/model.safetensors";
  ASSERT_EQ(run({"--save", model}).exit_code, 0);
  const std::string before = read_file(model);
  ASSERT_GT(before.size(), 10'000u);
  const ProcessResult full = run({"--save", model}, "dim=96");
  EXPECT_EQ(full.exit_code, kBadInput) << full.out;
  EXPECT_NE(full.err.find(model + ": cannot be saved to: "), std::string::npos) << full.err;
  EXPECT_NE(full.err.find(" bytes are free in `" + (folder_ / "disk") + "`; make room"), std::string::npos) << full.err;
  EXPECT_EQ(full.out, "") << "nothing has been trained";
  EXPECT_EQ(read_file(model), before);
  EXPECT_EQ(files_in(folder_ / "disk"), std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(run({"--load", model}).exit_code, 0) << "what was saved before is good";
}
/// Two ranks: one writes, and its failure is the job's.
TEST_F(FullDisk, KeepsTheModelOfSeveralRanks) {
  const SmallDisk disk(folder_ / "disk", "256k");
  if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string model = folder_ / "disk/model.safetensors";
  const ProcessResult full = run({"--save", model, "--set", "mesh.data=2"}, "dim=96");
  EXPECT_EQ(full.exit_code, kBadInput) << full.out;
  EXPECT_NE(full.err.find(" bytes are free in `"), std::string::npos) << full.err;
  EXPECT_TRUE(files_in(folder_ / "disk").empty());
}
TEST_F(FullDisk, IsToldBeforeAStepWhereCheckpointsHaveNoRoom) {
  const SmallDisk disk(folder_ / "disk", "1m");
  if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string key = "checkpoint={ folder = '" + (folder_ / "disk/c") + "', every = 2 }";
  ASSERT_EQ(run({"--set", key}).exit_code, 0);
  for (const std::string ranks : {"1", "2"}) {
    const ProcessResult full = run({"--set", key, "--set", "mesh.data=" + ranks}, "dim=192");
    EXPECT_EQ(full.exit_code, kBadInput) << full.out;
    EXPECT_NE(full.err.find(" bytes of parameters and states are to be written, and "), std::string::npos) << full.err;
    EXPECT_EQ(full.out.find("step 1/"), std::string::npos) << "nothing has been trained";
  }
}
/// A limit of the shell's is a failure of the write too, not a signal that ends the process.
TEST_F(FullDisk, KeepsTheModelBeyondALimit) {
  const std::string model = folder_ / "model.safetensors";
  ASSERT_EQ(run({"--save", model}).exit_code, 0);
  const std::string before = read_file(model);
  std::string command = "ulimit -f 32; exec '" + build_dir() + "/bin/baleen'";
  for (const std::string& word : words({"--save", model}, "dim=96")) command += " '" + word + "'";
  const ProcessResult full = run_process({"bash", "-c", command});
  EXPECT_EQ(full.exit_code, kBadInput) << full.err;
  EXPECT_NE(full.err.find(" bytes: File too large"), std::string::npos) << full.err;
  EXPECT_EQ(read_file(model), before);
  EXPECT_EQ(files_in(folder_.path()), std::vector<std::string>{"model.safetensors"});
}
/// What can be known before the first step is said before it.
TEST_F(FullDisk, IsNotTheOnlyReasonWhyAModelCannotBeSaved) {
  const auto refused = [&](const std::string& path, const std::string& says) {
    for (const std::string ranks : {"1", "2"}) {
      SCOPED_TRACE(path);
      expect_refusal(run({"--save", path, "--set", "mesh.data=" + ranks}),
                     {.exit_code = kBadInput, .after_others = true, .parts = {says}, .before = Before::kNothing});
    }
  };
  const std::string missing = folder_ / "missing";
  refused(missing + "/model.safetensors", "there is no folder `" + missing + "`");
  refused(folder_.path(), "unknown ending of a checkpoint file");
  refused("/dev/full", "unknown ending of a checkpoint file");
  std::filesystem::create_directories(folder_ / "taken.safetensors");
  refused(folder_ / "taken.safetensors", "it is a folder");
}
TEST_F(FullDisk, EndsTheLogNotTheTraining) {
  for (const std::string ranks : {"1", "2"}) {
    const ProcessResult result = run({"--log-json", "/dev/full", "--set", "mesh.data=" + ranks});
    expect_told(result, "jsonl", "/dev/full: cannot write");
    EXPECT_NE(result.out.find("finished 4/4 steps"), std::string::npos) << result.out;
  }
}
/// As long as a reader may take to start, and no longer.
TEST_F(FullDisk, IsNoPipeThatNobodyReads) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string option : {"--log-json", "--trace"}) {
    const ProcessResult result = run({option, pipe});
    EXPECT_EQ(result.exit_code, kBadInput) << option;
    EXPECT_NE(result.err.find(pipe + ": nobody reads this pipe; start its reader first, or name a file"),
              std::string::npos)
        << result.err;
  }
  const ProcessResult read = run_to("& sleep 0.3; cat '" + pipe + "'", {"--log-json", pipe});
  EXPECT_NE(read.out.find("\"kind\":\"finish\""), std::string::npos) << read.out << read.err;
}
/// A log that breaks off ends with a whole record.
TEST_F(FullDisk, LeavesWholeRecordsOfTheLog) {
  const SmallDisk disk(folder_ / "disk", "4k");
  if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string log = folder_ / "disk/log.jsonl";
  expect_told(run({"--log-json", log, "--steps", "40"}), "jsonl", log + ": cannot write");
  const std::string text = read_file(log);
  ASSERT_FALSE(text.empty());
  EXPECT_TRUE(text.ends_with("}\n")) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}
TEST_F(FullDisk, BehindStandardOutputIsTold) {
  const std::string model = folder_ / "model.safetensors";
  for (const std::string ranks : {"1", "2"}) {
    expect_told(run_to("> /dev/full", {"--save", model, "--set", "mesh.data=" + ranks}), "console",
                "cannot write to standard output");
    EXPECT_TRUE(std::filesystem::remove(model)) << "it was trained and saved";
  }
}
/// Commands that only print have failed then, on one rank and on several.
TEST_F(FullDisk, BehindStandardOutputFailsWhatOnlyPrints) {
  const std::string script = folder_.write(
      "train.lua",
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } },\n"
      "  held_out = 0 }\nprint('read')\n"
      "return baleen.job { model = nn.linear { out = points.classes }, data = points, batch = 4, steps = 2,\n"
      "  loss = nn.cross_entropy {}, optimizer = baleen.optimizer('sgd') }\n");
  const std::string bench = "bench transport --set mesh.data=2 --seconds 0.001 --to 16";
  for (const std::string& command : {std::string("plugins"), std::string("plugins --json"), std::string("run --help"),
                                     "graph " + script, "plan " + script, "plan --json " + script, "verify " + script,
                                     "verify --set mesh.data=2 " + script, bench, bench + " --json"}) {
    const auto with = [&](const std::string& output) {
      return run_process({"bash", "-c", "'" + build_dir() + "/bin/baleen' " + command + " " + output});
    };
    const auto expect_failed = [&](const ProcessResult& result, const std::string& reason) {
      EXPECT_EQ(result.exit_code, kBadInput) << command;
      EXPECT_TRUE(result.err.starts_with("error: ")) << command << ": " << result.err;
      const std::string lost = "standard output did not take all that was printed";
      // Where it is printed in parts, the reason may belong to an earlier one.
      EXPECT_TRUE(result.err.ends_with(lost + ": " + reason + "\n") ||
                  (command == "plugins" && result.err.ends_with(lost + "\n")))
          << command << ": " << result.err;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << command << ": " << result.err;
    };
    expect_failed(with("> /dev/full"), "No space left on device");
    expect_failed(with(">&-"), "Bad file descriptor");
    EXPECT_EQ(with("| true").err, "") << command;
  }
}
/// No file that is opened later becomes standard output.
TEST_F(FullDisk, IsNoWorseThanAClosedOutput) {
  const std::string log = folder_ / "log.jsonl", model = folder_ / "model.safetensors";
  const ProcessResult result = run_to(">&-", {"--log-json", log, "--save", model});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_NE(result.err.find("cannot write to standard output: Bad file descriptor"), std::string::npos) << result.err;
  EXPECT_EQ(losses_in(log).size(), 4u);
  EXPECT_TRUE(std::filesystem::exists(model));
}
/// Who reads no further (`| head -1`) has what they wanted.
TEST_F(FullDisk, IsMoreThanAReaderWhoLeaves) {
  const ProcessResult result = run_to("| head -1; exit ${PIPESTATUS[0]}", {"--set", "mesh.data=2"});
  EXPECT_EQ(result.err, "");
}
TEST_F(FullDisk, EndsTheTraceNotTheTraining) {
  expect_told(run({"--trace", "/dev/full"}), "trace", "/dev/full: cannot write");
}
/// Losses are those of a log that was written in full.
TEST_F(FullDisk, ChangesNoNumber) {
  ASSERT_EQ(run({"--log-json", folder_ / "log.jsonl"}).exit_code, 0);
  const ProcessResult both = run({"--trace", "/dev/full", "--log-json", folder_ / "other.jsonl"});
  ASSERT_EQ(both.exit_code, kBadInput);
  const Losses losses = losses_in(folder_ / "log.jsonl");
  EXPECT_EQ(losses.size(), 4u);
  EXPECT_EQ(losses_in(folder_ / "other.jsonl"), losses);
}
#if EMULATES_CUDA
/// Kernels are compiled again in each run, and that is all; no part of one is left for others to load.
TEST_F(FullDisk, OfTheKernelCacheCostsOnlyTime) {
  const SmallDisk disk(folder_ / "disk", "4k");
  if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string script = folder_.write(
      "train.lua",  // of few kernels
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal rows = {}\n"
      "for i = 1, 20 do rows[i] = { i % 7, i % 5, i % 2 } end\nlocal points = baleen.data.table { rows = rows }\n"
      "return baleen.job { model = nn.linear { out = points.classes }, loss = nn.cross_entropy {}, data = points,\n"
      "  batch = 4, steps = 4, optimizer = baleen.optimizer('sgd') }\n");
  const auto losses = [&](const std::string& cache) {
    const std::string log = folder_ / "log.jsonl";
    const std::string manifest = folder_.write("gpu.toml", "[compute]\nplugin = \"cuda\"\nlibraries = [\"" +
                                                               emulated_folder() + "\"]\ncache = \"" + cache + "\"\n");
    const ProcessResult result = run_baleen({"run", script, "--manifest", manifest, "--log-json", log});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return losses_in(log);
  };
  const Losses wanted = losses(folder_ / "kernels");
  EXPECT_FALSE(files_in(folder_ / "kernels").empty()) << "where there is room they are kept";
  EXPECT_EQ(wanted.size(), 4u);
  EXPECT_EQ(losses(folder_ / "disk"), wanted);
  EXPECT_TRUE(files_in(folder_ / "disk").empty());
  EXPECT_EQ(losses(folder_ / "disk"), wanted) << "with what the first run left";
}
#endif

}  // namespace
}  // namespace baleen::test
