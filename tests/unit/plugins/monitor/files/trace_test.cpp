/// \file The events of the monitor `trace`.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/monitor_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using nlohmann::json;

class Trace : public testing::Test {
 protected:
  PluginUnderTest<baleen_monitor_t> plugin{built_plugin("monitor", "trace")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path()};
  void SetUp() override { settings.set("path", "trace.json"); }
  static std::vector<baleen_span_t> spans(std::int32_t rank = 0) {
    return {{baleen::abi("blocks.0.mlp"), baleen::abi("compute"), 1'500, 4'250, 7, rank, 2, 0, 0}};
  }
};

TEST_F(Trace, HoldsSpansInMicroseconds) {
  {
    MonitorRun run(plugin, settings);
    run.spans(spans());
  }
  const json events = json::parse(read_file(folder / "trace.json"));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0],
            (json{{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"tid", 2}, {"args", {{"name", "rank 0"}}}}));
  EXPECT_EQ(events[1],
            (json{{"ph", "M"}, {"name", "thread_name"}, {"pid", 0}, {"tid", 2}, {"args", {{"name", "stream 2"}}}}));
  EXPECT_EQ(events[2], (json{{"ph", "X"},
                             {"name", "blocks.0.mlp"},
                             {"cat", "compute"},
                             {"ts", 1.5},
                             {"dur", 2.75},
                             {"pid", 0},
                             {"tid", 2},
                             {"args", {{"step", 7}}}}));
}

TEST_F(Trace, NamesEachStreamOnce) {
  {
    MonitorRun run(plugin, settings);
    run.spans(spans());
    run.spans(spans());
  }
  EXPECT_EQ(json::parse(read_file(folder / "trace.json")).size(), 4u);
}

TEST_F(Trace, CountsLossAndMemory) {
  {
    MonitorRun run(plugin, settings);
    run.record(BALEEN_RECORD_STEP, 1, 2, 0.5, {{"loss", 2.5}, {"memory_bytes", 1024.0}, {"lr", 0.1}});
  }
  const json events = json::parse(read_file(folder / "trace.json"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], (json{{"ph", "C"}, {"name", "loss"}, {"ts", 5e5}, {"pid", 0}, {"args", {{"value", 2.5}}}}));
}

/// The viewers take an array whose closing bracket is missing; so must anybody who adds it.
TEST_F(Trace, LacksNothingButTheBracketInTheMiddleOfARun) {
  MonitorRun run(plugin, settings);
  run.spans(spans());
  run.record(BALEEN_RECORD_NOTE, 1, 2, 0.5, {{"message", std::string("half way")}});
  const json events = json::parse(read_file(folder / "trace.json") + "]");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[3]["name"], "half way");
}

TEST_F(Trace, ReplacesWhatIsNotUtf8) {
  {
    MonitorRun run(plugin, settings);
    run.record(BALEEN_RECORD_NOTE, 1, 2, 0.5, {{"message", std::string("half \xff way")}});
  }
  const json events = json::parse(read_file(folder / "trace.json"));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "half \xef\xbf\xbd way");
}

TEST_F(Trace, IsAnEmptyArrayWhereNothingHappened) {
  {
    MonitorRun run(plugin, settings);
    run.record(BALEEN_RECORD_START, 0, 2, 0, {});
  }
  EXPECT_TRUE(json::parse(read_file(folder / "trace.json")).empty());
}

TEST_F(Trace, GivesOtherRanksAFileOfTheirOwn) {
  {
    MonitorRun run(plugin, settings);
    run.spans(spans(3));
  }
  const json events = json::parse(read_file(folder / "trace.rank3.json"));
  EXPECT_EQ(events[2]["pid"], 3);
}

TEST_F(Trace, NeedsAFileOrAProfile) {
  settings.set("path", "");
  EXPECT_THROW(
      try { MonitorRun run(plugin, settings); } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find("--trace FILE"), std::string::npos) << error.what();
        throw;
      },
      std::runtime_error);
}

class Profile : public Trace {
 protected:
  void SetUp() override {
    Trace::SetUp();
    settings.set("profile", "true");
  }

  /// What is printed at the end of a run that was told of the steps.
  std::string table(std::int32_t rank, const std::vector<std::vector<baleen_span_t>>& steps) {
    testing::internal::CaptureStdout();
    {
      MonitorRun run(plugin, settings);
      const auto count = static_cast<std::int64_t>(steps.size());
      run.record(BALEEN_RECORD_START, 0, count, 0, {{"peak_flops_per_second", 1e12}, {"peak_bytes_per_second", 1e10}},
                 rank);
      for (std::size_t s = 0; s < steps.size(); ++s) {
        run.spans(steps[s]);
        run.record(BALEEN_RECORD_STEP, static_cast<std::int64_t>(s) + 1, count, 0, {{"step_ms", 10.0}}, rank);
      }
    }
    return testing::internal::GetCapturedStdout();
  }
  static baleen_span_t span(const char* name, std::int64_t nanoseconds, double flops, std::uint64_t bytes,
                            const char* category = "compute") {
    return {baleen::abi(name), baleen::abi(category), 0, nanoseconds, 1, 0, 0, flops, bytes};
  }
};

TEST_F(Profile, SumsUpByOpBesideTheDevicesPeak) {
  const std::vector<baleen_span_t> step{span("blocks.0.mlp.up (matmul)", 2'000'000, 1e9, 1'000'000),
                                        span("blocks.11.mlp.up (matmul)", 2'000'000, 1e9, 1'000'000),
                                        span("norm (norm)", 1'000'000, 0, 5'000'000),
                                        span("loss (all_reduce)", 3'000'000, 0, 0, "wait")};
  const std::string text = table(0, {{span("norm (norm)", 9'000'000, 0, 1)}, step, step});
  const auto holds = [&](const std::string& line) {
    EXPECT_NE(text.find(line), std::string::npos) << line << '\n' << text;
  };
  holds("profile: 2 steps of 10.000 ms");
  holds("  40.0 %      4.000      2     500.0     0.5    0.50    0.05  blocks.*.mlp.up (matmul)\n");
  holds("  10.0 %      1.000      1               5.0            0.50  norm (norm)\n");
  holds("  30.0 %      3.000      1                                    loss (all_reduce)\n");
  holds("  20.0 %      2.000      0                                    between launches\n");
  holds(" 100.0 %     10.000      4     200.0            0.20          whole step\n");
  EXPECT_LT(text.find("mlp.up"), text.find("all_reduce"));
  EXPECT_LT(text.find("all_reduce"), text.find("norm (norm)"));
}

TEST_F(Profile, TakesTheFirstStepWhereThereIsNoOther) {
  EXPECT_NE(table(0, {{span("norm (norm)", 5'000'000, 0, 1)}}).find("profile: 1 step of"), std::string::npos);
}

TEST_F(Profile, LeavesOutWhatIsNotOfAStep) {
  testing::internal::CaptureStdout();
  {
    MonitorRun run(plugin, settings);
    run.spans({span("held out (norm)", 1'000'000, 0, 1)});
    run.record(BALEEN_RECORD_EVALUATE, 0, 1, 0, {});
    run.spans({span("norm (norm)", 1'000'000, 0, 1)});
    run.record(BALEEN_RECORD_STEP, 1, 1, 0, {{"step_ms", 10.0}});
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout().find("held out"), std::string::npos);
}

TEST_F(Profile, IsPrintedByTheFirstRankOnly) { EXPECT_EQ(table(1, {{span("norm (norm)", 1, 0, 1)}}), ""); }

}  // namespace
