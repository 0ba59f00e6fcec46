/// \file The host's cores beside a device: what is launched runs in order, behind what it waits for, and a failure goes
/// on to who waits for it.
#include "core/execute/host_cores.hpp"

#include <gtest/gtest.h>

#include "baleen/event.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

baleen_event_t event() { return {sizeof(baleen_event_t), 0, 0, nullptr}; }

class HostCoresTest : public testing::Test {
 protected:
  HostCoresTest() : device_(make_device(CPU, {{"threads", "1"}})), host_(make_device(CPU, {{"threads", "1"}})) {
    auto made = HostCores::create(*device_, *host_, 4096);
    if (made) cores_ = *std::move(made);
  }
  void SetUp() override { ASSERT_TRUE(cores_); }

  std::unique_ptr<Device> device_, host_;
  std::unique_ptr<HostCores> cores_;
};

TEST_F(HostCoresTest, CopyFromAndToPinnedMemoryBehindWhatTheyWaitFor) {
  baleen_event_t ready = event(), out = event(), in = event();
  std::vector<int> values(64, 7), back(64, 0);
  event_signal(ready, 3);
  ASSERT_TRUE(cores_->copy(true, cores_->pinned(), values.data(), 256, {&ready, 3}, {&out, 1}));
  ASSERT_TRUE(cores_->copy(false, back.data(), cores_->pinned(), 256, {&out, 1}, {&in, 1}));
  event_wait(in, 1);
  EXPECT_EQ(back, values);
}

/// Nobody waits for ever, and the first cause is told.
TEST_F(HostCoresTest, FailWithWhatTheyWaitFor) {
  baleen_event_t ready = event(), first = event(), second = event();
  HostCores::Launch launch;
  launch.after[0] = {&ready, 1};
  launch.done = {&first, 1};
  cores_->launch(launch);
  launch.after[0] = {&first, 1};
  launch.done = {&second, 1};
  cores_->launch(launch);
  EXPECT_EQ(event_value(first), 0u) << "it waits";
  EXPECT_TRUE(cores_->check());
  event_signal(ready, BALEEN_EVENT_FAILED);
  event_wait(second, 1);
  EXPECT_EQ(event_value(first), BALEEN_EVENT_FAILED);
  EXPECT_EQ(event_value(second), BALEEN_EVENT_FAILED);
  const Status failed = cores_->check();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("waits for what the device has not brought"), std::string::npos);
}

/// More than are kept at a time: who enqueues waits, and all come to their end.
TEST_F(HostCoresTest, TakeMoreThanTheyKeep) {
  constexpr std::uint64_t kMany = 5000;
  baleen_event_t ready = event(), done = event();
  event_signal(ready, BALEEN_EVENT_FAILED);
  HostCores::Launch launch;
  launch.after[0] = {&ready, 1};
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    launch.done = {&done, i};
    cores_->launch(launch);
  }
  cores_.reset();
  EXPECT_EQ(event_value(done), BALEEN_EVENT_FAILED);
}

}  // namespace
}  // namespace baleen::test
