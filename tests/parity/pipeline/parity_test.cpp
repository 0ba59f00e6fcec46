/// \file Every schedule, beside everything that it goes with, computes what one rank computes, with an embedding that
/// the first and the last stage share.
#include <gtest/gtest.h>

#include "pipeline_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string schedule;
  Beside beside;
  int ranks = 4;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.schedule << c.beside.name; }

std::vector<Case> matrix(int ranks) {
  std::vector<Case> all;
  for (const std::string& schedule : kSchedules)
    for (const Beside& beside : all_beside()) all.push_back({schedule, beside, ranks});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.schedule)
    if (c != '_') name += c;
  return name + info.param.beside.name;
}

class PipelineParity : public ::testing::TestWithParam<Case> {};

TEST_P(PipelineParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  // A stage per chunk on eight ranks: sixteen layers. Nine blocks on four ranks do not divide.
  const std::string layers = c.ranks == 8 ? "layers=15" : "layers=7";
  const std::string micro_batches = c.ranks == 8 ? "accumulate=16" : "accumulate=8";
  std::vector<std::string> arguments{layers,          micro_batches, c.ranks == 8 ? "batch=32" : "batch=16",
                                     "clip=0.5",      "dropout=0.2", "masked=101",
                                     "optimizer=lamb"};
  // Gathered again for the backward pass, a tied embedding comes to the last stage when the first gets there (refused
  // where that is a circle).
  if (c.beside.name != "Zero3") arguments.emplace_back("tied");
  verify_parity("gpt",
                manifest_of(mesh_of(c.beside, c.ranks), pipeline_entry(schedule_option(c.schedule)) + c.beside.plan),
                arguments);
}

INSTANTIATE_TEST_SUITE_P(OnFour, PipelineParity, ::testing::ValuesIn(matrix(4)), name_of);
INSTANTIATE_TEST_SUITE_P(OnEight, PipelineParity, ::testing::ValuesIn(matrix(8)), name_of);

struct Further {
  std::string name;
  MeshAxes mesh;
  std::string plan, script;
  std::vector<std::string> arguments;
};

void PrintTo(const Further& c, std::ostream* out) { *out << c.name; }

class FurtherParity : public ::testing::TestWithParam<Further> {};

TEST_P(FurtherParity, RanksComputeWhatOneRankComputes) {
  verify_parity(GetParam().script, manifest_of(GetParam().mesh, GetParam().plan), GetParam().arguments);
}

std::vector<Further> further() {
  const auto with = [](const std::string& strategy, const std::string& options = "",
                       const std::string& schedule = "1f1b") {
    return pipeline_entry(schedule_option(schedule)) + "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
  };
  const std::vector<std::string> everything{"layers=4",    "accumulate=4", "tied",     "clip=0.5",
                                            "dropout=0.2", "masked=101",   "hidden=33"};
  const std::vector<std::string> many{"layers=7", "batch=16", "accumulate=8", "clip=0.5"};
  const auto tokens = [&](const char* context) {
    std::vector<std::string> all = everything;
    all.emplace_back(context);
    return all;
  };
  return {
      {"Tensor2d", {{"pipeline", 2}, {"tensor", 4}}, with("tensor", "mode = \"2d\"\n"), "gpt", everything},
      {"Ulysses", {{"pipeline", 2}, {"sequence", 2}}, with("sequence", "", "interleaved"), "gpt", tokens("context=13")},
      {"Ring", {{"pipeline", 2}, {"sequence", 2}}, with("sequence", "mode = \"ring\"\n"), "gpt", tokens("context=16")},
      {"Megatron",
       {{"pipeline", 2}, {"tensor", 2}},
       with("tensor", "", "zero_bubble") + "[[plan]]\nstrategy = \"sequence\"\nmode = \"megatron\"\n",
       "gpt",
       tokens("context=13")},
      // Sums that begin while micro-batches are under way: a V's last gradients of one chunk are made behind those of
      // the other.
      {"BucketsBesideAV",
       {{"pipeline", 2}, {"data", 2}},
       with("data", "bucket_mb = 0\n", "zero_bubble_v"),
       "gpt",
       many},
      {"ShardsBesideAV",
       {{"pipeline", 2}, {"data", 2}},
       with("zero", "stage = 1\nbucket_mb = 0\n", "zero_bubble_v"),
       "gpt",
       many},
      {"ThreeRanksFiveBlocks", {{"pipeline", 3}}, pipeline_entry(""), "gpt", {"layers=5", "batch=12", "accumulate=6"}},
      {"ThreeChunks",
       {{"pipeline", 2}},
       pipeline_entry(schedule_option("interleaved") + "chunks = 3\n"),
       "gpt",
       {"layers=6", "accumulate=2", "dropout=0.2", "masked=101"}},
      {"Skips", {{"pipeline", 4}}, pipeline_entry(""), "pipeline/skips", {"accumulate=4"}},
      {"SkipsBackAgain",
       {{"pipeline", 2}},
       pipeline_entry(schedule_option("zero_bubble_v")),
       "pipeline/skips",
       {"accumulate=4"}},
      {"SkipsOverChunks",
       {{"pipeline", 2}},
       pipeline_entry(schedule_option("interleaved")),
       "pipeline/skips",
       {"accumulate=4"}},
      {"TableOfTheUser",
       {{"pipeline", 2}},
       pipeline_entry(schedule_option("table") +
                      "table = [\"F0 F1 F2 F3 B0 B1 W0 W1 B2 W2 B3 W3\", \"F0 B0 W0 F1 B1 F2 B2 W1 F3 B3 W2 W3\"]\n"),
       "gpt",
       {"accumulate=4", "tied"}},
      {"AdafactorDataInside",
       {{"data", 2}, {"pipeline", 2}},
       "[[plan]]\nstrategy = \"data\"\n" + pipeline_entry(""),
       "gpt",
       {"accumulate=4", "optimizer=adafactor"}},
  };
}

TEST(PipelineExample, ComputesWhatOneRankComputes) {
  expect_equal(run_baleen({"verify", source_dir() + "/examples/04_stages/train.lua", "--manifest",
                           source_dir() + "/examples/clusters/pipeline.toml", "--steps", "2", "--", "--data",
                           source_dir() + "/sdk/include"}),
               2);
}

INSTANTIATE_TEST_SUITE_P(Further, FurtherParity, ::testing::ValuesIn(further()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
