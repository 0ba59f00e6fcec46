/// \file Callbacks that run on: they are told with their line, and end at last, wherever they loop.
#include "frontend/lua/watchdog.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using std::chrono::milliseconds;

/// Its steps and evaluations take a while. A script that asks for the number of steps sees `steps`.
class IdleRun : public TrainingRun {
 public:
  Result<Facts> step() override { return wait(); }
  Result<Facts> evaluate(std::int64_t) override { return wait(); }
  std::int64_t steps_done() const override { return steps; }
  std::vector<ProgramInfo> programs() const override { return {}; }
  Result<Outputs> run(const std::string&, const Inputs&) override { return Outputs(); }
  Status save(const std::string&) override { return {}; }
  Status checkpoint() override { return {}; }

  std::atomic<std::int64_t> steps{0};
  milliseconds takes{0};

 private:
  Facts wait() const {
    std::this_thread::sleep_for(takes);
    return {{"loss", 1}};
  }
};

class Callbacks : public ScriptTest {
 protected:
  Callbacks() {
    options_.stuck = [](const Error& why) {
      std::fputs(why.text().c_str(), stderr);
      std::_Exit(2);
    };
  }
  static std::string job(const std::string& options) {
    return job_of("nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }", options);
  }
  /// What is told of a script that loops until two lines were told.
  std::vector<std::string> told(const std::string& options) {
    std::mutex mutex;
    std::vector<std::string> lines;
    run_.steps = 0;
    options_.callback_told = milliseconds(100);
    options_.warn = [&](std::string_view line) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(line);
      if (lines.size() == 2) run_.steps = 100;  // the job has 10
    };
    auto script = loaded(job(options));
    if (script) {
      EXPECT_TRUE(script->train(run_));
    }
    script.reset();
    return lines;
  }
  void expect_told(const std::string& options, const std::string& what) {
    const std::vector<std::string> lines = told(options);
    ASSERT_GE(lines.size(), 2u) << options;
    const std::string begin = what + " (" + (folder_ / "train.lua").string() + ":5) has run for 0.";
    EXPECT_EQ(lines[0].substr(0, begin.size()), begin);
    EXPECT_EQ(lines[1].substr(0, begin.size()), begin);
    EXPECT_NE(lines[0], lines[1]) << "the time has doubled";
  }
  /// That training this job ends the process, with this part of the message.
  void expect_end(const std::string& options, const std::string& says) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    options_.callback_limit = milliseconds(200);
    const auto train = [&] {
      auto script = loaded(job(options));
      (void)script->train(run_);
    };
    EXPECT_EXIT(train(), ::testing::ExitedWithCode(2), "train.lua:5: " + says + " has run for 0.2 s; is there")
        << options;
  }

  IdleRun run_;
};

const std::string kUntilTold = "while run.step_count < 10 do end";

TEST_F(Callbacks, AreToldWithTheirLine) {
  expect_told("on_step = function(_, run) " + kUntilTold + " end,", "on_step");
  expect_told("on_evaluate = function(_, run) " + kUntilTold + " end, evaluate = { every = 1 },", "on_evaluate");
  expect_told("loop = function(_, run) " + kUntilTold + " end,", "loop");
  // An evaluation of its own makes it no other callback.
  expect_told("on_step = function(_, run) run:evaluate() " + kUntilTold + " end, on_evaluate = function() end,",
              "on_step");
}

TEST_F(Callbacks, AreNotToldForTheTimeOfTheRun) {
  options_.callback_told = milliseconds(100);
  options_.callback_limit = milliseconds(150);
  options_.warn = [](std::string_view line) { ADD_FAILURE() << line; };
  run_.takes = milliseconds(200);
  auto script = loaded(job("loop = function(_, run) for _ = 1, 2 do run:step() run:evaluate() end end,"));
  EXPECT_TRUE(script->train(run_));
}

TEST_F(Callbacks, EndWhereverTheyLoop) {
  expect_end("on_step = function() while true do end end,", "on_step");
  expect_end("on_step = function() while true do pcall(function() while true do end end) end end,", "on_step");
  expect_end("on_step = function() xpcall(error, function() while true do end end) end,", "on_step");
  expect_end("on_step = function() coroutine.wrap(function() while true do end end)() end,", "on_step");
  expect_end("on_step = function() table.move({}, 1, math.maxinteger - 1, 2) end,", "on_step");
  expect_end("loop = function() print((('a'):rep(40)):find(('.-'):rep(40) .. 'b')) end,", "loop");
}

TEST_F(Callbacks, OfOptionsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  options_.callback_limit = milliseconds(200);
  const std::string text =
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\nreturn baleen.job { batch = 2, steps = 10,\n"
      "  data = baleen.data.fake {}, loss = nn.cross_entropy {}, model = nn.embedding { vocab = 16, dim = 16 },\n"
      "  optimizer = baleen.optimizer('o', { lr = function(step) while step > 0 do end return 1 end }) }\n";
  const auto ask = [&] {
    auto script = loaded(text);
    (void)script->job().optimizer.schedules.at("lr")(1);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(2), "train.lua:5: optimizer `o`: option `lr` has run for 0.2 s");
}

TEST_F(Callbacks, ThatAreLeftAtTheEndEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  options_.callback_limit = milliseconds(200);
  const auto end = [&] {
    (void)load(
        "local kept = setmetatable({}, { __gc = function() while true do end end })\nfunction string.keep() "
        "return kept end\n");
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(2), "a finaliser \\(__gc\\) of the script has run for 0.2 s");
}

/// The process that is stopped is a child, which says by its code whether the limit has passed meanwhile.
TEST(Watchdog, DoesNotCountTheTimeInWhichTheProcessIsStopped) {
  const pid_t child = fork();
  if (child == 0) {
    Watchdog watchdog({});
    watchdog.begin(std::make_shared<Watchdog::Stretch>(Watchdog::Stretch{"this", {}, milliseconds(1000), {}, {}}));
    std::this_thread::sleep_for(milliseconds(50));
    raise(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(200));
    const bool is_early = watchdog.is_over();
    std::this_thread::sleep_for(milliseconds(1000));
    std::_Exit(is_early ? 1 : watchdog.is_over() ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(milliseconds(1300));
  ASSERT_EQ(kill(child, SIGCONT), 0);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace
}  // namespace baleen::testing
