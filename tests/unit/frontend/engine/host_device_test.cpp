/// \file Who makes updates on the host's cores, and what is said where nobody can.
#include "frontend/engine/host_device.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "compiler/codegen/executable.hpp"
#include "support/places.hpp"

namespace baleen::app {
namespace {

Registry registry_of(const std::vector<std::string>& files) {
  std::vector<PluginPlace> places;
  for (const std::string& file : files) places.push_back({file, ""});
  auto found = Registry::discover(places, Log());
  if (!found) throw std::runtime_error(found.error().text());
  return *std::move(found);
}

TEST(HostDevice, IsTheBestThatWorksOnTheHostsMemory) {
  const auto chosen = choose_host_compute(registry_of({BALEEN_TEST_CUDA, BALEEN_TEST_CPU}), Manifest(), "cuda");
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->descriptor.name, "cpu");
}

TEST(HostDevice, IsRefusedWithTheRemedyWhereThereIsNone) {
  const auto none = choose_host_compute(registry_of({BALEEN_TEST_CUDA}), Manifest(), "cuda");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, BALEEN_UNSUPPORTED);
  for (const char* words :
       {"updates on the host's cores, which need a compute plugin that works on the host's memory beside `cuda`",
        "leave updates to the device"})
    EXPECT_NE(none.error().message.find(words), std::string::npos) << none.error().message;
}

TEST(HostDevice, IsToldOfInWords) {
  HostUpdateReport report;
  EXPECT_EQ(host_updates_text(report, ""), "");
  report.updates = 3;
  report.in_place_bytes = 2048;
  EXPECT_EQ(host_updates_text(report, ""), "3 updates run on the host's cores, in 2.0 KiB where they lie");
  report.on_device = {"a.m", "b.m", "c.m", "d.m", "e.m"};
  EXPECT_EQ(host_updates_text(report, ""),
            "3 updates run on the host's cores, in 2.0 KiB where they lie; 5 values are updated by the device, since "
            "their update is not elementwise: `a.m`, `b.m`, `c.m`, `d.m`, ...");
  report.beside_inside = {"a.m", "b.m", "c.m", "d.m"};
  EXPECT_EQ(host_updates_text(report, ""),
            "3 updates run on the host's cores, in 2.0 KiB where they lie; 1 values are updated by the device, since "
            "their update is not elementwise: `e.m`; 4 values are updated by the device, since a state of theirs lies "
            "in the device: name it in `states` too: `a.m`, `b.m`, `c.m`, `d.m`");
  report.updates = 0;
  EXPECT_EQ(host_updates_text(report, "it rains").substr(0, 56),
            "5 values are updated by the device, since it rains: `a.m");
}

}  // namespace
}  // namespace baleen::app
