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

/// They come again under their old numbers, in later steps.
TEST(LaunchLog, RemembersKeptLaunches) {
  LaunchLog log;
  const std::vector<unsigned> numbers{log.begin(label("first"), 1, 2), log.begin(label("tokens", {5, -100}), 1, 2)};
  EXPECT_EQ(log.micro(), 2u);
  const auto all = log.keep(numbers);
  for (std::uint64_t step = 2; step < 6000; ++step) log.begin(all, step, 2);
  EXPECT_EQ(log.wrong_id(record(numbers[1], 7, 9)).text(),
            "tokens: id 9 at position 7 is outside [0, 5) and is not the ignored -100 in step 5999");
  EXPECT_NE(log.wrong_id(record(numbers[0], 7, 9)).message.find("too long ago"), std::string::npos);
  log.settle();
  log.begin(all, 6000, 2);
  EXPECT_EQ(log.pending(),
            "in step 6000, micro-batch 2, in a sequence of 2 launches from matmul `first` to fp32 [2, 3] to matmul "
            "`tokens` to fp32 [2, 3]");
}

}  // namespace
}  // namespace baleen::cuda
