/// \file Limits of ranks that are neither dead nor stopped by a signal: held by a debugger, without heartbeats, saving.
#include <sys/ptrace.h>

#include <filesystem>

#include "rank_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Holds threads of a process as a debugger does.
class Debugger {
 public:
  enum class Threads { all, all_but_the_first };

  Debugger(pid_t process, Threads which) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      const pid_t thread = std::stoi(entry.path().filename());
      if (which == Threads::all_but_the_first && thread == process) continue;
      EXPECT_EQ(ptrace(PTRACE_SEIZE, thread, nullptr, nullptr), 0) << "cannot debug a process of its own";
      EXPECT_EQ(ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr), 0);
      EXPECT_EQ(waitpid(thread, nullptr, __WALL), thread);
      threads_.push_back(thread);
    }
  }
  ~Debugger() {
    for (const pid_t thread : threads_) ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  }
  Debugger(const Debugger&) = delete;

  std::size_t held() const { return threads_.size(); }
  /// A process that was killed is gone when who holds its threads has seen it.
  void see_ends() const {
    for (const pid_t thread : threads_) waitpid(thread, nullptr, __WALL | WNOHANG);
  }

 private:
  std::vector<pid_t> threads_;
};

/// However long others wait for it.
TEST(LimitsOfTime, LetADebuggerHoldARank) {
  RunningJob job(rank_program({"3", "stopped=300", "silent=600", "give_up=2500", "*:pid", "*:work:3000"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  {
    const Debugger debugger(process_of(job.out(), 1), Debugger::Threads::all);
    std::this_thread::sleep_for(milliseconds(3'500));
  }
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(job.err(), "warning: rank 1 is held by a debugger; waiting for it\n");
}

/// Between being let go and its next words it is neither held nor silent for as long as it was held.
TEST(LimitsOfTime, LetADebuggerHoldARankAgainAndAgain) {
  RunningJob job(rank_program({"2", "stopped=300", "silent=700", "*:pid", "*:work:8000"}));
  ASSERT_TRUE(job.prints("pid ", 2)) << job.err();
  for (int i = 0; i < 6; ++i) {
    {
      const Debugger debugger(process_of(job.out(), 1), Debugger::Threads::all);
      std::this_thread::sleep_for(milliseconds(1'100));
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(job.err(), "warning: rank 1 is held by a debugger; waiting for it\n");
}

/// The same where others have begun a collective.
TEST(LimitsOfTime, LetADebuggerHoldARankThatACollectiveWaitsFor) {
  RunningJob job(rank_program({"3", "stopped=300", "silent=600", "give_up=2500", "*:begins:1", "*:pid", "0:begins:2",
                               "2:begins:2", "*:sleep:1000", "1:begins:2", "*:sleep:2000"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  {
    const Debugger debugger(process_of(job.out(), 1), Debugger::Threads::all);
    std::this_thread::sleep_for(milliseconds(4'000));
  }
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_NE(job.err().find("warning: rank 1 is held by a debugger; waiting for it\n"), std::string::npos) << job.err();
}

/// A rank that a debugger has let go is waited for no longer than any other.
TEST(LimitsOfTime, EndARankThatADebuggerHeldAndThatComesToNoCollective) {
  RunningJob job(rank_program({"3", "stopped=300", "silent=600", "stalled=200", "stalled_at_most=200", "give_up=2500",
                               "*:begins:1", "*:pid", "0:begins:2", "2:begins:2", "1:sleep:600000", "*:naps"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  {
    const Debugger debugger(process_of(job.out(), 1), Debugger::Threads::all);
    ASSERT_TRUE(job.complains("held by a debugger")) << job.err();
  }
  EXPECT_EQ(job.ends(), 4) << job.err();
  EXPECT_NE(job.err().find("error: rank 1: gave up after "), std::string::npos) << job.err();
  EXPECT_NE(job.err().find(" without a collective: waiting for rank 1"), std::string::npos) << job.err();
}

/// Its process lives, and what sends its heartbeats does not.
TEST(LimitsOfTime, EndARankThatSaysNothingMore) {
  RunningJob job(rank_program({"3", "silent=700", "*:barrier:all", "*:pid", "*:work"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  const Debugger debugger(process_of(job.out(), 1), Debugger::Threads::all_but_the_first);
  ASSERT_GT(debugger.held(), 0u);
  std::optional<int> code;
  holds_within(seconds(60), [&] {
    debugger.see_ends();
    code = job.ends(milliseconds(5));
    return code.has_value();
  });
  EXPECT_EQ(code, 4) << job.err();
  EXPECT_EQ(job.err().find("error: rank 1"), 0u) << job.err();
  EXPECT_NE(job.err().find(": silent for "), std::string::npos) << job.err();
  EXPECT_NE(job.err().find(" though its process lives\n"), std::string::npos) << job.err();
}

/// What is left of a failure may save what was trained, but not for ever.
TEST(LimitsOfTime, EndARankThatSavesForEver) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result =
      run_ranks({"2", "rescuing=1500", "grace=1000", "0:rescues", "*:barrier:all", "1:raise:9", "0:sleep:600000"});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(2'500)) << "it had no time to save";
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.err.find("error: rank 1"), 0u) << result.err;
  EXPECT_NE(result.err.find(": killed by SIGKILL"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
