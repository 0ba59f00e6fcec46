/// \file Schedules with the same stages add up the same terms in the same order: every bit of losses, parameters and
/// what is generated is that of 1F1B.
#include <gtest/gtest.h>

#include "pipeline_run.hpp"

namespace baleen::test {
namespace {

struct Trained {
  std::string parameters, losses;
};

/// The loss of every step in the log, with all its digits.
std::string losses_in(const std::string& log) {
  std::string losses;
  const std::string key = "\"loss\":";
  for (auto at = log.find(key); at != std::string::npos; at = log.find(key, at + 1))
    losses += log.substr(at + key.size(), log.find_first_of(",}", at) - at - key.size()) + " ";
  return losses;
}

Trained train(const MeshAxes& mesh, const std::string& plan, bool tied) {
  const TemporaryFolder folder;
  const std::string model = folder / "model.safetensors", log = folder / "log.jsonl";
  std::vector<std::string> arguments{"layers=7", "batch=16", "accumulate=8", "clip=0.5", "dropout=0.2", "masked=101"};
  if (tied) arguments.emplace_back("tied");
  const ProcessResult result = run_parity({"run", "--steps", "6", "--save", model, "--log-json", log}, "gpt",
                                          manifest_of(mesh, plan), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  return {read_file(model), losses_in(read_file(log))};
}

class PipelineBits : public ::testing::TestWithParam<Beside> {};

TEST_P(PipelineBits, AreThoseOf1F1B) {
  const Beside& beside = GetParam();
  const MeshAxes mesh = mesh_of(beside, 4);
  if (const std::string missing = missing_strategy(manifest_of(mesh, beside.plan)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  // In the order "back" one rank has the first and the last stage: it adds the two gradients of a tied embedding in
  // each micro-batch, as one rank alone does, where others add their sums.
  for (const bool tied : {true, false}) {
    const Trained expected = train(mesh, pipeline_entry("") + beside.plan, tied);
    EXPECT_FALSE(expected.parameters.empty());
    EXPECT_GT(expected.losses.size(), 6u * 5);
    for (const std::string& schedule : kSchedules) {
      if (schedule == "1f1b" || (schedule == "zero_bubble_v") == tied) continue;
      const Trained own = train(mesh, pipeline_entry(schedule_option(schedule)) + beside.plan, tied);
      EXPECT_EQ(own.losses, expected.losses) << schedule;
      EXPECT_TRUE(own.parameters == expected.parameters) << schedule;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnFour, PipelineBits, ::testing::ValuesIn(all_beside()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
