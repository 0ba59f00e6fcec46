/// \file Who serves a run: the manifest, the flags, or the best. Copies of one small library stand for members.
#include "frontend/cli/members.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::app {
namespace {

class ChooseMembers : public testing::Test {
 protected:
  ChooseMembers() {
    add("compute", "fast", 10);
    add("compute", "slow", 1);
    add("monitor", "bar", 5);
    add("monitor", "lines", -1);
  }
  /// Options stay the sample's: `path` is required, `count` from 1 to 64.
  void add(const std::string& kind, const std::string& name, int score) {
    std::string bytes = test::read_file(SAMPLE);
    const std::size_t at = bytes.find("BALEEN01");
    baleen_descriptor_t record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    std::strncpy(record.kind, kind.c_str(), sizeof record.kind - 1);
    std::strncpy(record.name, name.c_str(), sizeof record.name - 1);
    record.score = score;
    std::memcpy(bytes.data() + at, &record, sizeof record);
    folder_.write(name + ".so", bytes);
  }
  Registry registry() const {
    auto found = Registry::discover(std::vector<PluginPlace>{{folder_.path(), ""}}, Log());
    if (!found) throw std::runtime_error(found.error().text());
    return *std::move(found);
  }
  static Manifest manifest(std::string_view text) {
    auto read = parse_manifest(text, "/etc/c.toml");
    if (!read) throw std::runtime_error(read.error().text());
    return *std::move(read);
  }
  std::vector<std::string> monitors(std::string_view text, const PluginFlags& flags = {}) const {
    const auto chosen = choose_monitors(registry(), manifest(text), flags);
    if (!chosen) return {chosen.error().text()};
    std::vector<std::string> names;
    for (const Member& member : *chosen) names.push_back(member.descriptor.name);
    return names;
  }
  static PluginFlag flag(const std::string& kind, const std::string& plugin) {
    return {kind, plugin, "path", {std::string("f"), "--sample"}};
  }
  const test::TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(ChooseMembers, TakesTheBestComputePlugin) {
  EXPECT_EQ(choose_compute(registry(), Manifest(), {})->descriptor.name, "fast");
}

TEST_F(ChooseMembers, TakesTheManifestsComputePluginWithItsOptions) {
  const auto chosen = choose_compute(registry(), manifest("[compute]\nplugin = \"slow\"\ncount = 65"), {});
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->descriptor.name, "slow");
  EXPECT_EQ(chosen->folder, "/etc");
  EXPECT_EQ(chosen->settings(0).error().text(),
            "/etc/c.toml:3:9: compute `slow`: option `count` must be from 1 to 64, not 65");
}

TEST_F(ChooseMembers, RefusesAFlagOfAnotherComputePlugin) {
  EXPECT_EQ(choose_compute(registry(), Manifest(), {flag("compute", "fast")})->options.count("path"), 1u);
  EXPECT_EQ(choose_compute(registry(), Manifest(), {flag("compute", "slow")}).error().text(),
            "--sample: belongs to compute `slow`, but this run uses `fast`");
}

TEST_F(ChooseMembers, ShowsTheBestMonitor) { EXPECT_EQ(monitors(""), (Names{"bar"})); }

TEST_F(ChooseMembers, AddsTheManifestsMonitors) {
  EXPECT_EQ(monitors("[monitors]\nlines = { path = \"x\" }"), (Names{"bar", "lines"}));
}

TEST_F(ChooseMembers, SwitchesMonitorsOff) {
  EXPECT_EQ(monitors("[monitors]\nbar = false"), Names{});
  EXPECT_EQ(monitors("[monitors]\nba = false"),
            Names{"/etc/c.toml:2:1: unknown monitor plugin `ba`; did you mean `bar`?"});
}

TEST_F(ChooseMembers, SwitchesAMonitorOnByItsFlag) {
  EXPECT_EQ(monitors("", {flag("monitor", "lines")}), (Names{"bar", "lines"}));
  EXPECT_EQ(monitors("[monitors]\nlines = false", {flag("monitor", "lines")}), (Names{"bar", "lines"}));
}

TEST_F(ChooseMembers, LetsAFlagStandAboveTheManifest) {
  const auto chosen = choose_monitors(registry(), manifest("[monitors]\nlines = { path = \"m\", count = 3 }"),
                                      {flag("monitor", "lines")});
  ASSERT_TRUE(chosen) << chosen.error().text();
  const Member& lines = chosen->at(1);
  EXPECT_EQ(lines.options.at("path").data, UserValue::Data(std::string("f")));
  EXPECT_EQ(lines.options.at("count").data, UserValue::Data(std::int64_t{3}));
  EXPECT_EQ(lines.folder, std::filesystem::current_path().string());
}

TEST_F(ChooseMembers, RunsWithoutAnyMonitor) {
  const auto registry = *Registry::discover({}, Log());
  const auto chosen = choose_monitors(registry, Manifest(), {});
  ASSERT_TRUE(chosen);
  EXPECT_TRUE(chosen->empty());
}

TEST_F(ChooseMembers, RefusesAPlanOfUnknownStrategies) {
  EXPECT_EQ(choose_plan(registry(), manifest("[[plan]]\nstrategy = \"split\"")).error().text(),
            "/etc/c.toml:2:12: unknown strategy plugin `split`; there are none");
}

}  // namespace
}  // namespace baleen::app
