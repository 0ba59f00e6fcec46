/// \file However a save is broken off, the checkpoint before it or the new one loads and the run goes on to the same
/// end.
#include <cerrno>
#include <filesystem>
#include <set>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "support/seed.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

/// The calls of a run are shared out among so many cases, of which a landing runs one.
constexpr int kParts = 6;

struct Saves : testing::TestWithParam<std::tuple<int, int>> {
  const int ranks = std::get<0>(GetParam()), part = std::get<1>(GetParam());
  TemporaryFolder folder;
  const std::string kept = folder / "checkpoints";

  /// Four saves in twelve steps, of which the last two stay.
  ProcessResult train(const std::string& calls, const std::vector<std::string>& more = {}) const {
    ProcessOptions options;
    options.environment = {"LD_PRELOAD=" + std::string(FAILING_CALLS), "BALEEN_TEST_CALLS=" + calls};
    std::vector<std::string> words{
        "run", source_dir() + "/tests/parity/checkpoint/model.lua", "--manifest", source(), "--resume", "auto"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
    return run_baleen(words, options);
  }
  std::string source() const {
    const SplitWork split{"", ranks > 1 ? MeshAxes{{"data", ranks}} : MeshAxes{}};
    return folder.write("ranks.toml", "[checkpoint]\n" + in_folder(kept) + "every = 3\nkeep = 2\n" + split.manifest());
  }
  std::string at(const std::string& what, long n) const { return kept + ":" + what + ":" + std::to_string(n) + ":"; }

  /// Which calls this case breaks: with one rank each is broken by some case, with several a quarter, other ones each
  /// time.
  std::vector<long> ours(long calls, int every) const {
    std::vector<long> list;
    const int among = every * (ranks > 1 ? 4 : 1);
    const long turn = static_cast<long>(seed() % static_cast<unsigned>(among));
    for (long n = 1; n <= calls; ++n)
      if (n % kParts == part && n / kParts % among == turn) list.push_back(n);
    return list;
  }
  long calls_of_a_run() {
    EXPECT_EQ(train(at("count", 0)).exit_code, 0);
    const long calls = static_cast<long>(fs::file_size(kept + ".calls"));
    end_ = state_of(kept);
    fs::remove_all(kept);
    return calls / ranks;
  }
  /// Begins anew where nothing was saved yet, or goes on.
  void expect_to_go_on(const std::string& trace) {
    const ProcessResult again = train(at("count", 0));
    ASSERT_EQ(again.exit_code, 0) << trace << again.err;
    EXPECT_EQ(state_of(kept), end_) << trace;
    for (const auto& entry : fs::directory_iterator(kept))
      EXPECT_FALSE(entry.path().filename().string().starts_with(".partial")) << trace << entry.path();
    fs::remove_all(kept);
  }

 private:
  std::string end_;
};

TEST_P(Saves, ThatAreKilledAtAnyCallLoseNothing) {
  const long calls = calls_of_a_run();
  ASSERT_GT(calls, 30);
  for (const long n : ours(calls, 1)) {
    const ProcessResult killed = train(at("kill", n));
    EXPECT_NE(killed.exit_code, 0) << "call " << n;
    expect_to_go_on("killed at call " + std::to_string(n) + " of " + std::to_string(calls) + ": ");
  }
}

TEST_P(Saves, ThatAPowerCutEndsLoseNothing) {
  const long calls = calls_of_a_run();
  for (const long n : ours(calls, 1)) {
    train(at("cut", n));
    expect_to_go_on("cut at call " + std::to_string(n) + " of " + std::to_string(calls) + ": ");
  }
}

/// No space, an error of the disk, a file system that became read-only: told with the path, and what was there stays.
TEST_P(Saves, ThatFailAreToldAndTheRunGoesOn) {
  const long calls = calls_of_a_run();
  for (const int reason : {ENOSPC, EIO, EROFS})
    for (const long n : ours(calls, 4)) {
      const std::string trace = std::string(std::strerror(reason)) + " at call " + std::to_string(n) + ": ";
      const ProcessResult failed = train(at(std::to_string(reason), n));
      if (failed.exit_code != 0) {  // where it was the folder itself, or the last save
        EXPECT_EQ(failed.exit_code, 2) << trace << failed.err;
        EXPECT_NE(failed.err.find(kept), std::string::npos) << trace << failed.err;
      }
      if (failed.err.find("was not saved (") != std::string::npos) {
        EXPECT_NE(failed.err.find(std::strerror(reason)), std::string::npos) << trace << failed.err;
      }
      expect_to_go_on(trace);
    }
}
INSTANTIATE_TEST_SUITE_P(Of, Saves, testing::Combine(testing::Values(1, 2), testing::Range(0, kParts)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "Ranks" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace baleen::test
