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
    return {{baleen::abi("blocks.0.mlp"), baleen::abi("compute"), 1'500, 4'250, 7, rank, 2}};
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

}  // namespace
