/// \file Exit codes, and what is said beside them.
#include "frontend/cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace baleen::app {
namespace {

TEST(ExitCode, TellsWhoseFaultItIs) {
  EXPECT_EQ(exit_code(BALEEN_OK), 0);
  for (const baleen_status_t status : {BALEEN_INVALID, BALEEN_UNSUPPORTED, BALEEN_NOT_FOUND, BALEEN_IO})
    EXPECT_EQ(exit_code(status), 2);
  EXPECT_EQ(exit_code(BALEEN_NO_MEMORY), 3);
  EXPECT_EQ(exit_code(BALEEN_PEER_LOST), 4);
  EXPECT_EQ(exit_code(BALEEN_INTERNAL), 70);
  EXPECT_EQ(exit_code(1234), 70);
}

std::string reported(const Error& error) {
  testing::internal::CaptureStderr();
  const Log log = Log::to_stderr();
  log.debug("what came before");
  report(log, error);
  return testing::internal::GetCapturedStderr();
}

TEST(Report, IsOneLineForAUsersMistake) {
  EXPECT_EQ(reported(invalid("bad value 3", "a.lua:1:2")), "error: a.lua:1:2: bad value 3\n");
}

TEST(Report, AddsTheFlightRecorderToOurOwnBug) {
  const std::string text = reported(internal("impossible"));
  EXPECT_TRUE(text.starts_with("error: impossible (this is a bug of")) << text;
  EXPECT_NE(text.find("debug: what came before"), std::string::npos) << text;
}

}  // namespace
}  // namespace baleen::app
