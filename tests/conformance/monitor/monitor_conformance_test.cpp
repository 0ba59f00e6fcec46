/// \file What every monitor must take: a whole run, strange facts, an early end.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/captured_output.hpp"
#include "support/monitor_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

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

TEST_P(Monitor, DescribesItself) {
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
  MonitorRun run(plugin, settings);
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
  output.text();
}

TEST_P(Monitor, EndsWithoutAnyRecord) {
  CapturedOutput output;
  { MonitorRun run(plugin, settings); }
  EXPECT_EQ(output.text(), "");
}

TEST_P(Monitor, NamesAPathItCannotWriteAtTheStart) {
  if (!option("path")) GTEST_SKIP() << "no option `path`";
  settings.set("path", "missing/log");
  EXPECT_THROW(MonitorRun(plugin, settings), std::runtime_error);
  EXPECT_EQ(plugin.host->failure(), folder / "missing/log" + ": cannot open for writing: No such file or directory");
}

TEST_P(Monitor, ReplacesAnOldFile) {
  if (!option("path")) GTEST_SKIP() << "no option `path`";
  folder.write("log", std::string(100000, 'x'));
  {
    MonitorRun run(plugin, settings);
    whole_run(run);
  }
  EXPECT_EQ(read_file(folder / "log").find('x'), std::string::npos);
}

TEST_P(Monitor, TakesSpans) {
  if (!plugin.table.spans) GTEST_SKIP() << "no spans";
  MonitorRun run(plugin, settings);
  const auto name = baleen::abi("blocks.0.mlp"), category = baleen::abi("compute");
  run.spans({});
  run.spans({{name, category, 1000, 3500, 1, 0, 0, 2e9, 4096}, {name, category, 5, 5, 1, 0, 3, 0, 0}});
}

INSTANTIATE_TEST_SUITE_P(Members, Monitor, testing::ValuesIn(built_members("monitor")),
                         [](const auto& info) { return info.param; });

}  // namespace
