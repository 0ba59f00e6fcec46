/// \file Settings as a plugin sees them, built from the sample's schema.
#include "core/plugin/settings.hpp"

#include <gtest/gtest.h>

#include "baleen/plugin.hpp"
#include "support/places.hpp"

namespace baleen {
namespace {

const Descriptor& sample() {
  static const Descriptor descriptor = *read_descriptor(SAMPLE);
  return descriptor;
}

const SettingsStorage::Context kContext{42, "/folder", "job.lua:9:1"};

Result<SettingsStorage> build(const UserValues& values, const UserValues& group = {}) {
  return SettingsStorage::build(sample(), values, kContext, group);
}

std::string refused(const UserValues& values, const UserValues& group = {}) {
  const auto result = build(values, group);
  return result ? "accepted" : result.error().text();
}

const std::pair<const std::string, UserValue> kPath = {"path", {std::string("p"), "a:1:1"}};

TEST(SettingsStorage, FillsInDefaults) {
  const auto storage = build({kPath});
  ASSERT_TRUE(storage) << storage.error().text();
  const Settings settings(storage->get());
  EXPECT_TRUE(settings.boolean("flag"));
  EXPECT_EQ(settings.integer("count"), 8);
  EXPECT_EQ(settings.number("count"), 8);
  EXPECT_EQ(settings.number("share"), 0.5);
  EXPECT_EQ(settings.text("mode"), "fast");
  EXPECT_EQ(settings.text("files"), "");
  EXPECT_EQ(settings.at("rate").number, 1e-3);
  EXPECT_EQ(settings.at("rows").rows, 0);
  EXPECT_EQ(settings.seed(), 42u);
  EXPECT_EQ(settings.folder(), "/folder");
}

TEST(SettingsStorage, KeepsTheSchemasOrder) {
  const auto storage = build({kPath});
  ASSERT_TRUE(storage);
  ASSERT_EQ(storage->get()->count, sample().options.size());
  for (std::size_t i = 0; i < sample().options.size(); ++i) {
    EXPECT_EQ(view(storage->get()->items[i].name), sample().options[i].name);
    EXPECT_EQ(storage->get()->items[i].type, sample().options[i].type);
  }
}

TEST(SettingsStorage, CarriesWhatTheUserGave) {
  const auto storage = build({kPath,
                              {"flag", {false, ""}},
                              {"count", {16.0, ""}},
                              {"files", {std::vector<std::string>{"a", "b"}, ""}},
                              {"rows", {NumberTable{{1, 2, 3, 4, 5, 6}, 2, 3}, ""}}});
  ASSERT_TRUE(storage) << storage.error().text();
  const Settings settings(storage->get());
  EXPECT_FALSE(settings.boolean("flag"));
  EXPECT_EQ(settings.integer("count"), 16);
  EXPECT_EQ(settings.text("path"), "p");
  EXPECT_EQ(settings.text("files"), "a\nb");
  const baleen_setting_t& rows = settings.at("rows");
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.columns, 3);
  EXPECT_EQ(rows.table[5], 6);
}

TEST(SettingsStorage, TakesEarlierNamesAndTheirWords) {
  const auto storage = build({kPath, {"way", {std::string("slow"), ""}}}, {{"pace", {0.25, ""}}});
  ASSERT_TRUE(storage) << storage.error().text();
  EXPECT_EQ(Settings(storage->get()).text("mode"), "exact");
  EXPECT_EQ(Settings(storage->get()).at("rate").number, 0.25);
  EXPECT_EQ(storage->get()->count, sample().options.size());
  EXPECT_EQ(refused({kPath, {"way", {std::string("slow"), "a:2:1"}}, {"mode", {std::string("fast"), "a:3:1"}}}),
            "a:2:1: monitor `sample`: `way` is an earlier name of `mode`, which is given too; leave out one");
  EXPECT_NE(refused({kPath, {"way", {std::string("slowly"), "a:2:1"}}}).find("option `mode`"), std::string::npos);
}

TEST(SettingsStorage, StaysValidWhenMoved) {
  auto first = build({kPath});
  ASSERT_TRUE(first);
  const baleen_settings_t* before = first->get();
  const SettingsStorage second = *std::move(first);
  EXPECT_EQ(second.get(), before);
  EXPECT_EQ(Settings(second.get()).text("path"), "p");
}

TEST(SettingsStorage, SetsTheValueOfSchedulesOnly) {
  auto storage = build({kPath});
  ASSERT_TRUE(storage);
  EXPECT_TRUE(storage->set_value("rate", 17));
  EXPECT_EQ(Settings(storage->get()).value("rate"), 17u);
  EXPECT_FALSE(storage->set_value("share", 17));
  EXPECT_FALSE(storage->set_value("none", 17));
}

TEST(SettingsStorage, RefusesUnknownOptions) {
  EXPECT_EQ(refused({kPath, {"shar", {0.1, "job.lua:3:5"}}}),
            "job.lua:3:5: monitor `sample`: unknown option `shar`; did you mean `share`?");
}

TEST(SettingsStorage, RefusesWrongValuesWithTheirPlace) {
  EXPECT_EQ(refused({kPath, {"share", {2.0, "job.lua:3:5"}}}),
            "job.lua:3:5: monitor `sample`: option `share` must be from 0 to 1, not 2");
}

TEST(SettingsStorage, WantsRequiredOptions) {
  EXPECT_EQ(refused({}), "job.lua:9:1: monitor `sample`: option `path` is required (a file)");
}

TEST(SettingsStorage, LetsAGroupOverrideWhatIsPerGroup) {
  const auto storage = build({kPath, {"share", {0.25, ""}}}, {{"rate", {3.0, ""}}});
  ASSERT_TRUE(storage) << storage.error().text();
  EXPECT_EQ(Settings(storage->get()).at("rate").number, 3.0);
  EXPECT_EQ(Settings(storage->get()).number("share"), 0.25);
  EXPECT_EQ(refused({kPath}, {{"mode", {std::string("exact"), "job.lua:4:1"}}}),
            "job.lua:4:1: monitor `sample`: option `mode` holds for all parameters; a group cannot change it");
  EXPECT_EQ(refused({kPath}, {{"rat", {1.0, "job.lua:4:1"}}}),
            "job.lua:4:1: monitor `sample`: unknown option `rat`; did you mean `rate`?");
}

}  // namespace
}  // namespace baleen
