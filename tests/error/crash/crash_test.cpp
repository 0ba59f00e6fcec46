/// \file Who crashes is named: the plugin, and what was being done.
#include <gtest/gtest.h>
#include <signal.h>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

constexpr const char* kJob = R"(
local baleen = require "baleen"
local nn = baleen.nn
local rows = {}
for i = 1, 40 do rows[i] = { i / 40, i % 2 } end
local points = baleen.data.table { rows = rows }
return baleen.job { model = nn.sequential { nn.linear { out = points.classes } }, loss = nn.cross_entropy {},
  data = points, batch = 8, steps = 5, optimizer = baleen.optimizer(OPTIMIZER) }
)";

std::string falls(const std::string& how) { return R"("falls", { how = ")" + how + R"(" })"; }
const std::string kSound = R"("sgd", { lr = 0.1 })";

class Crash : public testing::Test {
 protected:
  ProcessResult run(const std::string& optimizer, std::vector<std::string> words = {},
                    const std::string& command = "run") {
    std::string job = kJob;
    job.replace(job.find("OPTIMIZER"), 9, optimizer);
    std::vector<std::string> all = {command, folder_.write("job.lua", job), "--plugin-path", CRASH_FOLDER};
    all.insert(all.end(), words.begin(), words.end());
    return run_baleen(all);
  }
  /// Sanitizers end the process in ways of their own.
  static void expect_said(const ProcessResult& result, int signal, const std::vector<std::string>& parts) {
    EXPECT_NE(result.exit_code, 0);
    if (kIsSanitized) return;
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
  }
  TemporaryFolder folder_;
};

const std::string kFile = std::string(" (") + CRASH_FOLDER + "/baleen_optimizer_falls.so)";

TEST_F(Crash, OfAnOptimizerNamesItWhatItDidAndWhere) {
  const std::string in = " in optimizer `falls`" + kFile + ", planning; a bug of that plugin, whose code was at 0x";
  expect_said(run(falls("null")), SIGSEGV, {"error: crashed (SIGSEGV at the address 0x0)" + in});
  expect_said(run(falls("call")), SIGSEGV, {"error: crashed (SIGSEGV at the address 0x0)" + in});
  expect_said(run(falls("abort")), SIGABRT, {"error: crashed (SIGABRT)" + in});
  expect_said(run(falls("library")), SIGSEGV, {"error: crashed (SIGSEGV at the address 0x", in});
}

/// It would pass for a run that ended well.
TEST_F(Crash, ByExitIsToldOfAndFails) {
  const ProcessResult result = run(falls("exit"));
  EXPECT_EQ(result.exit_code, 70) << result.err;
  const std::string in = kIsSanitized ? "" : " in optimizer `falls`" + kFile;
  EXPECT_NE(result.err.find("error: exit(0) was called" + in + ", planning; a plugin gives back a failure instead"),
            std::string::npos)
      << result.err;
  const ProcessResult ranks = run(falls("exit"), {"--set", "mesh.data=2"});
  EXPECT_NE(ranks.exit_code, 0) << ranks.err;
  EXPECT_NE(ranks.err.find("error: exit(0) was called"), std::string::npos) << ranks.err;
  EXPECT_EQ(run(kSound).exit_code, 0);
}

TEST_F(Crash, OfAStrategyNamesThePhase) {
  const ProcessResult result =
      run(kSound, {"--set", "mesh.data=2", "--set", "plan=[{strategy=\"data\"},{strategy=\"stumbles\"}]"}, "plan");
  expect_said(result, SIGSEGV, {" in strategy `stumbles` (", "), place; a bug of that plugin"});
}

TEST_F(Crash, InTrainingNamesTheStep) {
  const ProcessResult result = run(kSound, {"--steps", "5000", "--set", "monitors.trips=true"});
  // A monitor is told on a thread of its own, while the run goes on.
  expect_said(result, SIGSEGV, {" in monitor `trips` (", ", training step ", "; a bug of that plugin"});
}

/// On ranks that talk over sockets the message names both ends of each.
TEST_F(Crash, OfARankNamesWhomItIsConnectedWith) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "built without the transport ucx";
  const ProcessResult result = run(kSound, {"--steps", "5000", "--set", "monitors.trips=true", "--set", "mesh.data=2",
                                            "--set", "transport={plugin=\"ucx\",tls=[\"tcp\"],devices=[\"lo\"]}"});
  EXPECT_NE(result.exit_code, 0);
  if (kIsSanitized) return;
  const std::size_t at = result.err.find("; this process was connected: 127.0.0.1:");
  ASSERT_NE(at, std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" to 127.0.0.1:", at), std::string::npos) << result.err;
}

/// A library that is no plugin: linked with one, or opened by it.
TEST_F(Crash, InsideALibraryNamesItAndThePluginThatUsesIt) {
  const std::string library = std::string(CRASH_FOLDER) + "/libraries/libfragile.so";
  const auto expect_named = [&](const std::string& plugin, const std::string& setting) {
    const ProcessResult result = run(kSound, {"--steps", "5000", "--set", setting});
    expect_said(result, SIGSEGV,
                {"error: crashed (SIGSEGV at the address 0x0) inside libfragile.so, which monitor `" + plugin +
                     "` uses, training step ",
                 "; a bug of that plugin or of that library, whose code was at 0x", " of " + library + ", called at 0x",
                 " of " + std::string(CRASH_FOLDER) + "/baleen_monitor_" + plugin + ".so (addr2line "});
  };
  expect_named("leans", "monitors.leans=true");
  expect_named("trips", "monitors.trips.library='" + library + "'");
}

/// Whether they were shown or not.
TEST_F(Crash, ShowsTheLastLinesOfTheLog) {
  const ProcessResult result = run(falls("null"), {"--log-level", "error"});
  expect_said(result, SIGSEGV, {"---- the last lines of the log ----\n", "\n---- end ----\n", "debug: "});
}

TEST_F(Crash, OfAStaticObjectNamesThePluginThatIsLoaded) {
  const std::vector<std::string> words = {"--plugin-path", std::string(CRASH_FOLDER) + "/alone", "--set",
                                          "monitors.bursts=true"};
  expect_said(run(kSound, words), SIGABRT, {"error: crashed (SIGABRT) while monitor `bursts` was loaded"});
}

TEST_F(Crash, ThatAStaticObjectThrowsRefusesThePlugin) {
  const ProcessResult result =
      run(kSound, {"--plugin-path", std::string(CRASH_FOLDER) + "/throwing", "--set", "monitors.throws=true"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.err,
            "error: plugin monitor `throws` threw an exception while it was loaded, out of a static object: "
            "too early\n");
}

TEST_F(Crash, OfOneRankOfTwoIsToldByThatRankToo) {
  const ProcessResult result = run(falls("null"), {"--set", "mesh.data=2"});
  EXPECT_NE(result.exit_code, 0);
  if (kIsSanitized) return;
  EXPECT_NE(result.err.find(" in optimizer `falls`"), std::string::npos) << result.err;
}

TEST_F(Crash, BySomebodyElsesSignalIsNone) {
  const ProcessResult result = run_process({"/bin/sh", "-c", "kill -SEGV $$; sleep 5"});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  const std::string script = folder_.write("long.lua", "while true do end\n");
  const ProcessResult killed = run_process(
      {"/bin/sh", "-c", "\"$0\" run \"$1\" & sleep 1; kill -SEGV $!; wait $!", build_dir() + "/bin/baleen", script});
  EXPECT_EQ(killed.err.find("crashed"), std::string::npos) << killed.err;
}

}  // namespace
}  // namespace baleen::test
