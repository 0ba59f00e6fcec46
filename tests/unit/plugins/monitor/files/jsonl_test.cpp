/// \file The lines of the monitor `jsonl`.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/monitor_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using nlohmann::json;

class JsonLines : public testing::Test {
 protected:
  PluginUnderTest<baleen_monitor_t> plugin{built_plugin("monitor", "jsonl")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path()};
  std::vector<json> lines() const {
    std::vector<json> result;
    std::istringstream text(read_file(folder / "log.jsonl"));
    for (std::string line; std::getline(text, line);) result.push_back(json::parse(line));
    return result;
  }
  void SetUp() override { settings.set("path", "log.jsonl"); }
};

TEST_F(JsonLines, HoldsOneObjectPerRecordAsSoonAsItIsTold) {
  MonitorRun run(plugin, settings);
  run.record(BALEEN_RECORD_START, 0, 5, 0, {{"script", std::string("train.lua")}, {"parameters", 12345.0}});
  EXPECT_EQ(lines().size(), 1u);
  run.record(BALEEN_RECORD_STEP, 1, 5, 0.25, {{"loss", 2.302585092994046}, {"lr", 1e-3}});
  EXPECT_EQ(lines()[0], (json{{"kind", "start"},
                              {"rank", 0},
                              {"step", 0},
                              {"steps", 5},
                              {"elapsed", 0},
                              {"script", "train.lua"},
                              {"parameters", 12345}}));
  EXPECT_EQ(lines()[1], (json{{"kind", "step"},
                              {"rank", 0},
                              {"step", 1},
                              {"steps", 5},
                              {"elapsed", 0.25},
                              {"loss", 2.302585092994046},
                              {"lr", 1e-3}}));
}

TEST_F(JsonLines, KeepsEveryBitOfANumber) {
  MonitorRun run(plugin, settings);
  const double numbers[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.30000000000000004, 9007199254740993e3};
  for (double number : numbers) run.record(BALEEN_RECORD_STEP, 1, 1, 0, {{"loss", number}});
  const auto found = lines();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i]["loss"].get<double>(), numbers[i]);
}

TEST_F(JsonLines, WritesWhatJsonLacksAsText) {
  MonitorRun run(plugin, settings);
  run.record(BALEEN_RECORD_STEP, 1, 1, 0, {{"a", std::nan("")}, {"b", INFINITY}, {"c", -INFINITY}});
  EXPECT_EQ(lines()[0]["a"], "nan");
  EXPECT_EQ(lines()[0]["b"], "inf");
  EXPECT_EQ(lines()[0]["c"], "-inf");
}

TEST_F(JsonLines, EscapesTexts) {
  MonitorRun run(plugin, settings);
  run.record(BALEEN_RECORD_NOTE, 1, 1, 0, {{"message", std::string("a \"b\"\nc\\ \xff")}});
  EXPECT_EQ(lines()[0]["message"], "a \"b\"\nc\\ \xef\xbf\xbd");
}

TEST_F(JsonLines, KeepsRankZeroAlone) {
  MonitorRun run(plugin, settings);
  run.record(BALEEN_RECORD_STEP, 1, 1, 0, {{"loss", 1.0}}, 1);
  EXPECT_TRUE(lines().empty());
}

TEST_F(JsonLines, LeavesAnOldFileToTheRankThatWrites) {
  folder.write("log.jsonl", "{}\n");
  { MonitorRun run(plugin, settings); }
  EXPECT_EQ(lines().size(), 1u);
}

}  // namespace
