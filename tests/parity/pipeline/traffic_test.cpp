/// \file What stages send each other: the activations of each boundary forward and their gradients back, once per
/// micro-batch (parallel.md: bsh per boundary, direction and micro-batch), whatever the schedule.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline_run.hpp"

namespace baleen::test {
namespace {

constexpr int kRanks = 4, kRows = 2;
constexpr double kActivation = kRows * 12 * 24 * 4;  // two rows of twelve tokens of 24 numbers in fp32

std::vector<std::string> arguments_of(int micro_batches) {
  return {"layers=8", "batch=" + std::to_string(kRows * micro_batches), "accumulate=" + std::to_string(micro_batches)};
}

/// By rank: a boundary between two stages of one rank is crossed in its memory.
std::vector<double> closed_form(const std::string& schedule, int micro_batches) {
  const bool chunks = schedule == "interleaved" || schedule == "looped" || schedule == "zero_bubble_v";
  const int stages = chunks ? 2 * kRanks : kRanks;
  const auto rank_of = [&](int stage) {
    return static_cast<std::size_t>(schedule == "zero_bubble_v" && stage >= kRanks ? 2 * kRanks - 1 - stage
                                                                                   : stage % kRanks);
  };
  std::vector<double> sent(kRanks);
  for (int stage = 0; stage + 1 < stages; ++stage) {
    if (rank_of(stage) == rank_of(stage + 1)) continue;
    sent[rank_of(stage)] += micro_batches * kActivation;
    sent[rank_of(stage + 1)] += micro_batches * kActivation;
  }
  return sent;
}

class PipelineTraffic : public ::testing::TestWithParam<std::string> {};

TEST_P(PipelineTraffic, IsThatOfTheBoundaries) {
  for (const int micro_batches : {8, 12}) {
    const std::string manifest = manifest_of({{"pipeline", kRanks}}, pipeline_entry(schedule_option(GetParam())));
    const std::vector<double> expected = closed_form(GetParam(), micro_batches);
    const ProcessResult planned = run_parity({"plan", "--json"}, "gpt", manifest, arguments_of(micro_batches));
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    std::size_t seen = 0;
    const nlohmann::json plan = nlohmann::json::parse(planned.out);
    for (const auto& one : plan.at("classes"))
      for (const auto& range : one.at("ranks"))
        for (auto rank = range.at(0).get<std::size_t>(); rank <= range.at(1).get<std::size_t>(); ++rank, ++seen)
          EXPECT_EQ(one.at("sent_bytes").at("send.pipeline").get<double>(), expected.at(rank))
              << micro_batches << " micro-batches, rank " << rank;
    EXPECT_EQ(seen, static_cast<std::size_t>(kRanks));
    const auto ran = account_of("gpt", manifest, kRanks, arguments_of(micro_batches));
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(ran.at(rank).at("sent_bytes.send.pipeline"), expected.at(rank)) << micro_batches << ", rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, PipelineTraffic, ::testing::ValuesIn(kSchedules),
                         [](const auto& info) { return info.param; });

/// In halves where another axis cuts the batch.
TEST(PipelineTrafficBeside, IsCutWithTheBatch) {
  const auto account =
      account_of("gpt", manifest_of({{"pipeline", 2}, {"data", 2}}, pipeline_entry("") + all_beside()[1].plan), 4,
                 arguments_of(8));
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(account.at(rank).at("sent_bytes.send.pipeline"), 8 * kActivation / 2) << rank;
}

}  // namespace
}  // namespace baleen::test
