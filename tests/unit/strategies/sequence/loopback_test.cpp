/// \file Ranks that share sequences in one process: threads over the reference transport, so that sanitizers see them.
#include <gtest/gtest.h>

#include <cmath>

#include "support/ranks.hpp"
#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

constexpr int kSteps = 6;

using Losses = std::vector<double>;

Losses losses_of(const JobOptions& options) {
  const TemporaryFolder folder;
  SmallRun run(folder, options);
  if (!run.status) throw std::runtime_error(run.status.error().text());
  Losses losses;
  for (int step = 0; step < kSteps; ++step) {
    const auto facts = run.session->step();
    if (!facts) throw std::runtime_error(facts.error().text());
    losses.push_back(facts->at("loss"));
  }
  return losses;
}

class SequenceRanks : public ::testing::TestWithParam<std::tuple<std::string, std::int32_t, std::int64_t>> {};

TEST_P(SequenceRanks, ComputeWhatOneRankComputes) {
  const auto& [mode, ranks, accumulate] = GetParam();
  JobOptions options;
  options.attention = true;
  options.accumulate = accumulate;
  const Losses one = losses_of(options);
  options.mesh.axes = {{"sequence", ranks}};
  options.strategies = {{"sequence", {{"mode", {mode, "test"}}}, {}, "test"}};
  options.transport = "loopback";
  SharedRendezvous rendezvous;
  std::vector<Losses> all(static_cast<std::size_t>(ranks));
  const std::string failures = run_bodies(As::kThreads, ranks, [&, ranks = ranks](std::int32_t rank) {
    const baleen_rendezvous_t own = rendezvous.of(rank, ranks);
    JobOptions mine = options;
    mine.rendezvous = &own;
    all[static_cast<std::size_t>(rank)] = losses_of(mine);
  });
  ASSERT_EQ(failures, "");
  for (const Losses& losses : all) {
    EXPECT_EQ(losses, all[0]);
    for (std::size_t step = 0; step < kSteps; ++step)
      EXPECT_NEAR(losses[step], one[step], 1e-10 * std::abs(one[step])) << step;
  }
  EXPECT_NE(one.front(), one.back());
}

/// Eight tokens; two heads.
INSTANTIATE_TEST_SUITE_P(Loopback, SequenceRanks,
                         ::testing::Values(std::tuple{"ring", 2, 1}, std::tuple{"ring", 2, 2}, std::tuple{"ring", 4, 2},
                                           std::tuple{"ulysses", 2, 1}, std::tuple{"ulysses", 2, 4}),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::to_string(std::get<1>(info.param)) + "in" +
                                  std::to_string(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace baleen::test
