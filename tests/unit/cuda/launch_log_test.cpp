/// \file Words for errors that show after the launch.
#include "launch_log.hpp"

#include <gtest/gtest.h>

namespace baleen::cuda {
namespace {

std::shared_ptr<const Label> label(const std::string& op, IdRange range = {}) {
  return std::make_shared<Label>(Label{op, "matmul `" + op + "` to fp32 [2, 3]", range});
}
IdRecord record(unsigned launch, unsigned long long position, std::int32_t id) {
  return {launch, 0, ~0ull - (position << 32 | static_cast<std::uint32_t>(id))};
}

TEST(LaunchLog, NamesTheOnlyLaunchWithItsTensor) {
  LaunchLog log;
  log.begin(label("up"), 7, 1);
  EXPECT_EQ(log.pending(), "in step 7, micro-batch 1, in matmul `up` to fp32 [2, 3]");
}
TEST(LaunchLog, NamesTheLaunchesAmongWhichItWas) {
  LaunchLog log;
  log.begin(label("settled"), 1, 0);
  log.settle();
  for (const char* op : {"first", "second", "last"}) log.begin(label(op), 2, 0);
  EXPECT_EQ(
      log.pending(),
      "in step 2, micro-batch 0, in one of 3 launches from matmul `first` to fp32 [2, 3] to matmul `last` to fp32 "
      "[2, 3]; the option `checked` makes the next run name it");
  log.settle();
  EXPECT_EQ(log.pending(), "outside of any kernel");
}
TEST(LaunchLog, ForgetsWhatIsLongAgo) {
  LaunchLog log;
  for (int i = 0; i < 5000; ++i) log.begin(label("one"), 1, 0);
  EXPECT_NE(log.pending().find("in one of 5000 launches to matmul"), std::string::npos) << log.pending();
  EXPECT_NE(log.wrong_id(record(3, 0, 9)).message.find("too long ago"), std::string::npos);
}
TEST(LaunchLog, NamesTheIdItsPlaceAndItsOp) {
  LaunchLog log;
  log.begin(label("other"), 1, 0);
  const unsigned number = log.begin(label("tokens", {5, -100}), 4, 0);
  const Error negative = log.wrong_id(record(number, 1234567, -3));
  EXPECT_EQ(negative.text(),
            "tokens: id -3 at position 1234567 is outside [0, 5) and is not the ignored -100 in step 4");
  EXPECT_EQ(negative.code, BALEEN_INVALID);
}

}  // namespace
}  // namespace baleen::cuda
