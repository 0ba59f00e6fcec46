/// \file Promises that are kept late are seen, and those that are never kept fail: judged by another program
/// (child.cpp).
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class Promise : public testing::Test {
 protected:
  ProcessResult judge(const std::string& name, std::vector<std::string> environment = {}) {
    environment.push_back("BALEEN_TEST_LATE=" + late_);
    return run_process({built("tests/support_child"), "--gtest_filter=Promises." + name},
                       {{}, std::chrono::seconds(60), environment});
  }
  std::string told() const { return read_file(late_); }

  const TemporaryFolder folder_;
  const std::string late_ = folder_.write("late.txt", "before\n");
  static constexpr const char* kTriesOne = "BALEEN_PROMISE_TRIES=1";
};

TEST_F(Promise, KeptLateIsTold) {
  const ProcessResult result = judge("KeptAtTheSecondTry", {"BALEEN_PROMISE_TRIES="});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(told(), "before\nsupport_child/Promises.KeptAtTheSecondTry: try 1 took 2.50 s of 1 s\n");
}

TEST_F(Promise, HasAsManyTriesAsAreAllowed) {
  EXPECT_EQ(judge("KeptAtTheSecondTry", {kTriesOne}).exit_code, 1);
  const ProcessResult result = judge("NeverKept", {"BALEEN_PROMISE_TRIES="});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("promised within 1 s, it took 2.500000 s 2.500000 s 2.500000 s"), std::string::npos)
      << result.out;
  EXPECT_NE(told().find("try 3 took 2.50 s of 1 s\n"), std::string::npos) << told();
  EXPECT_EQ(judge("NeverKept", {"BALEEN_PROMISE_TRIES=none"}).exit_code, 1);
}

TEST_F(Promise, HasFourMoreTriesWhereTheMachineIsLate) {
  EXPECT_EQ(judge("KeptWhenTheMachineIsFree", {kTriesOne}).exit_code, 0);
  EXPECT_NE(told().find("try 3 took 2.50 s of 1 s\n"), std::string::npos) << told();
  const ProcessResult result = judge("NeverKeptOnABusyMachine", {kTriesOne});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("the machine woke a sleeping thread 0."), std::string::npos) << result.out;
  EXPECT_NE(told().find("try 5 took"), std::string::npos) << told();
  EXPECT_EQ(told().find("try 6 took"), std::string::npos) << told();
}

TEST_F(Promise, IsNotWaitedForWhereItHangs) {
  const ProcessResult result = judge("OfWhatHangs");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("it hangs"), std::string::npos) << result.out;
  EXPECT_EQ(told().find("try 2"), std::string::npos) << told();
}

}  // namespace
}  // namespace baleen::test
