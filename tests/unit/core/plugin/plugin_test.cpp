/// \file Opening a plugin, and how its failures and lines reach the host.
#include "core/plugin/plugin.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "baleen/monitor.h"
#include "baleen/optimizer.h"
#include "core/plugin/settings.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen {
namespace {

class OpenPlugin : public testing::Test {
 protected:
  const Descriptor descriptor_ = *read_descriptor(SAMPLE);
  const Log log_;
  const Plugin plugin_ = *Plugin::open(descriptor_, log_);

  Status create(const std::string& path) {
    const auto table = plugin_.table<baleen_monitor_t>("monitor");
    const auto settings = SettingsStorage::build(descriptor_, {{"path", {path, ""}}}, {});
    void* monitor = nullptr;
    return plugin_.check((*table)->create(plugin_.host(), settings->get(), &monitor));
  }
};

TEST_F(OpenPlugin, HasItsKindsTable) {
  const auto table = plugin_.table<baleen_monitor_t>("monitor");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ((*table)->size, sizeof(baleen_monitor_t));
  EXPECT_NE((*table)->record, nullptr);
  EXPECT_EQ((*table)->spans, nullptr);
}

TEST_F(OpenPlugin, RefusesAnotherKindsTable) {
  const auto table = plugin_.table<baleen_optimizer_t>("optimizer");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, BALEEN_INTERNAL);
}

TEST_F(OpenPlugin, IsStartedOnce) {
  const auto again = Plugin::open(descriptor_, log_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->host(), plugin_.host());
}

TEST_F(OpenPlugin, FailsWithItsOwnText) {
  const Status status = create("/nowhere");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_INVALID);
  EXPECT_EQ(status.error().text(), "monitor `sample`: sample.cpp:1:2: cannot open /nowhere");
}

TEST_F(OpenPlugin, TurnsItsExceptionsIntoFailures) {
  const Status status = create("throw");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_INTERNAL);
  EXPECT_EQ(status.error().text(), "monitor `sample`: thrown inside");
}

TEST_F(OpenPlugin, IsNotNamedTwice) {
  const baleen_host_t* host = plugin_.host();
  const std::string_view text = "monitor `sample` writes nothing";
  host->fail(host->self, BALEEN_INVALID, {text.data(), text.size()});
  EXPECT_EQ(plugin_.failure(BALEEN_INVALID).text(), text);
}

TEST_F(OpenPlugin, ForgetsAFailureOnceItIsTold) {
  ASSERT_FALSE(create("/nowhere"));
  EXPECT_EQ(plugin_.failure(BALEEN_IO).text(), "monitor `sample`: failed without a reason (its own bug)");
}

TEST_F(OpenPlugin, KeepsFailuresPerThread) {
  const baleen_host_t* host = plugin_.host();
  host->fail(host->self, BALEEN_IO, {"mine", 4});
  std::jthread([&] { host->fail(host->self, BALEEN_IO, {"theirs", 6}); }).join();
  EXPECT_EQ(plugin_.failure(BALEEN_IO).text(), "monitor `sample`: mine");
}

TEST_F(OpenPlugin, CannotInventAStatus) { EXPECT_EQ(plugin_.failure(4711).code, BALEEN_INTERNAL); }

TEST_F(OpenPlugin, HasNoUnknownPowers) {
  const baleen_host_t* host = plugin_.host();
  EXPECT_EQ(host->query(host->self, {"baleen.host.nothing/1", 21}), nullptr);
}

TEST(OpenPluginLog, CarriesThePluginsName) {
  // The first to open a plugin gives it its log, so this test uses a copy of the library.
  const test::TemporaryFolder folder;
  const std::filesystem::path copy = folder / "baleen_sample_copy.so";
  std::filesystem::copy_file(SAMPLE, copy);
  const Log log;
  const auto plugin = Plugin::open(*read_descriptor(copy), log);
  ASSERT_TRUE(plugin) << plugin.error().text();
  const auto settings = SettingsStorage::build(plugin->descriptor(), {{"path", {std::string("log"), ""}}}, {});
  void* monitor = nullptr;
  ASSERT_TRUE(
      plugin->check((*plugin->table<baleen_monitor_t>("monitor"))->create(plugin->host(), settings->get(), &monitor)));
  EXPECT_TRUE(log.recorded().back().ends_with("warning: monitor `sample`: a line of the plugin"))
      << log.recorded().back();
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace baleen
