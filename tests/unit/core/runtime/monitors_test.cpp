/// \file What monitors are told, and in which order.
#include <gtest/gtest.h>

#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

TEST(Monitors, AreToldEverythingInOrder) {
  TemporaryFolder folder;
  SmallRun run(folder);
  ASSERT_TRUE(run.status) << run.status.error().text();
  run.session->start();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run.session->step());
  ASSERT_TRUE(run.session->evaluate(1));
  run.session->note("half-way");
  run.session->finish();
  const auto lines = run.finish();
  const std::vector<std::vector<std::string>> expected{
      {"\"start\"", "\"parameters\"", "\"planned_bytes\"", "small"},
      {"\"step\"", "\"loss\"", "\"gradient_norm\"", "\"lr\"", "\"units_per_second\"", "\"step_ms\"", "\"data_ms\"",
       "\"forward_ms\"", "\"backward_ms\"", "\"update_ms\"", "\"memory_bytes\"", "\"flops_per_second\""},
      {"\"step\"", "\"step\":2"},
      {"\"step\"", "\"step\":3"},
      {"\"evaluate\"", "\"held_out_loss\""},
      {"\"note\"", "half-way"},
      {"\"finish\"", "\"loss\"", "\"held_out_loss\""}};
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const std::string& part : expected[i])
      EXPECT_NE(lines[i].find(part), std::string::npos) << part << " in " << lines[i];
}

/// A file for programs is none of those.
TEST(Monitors, ThatShowNothingToPeopleAreNotToldWhatAScriptPrints) {
  TemporaryFolder folder;
  SmallRun run(folder);
  ASSERT_TRUE(run.status) << run.status.error().text();
  EXPECT_FALSE(run.session->print("hello"));
  EXPECT_TRUE(run.finish().empty());
}

}  // namespace
}  // namespace baleen::test
