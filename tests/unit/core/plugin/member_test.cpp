/// \file Plugins that use other plugins: their options as text, and what the host opens for them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "baleen/monitor.h"
#include "baleen/opened_member.hpp"
#include "core/plugin/member_text.hpp"
#include "core/plugin/registry.hpp"
#include "core/plugin/settings.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen {

using namespace sdk;

namespace {

const Descriptor& sample() {
  static const Descriptor descriptor = *read_descriptor(SAMPLE);
  return descriptor;
}

UserMember member(UserValues options) { return {"sample", std::make_shared<const UserValues>(std::move(options))}; }

UserValues read(const std::string& text) {
  const auto options = member_options(text, sample());
  EXPECT_TRUE(options) << options.error().text();
  return options ? *options : UserValues();
}

std::string refused(const std::string& text) {
  const auto options = member_options(text, sample());
  return options ? "accepted" : options.error().text();
}

TEST(MemberText, IsTheNameAndALineForEachOption) {
  EXPECT_EQ(member_text(member({})), "sample");
  EXPECT_EQ(member_text(member({{"count", {std::int64_t{3}, ""}},
                                {"files", {std::vector<std::string>{"a", "b=c"}, ""}},
                                {"flag", {true, ""}},
                                {"rows", {NumberTable{{1, 2.5, 3, 4}, 2, 2}, ""}}})),
            "sample\ncount=3\nfiles=a\nfiles=b=c\nflag=true\nrows=1,2.5;3,4");
}

TEST(MemberText, ReadsBackAsWhatItWas) {
  const UserValues options{{"count", {std::int64_t{3}, ""}},
                           {"files", {std::vector<std::string>{"a\\n", "b\\"}, ""}},
                           {"flag", {false, ""}},
                           {"mode", {std::string("exact"), ""}},
                           {"path", {std::string("one\ntwo\\\\three=\n"), ""}},
                           {"rate", {0.1, ""}},
                           {"rows", {NumberTable{{1, -2.5, 3e100, 4, 5, 6}, 2, 3}, ""}}};
  const UserValues got = read(member_text(member(options)));
  ASSERT_EQ(got.size(), options.size());
  for (const auto& [name, value] : options) EXPECT_EQ(got.at(name).data, value.data) << name;
}

TEST(MemberText, ReadsBackEmptyListsAndTables) {
  const UserValues got =
      read(member_text(member({{"files", {std::vector<std::string>{}, ""}}, {"rows", {NumberTable{}, ""}}})));
  EXPECT_EQ(got.at("files").data, UserValue::Data(std::vector<std::string>{}));
  EXPECT_EQ(got.at("rows").data, UserValue::Data(NumberTable{}));
}

TEST(MemberText, HoldsMembersOfMembers) {
  const UserMember inner{"inner", std::make_shared<const UserValues>(UserValues{{"a", {std::string("x\ny"), ""}}})};
  const UserValues got = read(member_text(member({{"path", {inner, ""}}})));
  EXPECT_EQ(std::get<std::string>(got.at("path").data), member_text(inner));
}

TEST(MemberText, RefusesWhatIsNoOption) {
  EXPECT_EQ(refused("sample\ncount"), "the options of monitor `sample`: `count` is no option=value");
  EXPECT_NE(refused("sample\ncount=many").find("option `count` takes an integer"), std::string::npos);
  EXPECT_NE(refused("sample\ncount=3\ncount=4").find("option `count` is given twice"), std::string::npos);
  EXPECT_NE(refused("sample\nrows=1,2;3").find("rows of 2 and of 1 numbers"), std::string::npos);
  EXPECT_NE(refused("sample\nrows=1,two").find("`two` is no number"), std::string::npos);
}

TEST(SettingsOfMembers, AreTextOfTheMember) {
  Descriptor descriptor = sample();
  for (Option& option : descriptor.options)
    if (option.name == "path") option.flags |= BALEEN_OPTION_MEMBER;
  const auto text_of = [&](UserValue::Data data) {
    const auto storage = SettingsStorage::build(descriptor, {{"path", {std::move(data), ""}}}, {});
    return storage ? std::string(Settings(storage->get()).text("path")) : storage.error().text();
  };
  EXPECT_EQ(text_of(std::string("other")), "other");
  EXPECT_EQ(text_of(member({{"count", {std::int64_t{3}, ""}}})), "sample\ncount=3");
  EXPECT_NE(text_of(true).find("takes a plugin's name, with options or without"), std::string::npos);
  const auto plain = SettingsStorage::build(sample(), {{"path", {member({}), "a:1"}}}, {});
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().text(),
            "a:1: monitor `sample`: option `path` takes a string, not a plugin with options ({ plugin = \"sample\" })");
}

/// A plugin that was opened through a registry, and what its host opens for it: a copy under another name.
class HostOpens : public testing::Test {
 protected:
  HostOpens() {
    folder_.write("outer.so", copy("outer"));
    folder_.write("other.so", copy("other"));
    registry_ = std::make_unique<Registry>(*Registry::discover(std::vector<PluginPlace>{{folder_.path(), ""}}, Log()));
    outer_ = std::make_unique<Plugin>(*registry_->open(*registry_->find("monitor", "outer")));
  }
  static std::string copy(const std::string& name) {
    std::string bytes = test::read_file(SAMPLE);
    const std::size_t at = bytes.find("BALEEN01");
    baleen_descriptor_t record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    std::strncpy(record.name, name.c_str(), sizeof record.name - 1);
    std::memcpy(bytes.data() + at, &record, sizeof record);
    return bytes;
  }
  Result<OpenedMember> open(const std::string& text) const {
    return OpenedMember::open(Host(outer_->host()), Settings(settings_->get()), "monitor", text);
  }
  std::string refusal(const std::string& text) const {
    try {
      return open(text) ? "opened" : "failed otherwise";
    } catch (const Failed& failed) {
      return outer_->failure(failed.status).text();
    }
  }
  const test::TemporaryFolder folder_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Plugin> outer_;
  const Result<SettingsStorage> settings_ =
      SettingsStorage::build(sample(), {{"path", {std::string("p"), ""}}}, {42, "/folder", "", 1, 3});
};

TEST_F(HostOpens, AMemberWithItsOptionsAndTheCallersPlace) {
  const auto member = open("other\npath=log\ncount=3");
  ASSERT_TRUE(member) << member.error().text();
  EXPECT_EQ(member->name(), "other");
  EXPECT_NE(member->table<baleen_monitor_t>().record, nullptr);
  const Settings settings(&member->settings());
  EXPECT_EQ(settings.text("path"), "log");
  EXPECT_EQ(settings.integer("count"), 3);
  EXPECT_EQ(settings.text("mode"), "fast");
  EXPECT_EQ(settings.seed(), 42u);
  EXPECT_EQ(settings.folder(), "/folder");
  EXPECT_EQ(settings.local_rank(), 1u);
  EXPECT_EQ(settings.local_ranks(), 3u);
}

TEST_F(HostOpens, AMemberByItsFile) { EXPECT_EQ(open((folder_ / "other.so") + "\npath=log")->name(), "other"); }

TEST_F(HostOpens, AMemberThatTellsWhyItFails) {
  const auto member = open("other\npath=nowhere");
  ASSERT_TRUE(member);
  void* monitor = nullptr;
  const auto status = member->table<baleen_monitor_t>().create(member->host(), &member->settings(), &monitor);
  EXPECT_EQ(status, BALEEN_INVALID);
  EXPECT_EQ(member->failure(status).text(), "monitor `other`: sample.cpp:1:2: cannot open nowhere");
}

TEST_F(HostOpens, NothingThatIsUnknownOrHasWrongOptions) {
  EXPECT_EQ(refusal("othr"), "monitor `outer`: unknown monitor plugin `othr`; did you mean `other`?");
  EXPECT_NE(refusal("other").find("monitor `other`: option `path` is required"), std::string::npos);
  EXPECT_NE(refusal("other\npath=log\ncount=65").find("option `count` must be from 1 to 64"), std::string::npos);
  EXPECT_NE(refusal("other\npath=log\ncuont=6").find("unknown option `cuont`; did you mean `count`?"),
            std::string::npos);
}

TEST_F(HostOpens, NothingForWhoWasOpenedAlone) {
  folder_.write("alone.so", copy("alone"));
  const Plugin alone = *Plugin::open(*read_descriptor(folder_ / "alone.so"), Log());
  const auto member = OpenedMember::open(Host(alone.host()), Settings(settings_->get()), "monitor", "other\npath=log");
  ASSERT_FALSE(member);
  EXPECT_NE(member.error().text().find("this host opens none"), std::string::npos);
}

}  // namespace
}  // namespace baleen
