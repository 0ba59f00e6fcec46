/// \file Runs that are broken off at a call that touches the folder of their checkpoints, and that are resumed.
#pragma once
#include <filesystem>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "support/failing_calls.hpp"
#include "support/seed.hpp"

namespace baleen::test {

namespace fs = std::filesystem;

struct InterruptedSaves : testing::TestWithParam<std::tuple<int, int>> {
  const int ranks = std::get<0>(GetParam()), part = std::get<1>(GetParam());
  int parts = 6;  ///< so many cases share out the calls of a run
  TemporaryFolder folder;
  const std::string kept = folder / "disk/checkpoints";  ///< `disk` may be a file system of its own

  InterruptedSaves() { fs::create_directory(folder / "disk"); }

  /// Four saves in twelve steps, of which the last two stay.
  ProcessResult train(const std::string& calls, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{
        "run", source_dir() + "/tests/parity/checkpoint/model.lua", "--manifest", source(), "--resume", "auto"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
    return run_baleen(words, with_failing_calls(calls));
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
      if (n % parts == part && n / parts % among == turn) list.push_back(n);
    return list;
  }
  long calls_of_a_run() {
    EXPECT_EQ(train(at("count", 0)).exit_code, 0);
    long calls = 0;
    for (const auto& process : counted_calls(kept)) calls += std::ssize(process);
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

inline std::string part_name(const testing::TestParamInfo<std::tuple<int, int>>& info) {
  return std::to_string(std::get<0>(info.param)) + "Ranks" + std::to_string(std::get<1>(info.param));
}

}  // namespace baleen::test
