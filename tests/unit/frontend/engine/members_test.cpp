/// \file Who serves a run: the manifest, the flags, or the best. Copies of one small library stand for members.
#include "frontend/engine/members.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
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
  /// Options stay the sample's: `path` is required, `count` from 1 to 64. `changes`: new names and further flags of
  /// options.
  void add(const std::string& kind, const std::string& name, int score,
           const std::map<std::string, std::pair<std::string, baleen_option_flags_t>>& changes = {}) {
    std::string bytes = test::read_file(SAMPLE);
    const std::size_t at = bytes.find("BALEEN01");
    baleen_descriptor_t record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    std::strncpy(record.kind, kind.c_str(), sizeof record.kind - 1);
    std::strncpy(record.name, name.c_str(), sizeof record.name - 1);
    record.score = score;
    for (baleen_option_t& option : record.options) {
      const auto change = changes.find(option.name);
      if (change == changes.end()) continue;
      std::strncpy(option.name, change->second.first.c_str(), sizeof option.name - 1);
      option.flags |= change->second.second;
    }
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

/// `joined` is made of two others, `first` and `second`; its `most` counts ranks of a host.
class ChooseTransport : public ChooseMembers {
 protected:
  ChooseTransport() {
    add("transport", "wide", 5);
    add("transport", "near", 1);
    add("transport", "joined", -1,
        {{"path", {"first", BALEEN_OPTION_MEMBER}},
         {"label", {"second", BALEEN_OPTION_MEMBER | BALEEN_OPTION_PER_HOST}},
         {"count", {"most", BALEEN_OPTION_PER_HOST}}});
  }
  Result<Member> choose(const std::string& text, const PluginFlags& flags = {}) const {
    return choose_transport(registry(), manifest(text), flags);
  }
  std::string refused(const std::string& text, const PluginFlags& flags = {}) const {
    const auto chosen = choose(text, flags);
    return chosen ? "accepted" : chosen.error().text();
  }
  static const UserMember& part(const Member& member, const std::string& name) {
    return std::get<UserMember>(member.options.at(name).data);
  }
};

const std::string kNear = "{ plugin = \"near\", path = \"n\" }", kWide = "{ plugin = \"wide\", path = \"w\" }";
const std::string kTwo = "[transport]\nfirst = " + kNear + "\nsecond = " + kWide + "\n";

TEST_F(ChooseTransport, TakesTheBestThatIsNotMadeOfOthers) {
  EXPECT_EQ(choose("[transport]\nflag = true")->descriptor.name, "wide");
  EXPECT_EQ(choose("")->descriptor.name, "wide");
}

TEST_F(ChooseTransport, IsMadeOfThoseThatTheSectionNames) {
  for (const std::string& more : {std::string(), std::string("plugin = \"joined\"\n")}) {
    const auto chosen = choose(kTwo + more);
    ASSERT_TRUE(chosen) << chosen.error().text();
    EXPECT_EQ(chosen->descriptor.name, "joined");
    EXPECT_EQ(part(*chosen, "first").plugin, "near");
    EXPECT_EQ(part(*chosen, "second").options->at("path").data, UserValue::Data(std::string("w")));
    EXPECT_EQ(text_of(*chosen), "joined (first near, second wide)");
    EXPECT_TRUE(chosen->settings(0));
  }
}

TEST_F(ChooseTransport, FindsFilesBesideTheManifest) {
  EXPECT_EQ(refused("[transport]\nfirst = \"./x.so\"\nsecond = " + kWide), "/etc/c.toml:2:9: /etc/x.so: no such file");
}

TEST_F(ChooseTransport, ChecksTheOptionsOfEachPart) {
  EXPECT_EQ(refused("[transport]\nsecond = " + kWide + "\nfirst = { plugin = \"near\", path = \"n\", count = 65 }"),
            "/etc/c.toml:3:48: transport `near`: option `count` must be from 1 to 64, not 65");
  EXPECT_EQ(refused("[transport]\nsecond = " + kWide + "\nfirst = \"near\"")
                .find("/etc/c.toml:3:9: transport `near`: option `path` is required"),
            0u);
  EXPECT_EQ(
      refused("[transport]\nsecond = " + kWide + "\nfirst = 3"),
      "/etc/c.toml:3:9: `first` must be a transport's name, or a table of its `plugin` and options, not an integer");
}

TEST_F(ChooseTransport, ChecksPartsOfParts) {
  const std::string inner = "{ plugin = \"joined\", first = " + kNear + ", second = ";
  EXPECT_EQ(refused("[transport]\nsecond = " + kWide + "\nfirst = " + inner + kWide + " }"), "accepted");
  EXPECT_NE(refused("[transport]\nsecond = " + kWide + "\nfirst = " + inner + "\"wdie\" }")
                .find("unknown transport plugin `wdie`; did you mean `wide`?"),
            std::string::npos);
}

TEST_F(ChooseTransport, WantsAllPartsOrOneTransport) {
  EXPECT_EQ(refused("[transport]\nsecond = " + kWide).find("/etc/c.toml:2:21: `second` "), 0u);
  EXPECT_NE(refused("[transport]\nsecond = " + kWide).find(" by `first`, or write `plugin` for one transport"),
            std::string::npos);
  EXPECT_EQ(refused("[transport]\nplugin = \"joined\""),
            "/etc/c.toml:2:10: transport `joined` is made of others; name them by `first` and `second`");
}

TEST_F(ChooseTransport, GivesAHostsOwnOptionsToTheOutermostPart) {
  const auto on_host = [&](const std::string& options, const std::string& section) {
    const std::string hosts = "[cluster]\nhosts = [{ name = \"a\", transport = { " + options + " } }]\n";
    return choose_transport(registry(), manifest(hosts + section).on_host(0), {});
  };
  const auto two = on_host("count = 3", kTwo);
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(part(*two, "second").options->at("count").data, UserValue::Data(std::int64_t{3}));
  EXPECT_FALSE(part(*two, "first").options->contains("count"));
  EXPECT_EQ(on_host("most = 2", kTwo).error().text(),
            "/etc/c.toml:2:45: `most` is 2, but the largest host, `a`, has 1; take at most that");
  EXPECT_EQ(on_host("cuont = 3", kTwo).error().text().find("/etc/c.toml:2:46: transport `wide`: unknown option"), 0u);
  const auto one = on_host("share = 0.25", "[transport]\nplugin = \"near\"\n");
  EXPECT_EQ(one->options.at("share").data, UserValue::Data(0.25));
}

TEST_F(ChooseTransport, TakesOneOrItsParts) {
  EXPECT_EQ(refused(kTwo + "plugin = \"near\""),
            "/etc/c.toml:4:1: `plugin` names one transport for all ranks, `first` and `second` name two; leave out "
            "either");
  EXPECT_EQ(refused(kTwo + "word = 3"),
            "/etc/c.toml:4:1: `word` is an option of one of two transports; write it into that one's table, as in "
            "second = { plugin = \"NAME\", word = ... }");
}

TEST_F(ChooseTransport, GivesFlagsToThePartTheyBelongTo) {
  const auto chosen = choose(kTwo, {flag("transport", "near")});
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(part(*chosen, "first").options->at("path").data, UserValue::Data(std::string("f")));
  EXPECT_EQ(part(*chosen, "second").options->at("path").data, UserValue::Data(std::string("w")));
  EXPECT_EQ(refused(kTwo, {flag("transport", "far")}),
            "--sample: belongs to transport `far`, but this run uses `joined` of `near` and `wide`");
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
