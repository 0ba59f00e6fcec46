/// \file The launcher of sample_launcher.cpp, opened with the options that a test gives.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "core/launch/rank_link.hpp"
#include "support/places.hpp"

namespace baleen {

inline Plugin sample_plugin() {
  static const Plugin plugin = *Plugin::open(*read_descriptor(SAMPLE), Log());
  return plugin;
}

inline Result<std::unique_ptr<LauncherMember>> sample(const UserValues& options, const LaunchJob& job = {}) {
  const auto settings = SettingsStorage::build(sample_plugin().descriptor(), options, {});
  if (!settings) return settings.error();
  return LauncherMember::create(sample_plugin(), *settings->get(), job);
}

inline UserValue number(std::int64_t value) { return {value, "test"}; }

/// A rank of several, over an empty store.
inline std::unique_ptr<RankLink> sample_link(int rank = 0, int ranks = 2, int patience_ms = 0) {
  auto launcher = sample({{"rank", number(rank)}, {"ranks", number(ranks)}, {"patience_ms", number(patience_ms)}});
  if (!launcher) throw std::runtime_error(launcher.error().text());
  return *RankLink::over(*std::move(launcher));
}

/// Ranks of one test know nothing of those of another.
class SampleTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(sample_link()->put("clear", "")); }
};

}  // namespace baleen
