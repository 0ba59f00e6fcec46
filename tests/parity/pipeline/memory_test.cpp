/// \file The activations of each stage: what is planned is what a run allocates, and grows with the micro-batches in
/// flight as the formulas say (Narayanan et al., arXiv 2104.04473).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline_run.hpp"

namespace baleen::test {
namespace {

/// Four stages of eight like blocks. The batch grows with the micro-batches, so each has the same size.
std::vector<std::string> arguments_of(int micro_batches) {
  return {"layers=8", "batch=" + std::to_string(2 * micro_batches), "accumulate=" + std::to_string(micro_batches)};
}

/// Calls visit(rank, planned bytes by kind) for every rank of a plan.
template <class Visit>
void for_each_rank(const std::string& schedule, int micro_batches, Visit&& visit) {
  const ProcessResult result =
      run_parity({"plan", "--json"}, "gpt", manifest_of({{"pipeline", 4}}, pipeline_entry(schedule_option(schedule))),
                 arguments_of(micro_batches));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::size_t ranks = 0;
  const nlohmann::json plan = nlohmann::json::parse(result.out);
  for (const auto& one : plan.at("classes"))
    for (const auto& range : one.at("ranks"))
      for (auto rank = range.at(0).get<std::size_t>(); rank <= range.at(1).get<std::size_t>(); ++rank, ++ranks)
        visit(rank, one.at("planned_bytes"));
  EXPECT_EQ(ranks, 4u);
}

/// Bytes of activations that are planned for each stage.
std::vector<double> activations(const std::string& schedule, int micro_batches) {
  std::vector<double> bytes(4);
  for_each_rank(schedule, micro_batches, [&](std::size_t rank, const nlohmann::json& planned) {
    bytes.at(rank) = planned.at("activations").get<double>();
  });
  return bytes;
}

/// What one more micro-batch in flight costs a stage, from GPipe, which holds all of them: the same for any number.
/// 1F1B holds as many as its formula says, to the byte; where there are more, it asks for the next one's input ahead.
TEST(PipelineMemory, IsThatOfTheFormulas) {
  const double boundary = 2 * 12 * 24 * 4;  // two rows of twelve tokens of 24 numbers
  const std::vector<double> five = activations("gpipe", 5), six = activations("gpipe", 6),
                            nine = activations("gpipe", 9);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const double each = six[stage] - five[stage];
    EXPECT_GT(each, 20 * boundary);
    EXPECT_EQ(nine[stage], six[stage] + 3 * each) << "stage " << stage;
    for (const int micro_batches : {4, 6, 12}) {
      const double in_flight = std::min<double>(micro_batches, 4 - static_cast<double>(stage));
      const double ahead = stage > 0 && micro_batches > in_flight ? boundary : 0;
      EXPECT_EQ(activations("1f1b", micro_batches)[stage], five[stage] + (in_flight - 5) * each + ahead)
          << "stage " << stage << ", " << micro_batches << " micro-batches, each " << each;
    }
  }
}

/// A run reports what it has allocated for.
TEST(PipelineMemory, IsWhatARunAllocates) {
  for (const std::string& schedule : kSchedules) {
    const auto account = account_of("gpt", manifest_of({{"pipeline", 4}}, pipeline_entry(schedule_option(schedule))), 4,
                                    arguments_of(8));
    for_each_rank(schedule, 8, [&](std::size_t rank, const nlohmann::json& planned) {
      for (const std::string kind : {"activations", "gradients", "scratch", "total"})
        EXPECT_EQ(account.at(rank).at("planned_bytes." + kind), planned.at(kind).get<double>())
            << schedule << ", rank " << rank << ": " << kind;
      EXPECT_EQ(account.at(rank).at("allocated_bytes") + planned.at("device").get<double>(),
                planned.at("total").get<double>());
    });
  }
}

/// H1 holds what the first stage of 1F1B holds, on every rank; H2 and interleaved chunks more, V no more.
TEST(PipelineMemory, OfZeroBubbles) {
  const auto plain = activations("1f1b", 8), h1 = activations("zero_bubble", 8), h2 = activations("zero_bubble_h2", 8),
             v = activations("zero_bubble_v", 8);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_LT(h1[stage], 1.15 * plain[0]) << stage;
    EXPECT_LT(h2[stage], 2.0 * h1[stage]) << stage;
    EXPECT_LT(v[stage], 1.45 * plain[0]) << stage;
  }
  EXPECT_GT(h2[0], 1.4 * plain[0]);
}

}  // namespace
}  // namespace baleen::test
