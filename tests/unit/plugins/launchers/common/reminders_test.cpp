/// \file How often a wait is told, without waiting.
#include "common/reminders.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace baleen::launchers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// When a wait of that length is told, looked at every `tick`; `least` may depend on the time.
template <class Least>
std::vector<Clock::duration> told(Clock::duration wait, Clock::duration tick, const Least& least) {
  Reminders reminders(Timeouts().remind);
  std::vector<Clock::duration> times;
  for (Clock::duration waited{}; waited < wait; waited += tick)
    if (reminders.are_due(waited, least(waited))) times.push_back(waited);
  return times;
}
const auto none = [](Clock::duration) { return Clock::duration{}; };

/// As docs/limits.md says, to the end of the longest wait.
TEST(Reminders, ComeAfterTwoSecondsAndThenTwiceAsLate) {
  std::vector<Clock::duration> expected;
  for (int after = 2; after < 600; after *= 2) expected.push_back(seconds(after));
  EXPECT_EQ(told(Timeouts().give_up, milliseconds(50), none), expected);
  EXPECT_LE(expected.size(), 9u) << "a long stall fills the log";
}

/// Who may not speak for long does not catch up on it then.
TEST(Reminders, AreNotMadeUpFor) {
  const auto late = [](Clock::duration) { return Clock::duration(seconds(20)); };
  EXPECT_EQ(told(seconds(100), milliseconds(50), late),
            (std::vector<Clock::duration>{seconds(20), seconds(32), seconds(64)}));
  const auto at_first = [](Clock::duration waited) { return Clock::duration(seconds(waited < seconds(5) ? 30 : 0)); };
  EXPECT_EQ(told(seconds(30), seconds(1), at_first),
            (std::vector<Clock::duration>{seconds(5), seconds(8), seconds(16)}));
  EXPECT_EQ(told(seconds(60), seconds(13), none), (std::vector<Clock::duration>{seconds(13), seconds(26), seconds(39)}))
      << "a launcher that looks seldom";
}

TEST(UsualWait, GrowsByAndBy) {
  UsualWait usual;
  EXPECT_EQ(usual.patience(), Clock::duration{});
  usual.saw(seconds(10));
  EXPECT_EQ(usual.patience(), seconds(1)) << "once is not usual";
  for (int i = 0; i < 9; ++i) usual.saw(seconds(10));
  EXPECT_EQ(usual.patience(), seconds(20));
  usual.saw(seconds(1));
  EXPECT_EQ(usual.patience(), seconds(20));
}

}  // namespace
}  // namespace baleen::launchers
