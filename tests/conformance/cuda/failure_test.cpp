/// \file A device that fails for good, as far as the emulated one can: what is said, and that nobody waits for ever.
/// One case: the failure stays for the process.
#include <cstdlib>

#include "baleen/event.hpp"
#include "conformance/compute/harness.hpp"

namespace baleen::conformance {
namespace {

TEST(CudaFailure, IsNamedAndRaisesEverySignalUnderWay) {
  Plugin plugin(plugin_paths().at(0));
  Device device(plugin, {});
  const baleen_compute_t& table = plugin.table();
  std::vector<Tensor> y{zeros({3, 7})};
  ASSERT_EQ(device.run(OpSpec("softmax"), {zeros({3, 7})}, y, BALEEN_F32), BALEEN_OK) << plugin.last_failure();

  baleen_event_t before{}, after{};
  before.size = after.size = sizeof before;
  ASSERT_EQ(table.stream_signal(device.get(), device.stream(), &before, 1), BALEEN_OK);
  event_wait(before, 1);

  setenv("EMULATED_CUDA_FAULT", "baleen_softmax_f32", 1);
  EXPECT_EQ(device.run(OpSpec("softmax"), {zeros({3, 7})}, y, BALEEN_F32), BALEEN_INTERNAL);
  for (const char* part : {"CUDA_ERROR_ILLEGAL_ADDRESS", "in step 0", "softmax `suite.op` to fp32 [3, 7]"})
    EXPECT_NE(plugin.last_failure().find(part), std::string::npos) << plugin.last_failure();

  // The host function that would raise this event never runs.
  EXPECT_NE(table.stream_signal(device.get(), device.stream(), &after, 5), BALEEN_OK);
  EXPECT_TRUE(event_wait(after, 5, 20.0));
  EXPECT_EQ(event_value(after), BALEEN_EVENT_FAILED);
  EXPECT_EQ(event_value(before), 1u);
}

}  // namespace
}  // namespace baleen::conformance
