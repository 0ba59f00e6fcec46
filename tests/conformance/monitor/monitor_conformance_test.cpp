/// \file What every monitor must take: a whole run, strange facts, an early end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/captured_output.hpp"
#include "support/monitor_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

using Json = nlohmann::json;

/// What a member writes. A new one adds itself here.
struct Kind {
  enum Format { kText, kJsonLines, kJsonArray } format;
  bool has_path, has_spans;
};
const Kind& kind_of(const std::string& name) {
  static const std::map<std::string, Kind> all = {{"console", {Kind::kText, false, false}},
                                                  {"jsonl", {Kind::kJsonLines, true, false}},
                                                  {"trace", {Kind::kJsonArray, true, true}}};
  return all.at(name);
}

/// The members of which `holds` is true.
std::vector<std::string> members_where(bool Kind::*holds) {
  std::vector<std::string> names;
  for (const std::string& name : built_members("monitor"))
    if (kind_of(name).*holds) names.push_back(name);
  return names;
}

/// The objects that a member wrote; of what is text, the lines. Throws where JSON is none.
std::vector<Json> entries_of(const std::string& member, const std::string& written) {
  std::vector<Json> entries;
  if (kind_of(member).format == Kind::kJsonArray) {
    for (const Json& entry : Json::parse(written)) entries.push_back(entry);
    return entries;
  }
  if (!written.ends_with('\n')) throw std::runtime_error("no end of the last line: " + written);
  std::istringstream stream(written);
  for (std::string line; std::getline(stream, line);)
    entries.push_back(kind_of(member).format == Kind::kText ? Json(line) : Json::parse(line));
  return entries;
}

class Monitor : public testing::TestWithParam<std::string> {
 protected:
  PluginUnderTest<baleen_monitor_t> plugin{built_plugin("monitor", GetParam())};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path()};

  const baleen_option_t* option(std::string_view name) const {
    for (const auto& found : plugin.descriptor.options)
      if (name == found.name) return &found;
    return nullptr;
  }
  void SetUp() override {
    if (option("path")) settings.set("path", "log");
  }
  static void whole_run(MonitorRun& run) {
    run.record(BALEEN_RECORD_START, 0, 3, 0, {{"script", std::string("train.lua")}, {"parameters", 100.0}});
    for (int step = 1; step <= 3; ++step) run.record(BALEEN_RECORD_STEP, step, 3, step, {{"loss", 1.0 / step}});
    run.record(BALEEN_RECORD_EVALUATE, 3, 3, 3, {{"held_out_loss", 0.5}});
    run.record(BALEEN_RECORD_NOTE, 3, 3, 3, {{"message", std::string("saved")}});
    run.record(BALEEN_RECORD_FINISH, 3, 3, 4, {{"seconds", 4.0}});
  }
};

class MonitorWithPath : public Monitor {};
class MonitorWithSpans : public Monitor {};

TEST_P(Monitor, DescribesItself) {
  EXPECT_EQ(option("path") != nullptr, kind_of(GetParam()).has_path);
  EXPECT_EQ(plugin.table.spans != nullptr, kind_of(GetParam()).has_spans);
  EXPECT_STREQ(plugin.descriptor.kind, "monitor");
  EXPECT_EQ(plugin.descriptor.name, GetParam());
  ASSERT_NE(plugin.table.record, nullptr);
  if (const auto* path = option("path")) {
    EXPECT_NE(path->cli[0], 0) << "`baleen run --<cli> FILE` switches it on";
    EXPECT_LT(plugin.descriptor.score, 0) << "a monitor that needs a file is on only when asked for";
  }
}

TEST_P(Monitor, TakesAWholeRunAndShowsIt) {
  CapturedOutput output;
  {
    MonitorRun run(plugin, settings);
    whole_run(run);
  }
  const std::string shown = output.text() + (option("path") ? read_file(folder / "log") : "");
  EXPECT_NE(shown.find("saved"), std::string::npos) << shown;
}

TEST_P(Monitor, TakesStrangeFacts) {
  CapturedOutput output;
  auto monitor = std::make_unique<MonitorRun>(plugin, settings);
  MonitorRun& run = *monitor;
  const double infinity = std::numeric_limits<double>::infinity();
  run.record(BALEEN_RECORD_STEP, 1, 0, 0, {});
  run.record(BALEEN_RECORD_STEP, 2, 0, 1,
             {{"loss", std::nan("")},
              {"gradient_norm", infinity},
              {"lr", -infinity},
              {"units_per_second", 1e300},
              {"memory_bytes", 0.0},
              {"step_ms", -1.0},
              {"", 5.0},
              {"kind", 1.0},
              {"quote\"\n", std::string("\"\\\n\t")}});
  run.record(BALEEN_RECORD_STEP, 3, 10, 1, {{"loss", std::string("a text")}, {"bad", std::string("\xff\xfe")}});
  run.record(BALEEN_RECORD_NOTE, 3, 10, 1, {});
  run.record(BALEEN_RECORD_NOTE, 3, 10, 1, {{"message", 5.0}});
  run.record(99, 3, 10, 1, {{"of", std::string("a newer core")}});
  monitor.reset();
  const std::string printed = output.text(), written = option("path") ? read_file(folder / "log") : printed;
  EXPECT_TRUE(printed.empty() || !option("path")) << printed;
  const std::vector<Json> entries = entries_of(GetParam(), written);  // which is the judgement: all of it parses
  ASSERT_FALSE(entries.empty());
  std::set<std::string> losses;
  for (const Json& entry : entries)
    if (entry.is_object() && entry.contains("loss")) losses.insert(entry["loss"].dump());
  if (kind_of(GetParam()).format == Kind::kText) {
    const auto moves = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 127; };
    EXPECT_EQ(std::count_if(written.begin(), written.end(), moves), 0) << "a fact commands the terminal: " << written;
    EXPECT_NE(written.find("step 3/10"), written.npos) << written;
    EXPECT_NE(written.find("\n5\n"), written.npos) << "a note that is a number: " << written;
  }
  if (kind_of(GetParam()).format != Kind::kJsonLines) return;
  EXPECT_EQ(entries.size(), 6u) << written;
  EXPECT_EQ(losses, (std::set<std::string>{R"("nan")", R"("a text")"})) << written;
  EXPECT_EQ(entries[1]["quote\"\n"], "\"\\\n\t") << written;
  EXPECT_EQ(entries[1]["kind"], "step") << "a fact has hidden what the record is: " << written;
  EXPECT_EQ(entries[1]["gradient_norm"], "inf");
  EXPECT_EQ(entries[1]["lr"], "-inf");
}

TEST_P(Monitor, EndsWithoutAnyRecord) {
  CapturedOutput output;
  { MonitorRun run(plugin, settings); }
  EXPECT_EQ(output.text(), "");
}

TEST_P(MonitorWithPath, NamesOneItCannotWriteAtTheStart) {
  settings.set("path", "missing/log");
  EXPECT_THROW(MonitorRun(plugin, settings), std::runtime_error);
  EXPECT_EQ(plugin.host->failure(), folder / "missing/log" + ": cannot open for writing: No such file or directory");
}

TEST_P(MonitorWithPath, ReplacesAnOldFile) {
  folder.write("log", std::string(100000, 'x'));
  {
    MonitorRun run(plugin, settings);
    whole_run(run);
  }
  EXPECT_EQ(read_file(folder / "log").find('x'), std::string::npos);
}

TEST_P(MonitorWithSpans, ShowsThem) {
  {
    MonitorRun run(plugin, settings);
    const auto name = baleen::abi("blocks.0.mlp"), category = baleen::abi("compute");
    run.spans({});
    run.spans({{name, category, 1000, 3500, 1, 0, 0, 2e9, 4096}, {name, category, 5, 5, 1, 0, 3, 0, 0}});
  }
  int shown = 0;
  for (const Json& entry : entries_of(GetParam(), read_file(folder / "log"))) shown += entry["name"] == "blocks.0.mlp";
  EXPECT_EQ(shown, 2) << read_file(folder / "log");
}

INSTANTIATE_TEST_SUITE_P(Members, MonitorWithPath, testing::ValuesIn(members_where(&Kind::has_path)),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Members, MonitorWithSpans, testing::ValuesIn(members_where(&Kind::has_spans)),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Members, Monitor, testing::ValuesIn(built_members("monitor")),
                         [](const auto& info) { return info.param; });

}  // namespace
