/// \file `--set KEY=VALUE`.
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/toml/manifest.hpp"

namespace baleen {
namespace {

Result<Manifest> with(const std::vector<std::string>& sets, std::string_view text = "") {
  return parse_manifest(text, "/etc/c.toml", sets);
}

UserValue option(const std::string& set) {
  const auto manifest = with({set});
  EXPECT_TRUE(manifest) << manifest.error().text();
  return manifest ? manifest->compute.options.at("x") : UserValue{};
}

std::string bad(const std::string& set, std::string_view text = "") {
  const auto manifest = with({set}, text);
  return manifest ? "accepted" : manifest.error().text();
}

TEST(Set, ReadsTomlValues) {
  EXPECT_EQ(option("compute.x=3").data, UserValue::Data(std::int64_t{3}));
  EXPECT_EQ(option("compute.x=1e-3").data, UserValue::Data(1e-3));
  EXPECT_EQ(option("compute.x=true").data, UserValue::Data(true));
  EXPECT_EQ(option("compute.x=\"3\"").data, UserValue::Data(std::string("3")));
  EXPECT_EQ(option("compute.x=[1, 2]").data, UserValue::Data(NumberTable{{1, 2}, 1, 2}));
}

TEST(Set, TakesABareWordForAString) {
  EXPECT_EQ(option("compute.x=word").data, UserValue::Data(std::string("word")));
  EXPECT_EQ(option("compute.x=a=b").data, UserValue::Data(std::string("a=b")));
  EXPECT_EQ(option("compute.x=/tmp/log file").data, UserValue::Data(std::string("/tmp/log file")));
  EXPECT_EQ(option("compute.x=").data, UserValue::Data(std::string()));
  EXPECT_EQ(option("compute.x=1\ny = 2").data, UserValue::Data(std::string("1\ny = 2")));
}

TEST(Set, StandsAboveTheFile) {
  const auto manifest = with({"compute.plugin=new", "mesh.data=2"}, "[compute]\nplugin = \"old\"\nx = 1\n");
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->compute.plugin, "new");
  EXPECT_EQ(manifest->compute.where, "--set compute.plugin=new");
  EXPECT_EQ(manifest->compute.options.count("x"), 1u);
  EXPECT_EQ(manifest->ranks(), 2);
}

TEST(Set, TheLastOfEqualKeysWins) { EXPECT_EQ(with({"compute.plugin=a", "compute.plugin=b"})->compute.plugin, "b"); }

TEST(Set, ReachesIntoAMonitorThatWasSwitchedOff) {
  const auto manifest = with({"monitors.bar.width=3"}, "[monitors]\nbar = false");
  ASSERT_TRUE(manifest) << manifest.error().text();
  ASSERT_EQ(manifest->monitors.size(), 1u);
  EXPECT_TRUE(manifest->monitors[0].on);
}

TEST(Set, ResolvesPathsWhereTheUserTypesThem) {
  const auto manifest = with({"plugins.paths=[\"x\"]"});
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->plugin_paths.at(0).path, std::filesystem::current_path() / "x");
}

TEST(Set, IsNamedInErrors) {
  EXPECT_EQ(bad("compute"), "--set compute: needs KEY=VALUE");
  EXPECT_EQ(bad("comptue.x=3"), "--set comptue.x=3: unknown key `comptue`; did you mean `compute`?");
  EXPECT_EQ(bad("mesh.data=two"), "--set mesh.data=two: `data` must be a whole number, not a string");
  EXPECT_NE(bad("a..b=3").find("words joined by dots"), std::string::npos);
  EXPECT_NE(bad("compute.x=[1, 2").find("--set compute.x=[1, 2: syntax error"), std::string::npos);
  EXPECT_EQ(bad("compute.plugin.x=3", "[compute]\nplugin = \"a\""),
            "--set compute.plugin.x=3: `plugin` is no table, so it has no key `x`");
}

}  // namespace
}  // namespace baleen
