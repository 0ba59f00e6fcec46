/// \file A program outside the tree, built against the installed engine, trains what `baleen run` trains.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "support/compiler_cache.hpp"
#include "support/losses.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

/// Two classes of points, by whether a line divides them; the script makes its rows.
constexpr const char* kScript = R"(
local baleen = require "baleen"
local nn = baleen.nn
local rows = {}
for i = 1, 200 do
  local x, y = math.random() - 0.5, math.random() - 0.5
  rows[i] = { x, y, x + 2 * y > 0.1 and 1 or 0 }
end
local points = baleen.data.table { rows = rows, held_out = 0.2 }
local model = nn.sequential {
  nn.linear { out = baleen.arg("width", 8), init = baleen.init.fan_in(2) }, nn.tanh {},
  nn.linear { out = points.classes, init = baleen.init.fan_in(2) },
}
print("hello")
return baleen.job {
  model = model, loss = nn.cross_entropy {}, data = points, batch = 20, steps = 12, seed = 3,
  optimizer = baleen.optimizer("adamw", { lr = 0.05 }),
  programs = {
    classify = {
      inputs = { points = { shape = { 3, 2 }, axes = { "batch", "" } } },
      run = function(inputs) return { classes = model(inputs.points) } end,
    },
  },
}
)";

class EmbeddedEngine : public testing::Test {
 protected:
  static ProcessResult run(const std::vector<std::string>& command, const std::vector<std::string>& environment = {}) {
    ProcessOptions options;
    options.environment = environment;
    options.limit = std::chrono::minutes(5);
    return run_process(command, options);
  }
  static void succeed(const std::vector<std::string>& command, const std::vector<std::string>& environment = {}) {
    const ProcessResult result = run(command, environment);
    ASSERT_EQ(result.exit_code, 0) << command[0] << " " << command[1] << "\n" << result.out << result.err;
  }
  /// Engine, SDK, plugins and Lua library in a prefix of their own, and the program built against it.
  void build() const {
    for (const std::string component : {"sdk", "engine", "plugins", "runtime"})
      succeed({"cmake", "--install", build_dir(), "--component", component, "--prefix", prefix_});
    const std::string source = folder_ / "project";  // where the compiler cache finds it again
    std::filesystem::copy(source_dir() + "/tests/interop/engine/project", source);
    const std::vector<std::string> cache = compiler_cache(folder_.path());
    succeed({"cmake", "-S", source, "-B", build_, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_PREFIX_PATH=" + prefix_,
             "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror", "-DTEMPLATE=" + source_dir() + "/sdk/template"},
            cache);
    succeed({"cmake", "--build", build_}, cache);
  }
  /// The words behind each line that begins with `word`.
  static std::vector<std::string> lines(const std::string& text, const std::string& word) {
    std::vector<std::string> found;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);)
      if (line.starts_with(word + " ")) found.push_back(line.substr(word.size() + 1));
    return found;
  }

  /// Of a checkpoint, without the header, which says when and how it was made.
  static std::string tensors_in(const std::string& file) {
    const std::string bytes = read_file(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    return bytes.substr(sizeof header + header);
  }

  const TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "prefix", build_ = folder_ / "build";
};

TEST_F(EmbeddedEngine, TrainsInferrsAndSavesAsTheProgramDoes) {
  build();
  ASSERT_FALSE(HasFatalFailure());
  const std::string script = folder_.write("train.lua", kScript), log = folder_ / "log.jsonl";
  const std::string two = folder_.write("two.toml",
                                        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 2 }]\n"
                                        "[mesh]\ndata = 2\n");
  const std::string saved = folder_ / "engine.safetensors", wanted = folder_ / "run.safetensors";
  const ProcessResult own = run({build_ + "/embedder", script, two, saved});
  ASSERT_EQ(own.exit_code, 0) << own.out << own.err;
  EXPECT_EQ(own.err, "") << "what a library writes to the terminal is its user's to decide";

  const ProcessResult trained = run_baleen(
      {"run", script, "--log-json", log, "--save", wanted, "--set", "compute.threads=1", "--", "--width", "16"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  const Losses expected = losses_in(log);
  const std::vector<std::string> losses = lines(own.out, "loss");
  ASSERT_EQ(losses.size(), 12u) << own.out;
  ASSERT_EQ(expected.size(), 12u);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(std::stod(losses[i]), std::stod(expected[i])) << i;
  EXPECT_EQ(tensors_in(saved), tensors_in(wanted)) << "the same parameters, bit for bit";

  EXPECT_EQ(lines(own.out, "resumed"), std::vector<std::string>{"after 7"});
  EXPECT_EQ(tensors_in(saved + ".resumed.safetensors"), tensors_in(wanted)) << "the same bits after a resume";

  EXPECT_EQ(lines(own.out, "job"), std::vector<std::string>{"12 steps, batch 20, said hello"});
  EXPECT_EQ(lines(own.out, "program"), std::vector<std::string>{"classify: points -> classes"});
  EXPECT_EQ(lines(own.out, "plan"), std::vector<std::string>{"fits 1, json {, text 1"});
  EXPECT_EQ(lines(own.out, "before"), std::vector<std::string>{"equal 0, written equal 1"});
  EXPECT_EQ(lines(own.out, "loaded"), std::vector<std::string>{"equal 1"});
  EXPECT_EQ(lines(own.out, "alone"),
            std::vector<std::string>{"this session has the job's programs alone: it cannot train"});
  EXPECT_EQ(lines(own.out, "two"), std::vector<std::string>{"ranks fit 1"});
  EXPECT_EQ(
      lines(own.out, "refused"),
      (std::vector<std::string>{
          // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one line of what is printed
          "checkpoint: this run saves no checkpoints; give the job `checkpoint = { ... }`, or the manifest "
          "[checkpoint]",
          "program: unknown program `clasify`; did you mean `classify`?",
          "input: input `points` of program `classify` is missing; it is fp32 [3, 2]",
          "parameter: unknown parameter `nothing`; known: `linear.weight`, `linear.bias`, `linear_2.weight`, "
          "`linear_2.bias`",
          "closed: the session is closed", "script: nowhere.lua: no such script",
          "ranks: " + two +
              ":2:10: the manifest has 2 ranks, and launcher `local` says that this process is none of them; name "
              "the launcher that knows who starts this program ([launcher]), plan here, or train with `baleen "
              "run`",
          "place: EngineOptions::plugin_paths: /nowhere/plugins: no such file"}));
}

/// Processes that something else starts, as torchrun does: the ranks of `baleen run`.
TEST_F(EmbeddedEngine, TrainsOnRanksThatSomethingElseStarts) {
  build();
  ASSERT_FALSE(HasFatalFailure());
  const std::string script = folder_.write("train.lua", kScript), log = folder_ / "log.jsonl";
  const std::string saved = folder_ / "engine.safetensors", wanted = folder_ / "run.safetensors";
  const std::string told = folder_.write(
      "told.toml", "[launcher]\nplugin = \"environment\"\nfolder = \"jobs\"\nwait = 60\n[mesh]\ndata = 2\n");
  const std::string start =
      "for rank in 0 1; do "
      "JOB=one RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 \"$@\" >\"$0.$rank\" & "
      "processes=\"$processes $!\"; done; for process in $processes; do wait $process || exit 1; done";
  const ProcessResult ranks =
      run({"bash", "-c", start, folder_ / "rank", build_ + "/embedder", script, told, build_, saved});
  const std::string first = read_file(folder_ / "rank.0"), second = read_file(folder_ / "rank.1");
  ASSERT_EQ(ranks.exit_code, 0) << first << second << ranks.err;
  EXPECT_EQ(lines(first, "loss"), lines(second, "loss"));
  EXPECT_EQ(lines(first, "held"), lines(second, "held"));
  EXPECT_EQ(
      lines(first, "refused"),
      std::vector<std::string>{"again: a job of several ranks has one session, and this one has been started; load "
                               "the job again in other processes"});

  const std::string two = folder_.write("two.toml", "[mesh]\ndata = 2\n");
  const ProcessResult trained = run_baleen({"run", script, "-m", two, "--log-json", log, "--save", wanted, "--set",
                                            "compute.threads=1", "--", "--width", "16"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  const Losses expected = losses_in(log);
  const std::vector<std::string> losses = lines(first, "loss");
  ASSERT_EQ(losses.size(), expected.size()) << first;
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(std::stod(losses[i]), std::stod(expected[i])) << i;
  EXPECT_EQ(tensors_in(saved), tensors_in(wanted)) << "the same parameters, bit for bit";
}

/// What the shared library shows is the header's, so that its libraries never meet those of the program it is in.
TEST_F(EmbeddedEngine, ShowsNothingButItsHeader) {
  const ProcessResult result = run({"nm", "-D", "-C", "--defined-only", built("lib/libbaleen_engine.so")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream all(result.out);
  int seen = 0;
  for (std::string line; std::getline(all, line); ++seen)
    EXPECT_NE(line.find(" baleen::engine::"), std::string::npos) << line;
  EXPECT_GT(seen, 20);
}

}  // namespace
}  // namespace baleen::test
