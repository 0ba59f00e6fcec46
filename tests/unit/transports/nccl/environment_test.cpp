/// \file Variables that are set while other threads read the environment.
#include "environment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace baleen::nccl {
namespace {

TEST(Environment, HasTheNewValues) {
  ASSERT_EQ(setenv("BALEEN_TEST_OLD", "old", 1), 0);
  set_variables({{"BALEEN_TEST_NEW", "a"}, {"BALEEN_TEST_OLD", "b"}});
  EXPECT_STREQ(getenv("BALEEN_TEST_NEW"), "a");
  EXPECT_STREQ(getenv("BALEEN_TEST_OLD"), "b");
  EXPECT_EQ(getenv("BALEEN_TEST"), nullptr);
  // The system's own calls go on from there.
  ASSERT_EQ(setenv("BALEEN_TEST_OLD", "c", 1), 0);
  ASSERT_EQ(setenv("BALEEN_TEST_LATER", "d", 1), 0);
  EXPECT_STREQ(getenv("BALEEN_TEST_OLD"), "c");
  EXPECT_STREQ(getenv("BALEEN_TEST_NEW"), "a");
  ASSERT_EQ(unsetenv("BALEEN_TEST_NEW"), 0);
  EXPECT_EQ(getenv("BALEEN_TEST_NEW"), nullptr);
}

TEST(Environment, StaysWhereTheValuesAreThere) {
  set_variables({{"BALEEN_TEST_SAME", "1"}});
  char** const before = environ;
  set_variables({{"BALEEN_TEST_SAME", "1"}});
  EXPECT_EQ(environ, before);
  set_variables({{"BALEEN_TEST_SAME", "12"}});
  EXPECT_NE(environ, before);
  EXPECT_STREQ(getenv("BALEEN_TEST_SAME"), "12");
}

TEST(Environment, CanBeReadByOthersMeanwhile) {
  set_variables({{"BALEEN_TEST_FIXED", "fixed"}});
  std::atomic<bool> ends = false;
  std::atomic<int> wrong = 0;
  const auto reads = [&] {
    while (!ends) {
      const char* const value = getenv("BALEEN_TEST_FIXED");
      if (!value || std::strcmp(value, "fixed") != 0) ++wrong;
    }
  };
  const auto writes = [](const std::string& prefix) {
    for (int i = 0; i < 300; ++i) set_variables({{prefix + std::to_string(i), std::to_string(i)}});
  };
  {
    const std::jthread one(reads), other(reads);
    { const std::jthread first(writes, "BALEEN_TEST_A"), second(writes, "BALEEN_TEST_B"); }
    ends = true;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_STREQ(getenv("BALEEN_TEST_A299"), "299");
  EXPECT_STREQ(getenv("BALEEN_TEST_B0"), "0");
}

}  // namespace
}  // namespace baleen::nccl
