/// \file What a rank has offloaded cannot be read when it is to be saved: the reason is told, nobody waits, and no file
/// is left that lacks it.
#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "rank_job.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

/// Writes over the beginnings of all files that a process has in this folder; how many there are.
int spoil_files(pid_t process, const std::string& folder) {
  int spoilt = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with(folder + "/")) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    const off_t end = ::lseek(file, 0, SEEK_END);
    const std::string bytes(static_cast<std::size_t>(std::min<off_t>(end, 65'536)), '\xA5');
    spoilt += ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    ::close(file);
  }
  return spoilt;
}

constexpr const char* kShards =
    "plan=[{strategy=\"zero\",stage=3,replicate_below=1},{strategy=\"offload\",parameters=[\"*\"],min_elements=1}]";
constexpr const char* kCopies = "plan=[{strategy=\"data\"},{strategy=\"offload\",parameters=[\"*\"],min_elements=1}]";

struct Loss {
  const char* name;
  const char* plan;
  int rank;  ///< whose files are spoilt
};
void PrintTo(const Loss& loss, std::ostream* out) { *out << loss.name; }

class UnreadablePieces : public testing::TestWithParam<Loss> {
 protected:
  void SetUp() override {
    if (!has_plugin("strategy", "offload") || !has_plugin("offload", "nvme") || !has_plugin("strategy", "zero"))
      GTEST_SKIP() << "no strategy `offload`, no `zero` or no backend `nvme` in this tree";
    std::filesystem::create_directory(folder_ / "swap");
  }
  /// Two ranks, which take so long behind each step that they look for signals there: so many turns of a loop. `more`
  /// is done behind the second.
  std::vector<std::string> command(int steps, const std::string& turns, const std::string& more = {}) const {
    const std::string script =
        script_of_a_layer(folder_, steps,
                          ", on_step = function(facts)\n    if facts.step == 2 then print('there') end\n"
                          "    for i = 1, " +
                              turns + " do end\n    if facts.step == 2 then " + more + " end\n  end");
    std::vector<std::string> words = baleen_run(script, 2);
    words.insert(words.end(),
                 {"--log-level", "warning", "--save", folder_ / "model.safetensors", "--set", "offload.plugin=\"nvme\"",
                  "--set", "offload.path=[\"" + (folder_ / "swap") + "\"]", "--set", GetParam().plan});
    return words;
  }
  /// From the second step on, for what a rank writes later than others too.
  int spoil(const RunningJob& job) const { return spoil_files(find_rank(job, GetParam().rank), folder_ / "swap"); }
  void begin_to_spoil(RunningJob& job) const {
    ASSERT_TRUE(job.prints("there\n")) << job.err();
    ASSERT_GT(spoil(job), 0) << "nothing is there";
  }
  /// The job ends with this code and these lines, of which one gives the reason.
  void expect_told(RunningJob& job, int expected, std::size_t lines) const {
    std::optional<int> code;
    for (int i = 0; i < 300 && !code; ++i) {
      spoil(job);
      code = job.ends(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(code) << "it hangs: " << job.err();
    EXPECT_EQ(code, expected) << job.err();
    EXPECT_NE(job.err().find("rank " + std::to_string(GetParam().rank) + ": get of slot"), std::string::npos)
        << job.err();
    EXPECT_NE(job.err().find("its checksum differs"), std::string::npos) << job.err();
    Lines said = lines_of(job.err());  // a busy machine may be told of, too
    std::erase_if(said, [](const std::string& line) {
      return line.find(" has run for ") != line.npos || line.find("waiting for rank ") != line.npos;
    });
    EXPECT_EQ(said.size(), lines) << job.err();
    EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return job.processes().empty(); })) << "an orphan is left";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().filename().string().find("model"), std::string::npos) << entry.path();
  }
  const TemporaryFolder folder_;
};

TEST_P(UnreadablePieces, AreToldOfAtTheEnd) {
  RunningJob job(command(2, "1.5e8"));
  ASSERT_NO_FATAL_FAILURE(begin_to_spoil(job));
  expect_told(job, 6, 1);
}

TEST_P(UnreadablePieces, AreToldOfBehindASignal) {
  RunningJob job(command(1'000'000'000, "4e8"));
  ASSERT_NO_FATAL_FAILURE(begin_to_spoil(job));
  job.kill(SIGINT);
  expect_told(job, 6, 1);
  EXPECT_EQ(job.err().find(", training"), std::string::npos) << "it trained on: " << job.err();
}

/// The mistake is the error; that nothing is saved is told beside. (Where ranks have parts none is asked for its own.)
class UnreadableCopies : public UnreadablePieces {};
TEST_P(UnreadableCopies, AreToldOfBehindAMistake) {
  RunningJob job(command(1'000'000'000, "1.5e8", "error('a mistake')"));
  ASSERT_NO_FATAL_FAILURE(begin_to_spoil(job));
  expect_told(job, 2, 2);
  EXPECT_NE(job.err().find("warning: the parameters after step 2 are not saved: offload `nvme`"), std::string::npos)
      << job.err();
  EXPECT_NE(job.err().find(": a mistake"), std::string::npos) << job.err();
}

INSTANTIATE_TEST_SUITE_P(Of, UnreadablePieces,
                         testing::Values(Loss{"ARankThatWrites", kCopies, 0}, Loss{"ARankThatGathers", kShards, 0},
                                         Loss{"ARankThatGives", kShards, 1}),
                         [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(Of, UnreadableCopies, testing::Values(Loss{"ARankThatWrites", kCopies, 0}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace baleen::test
