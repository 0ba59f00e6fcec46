/// \file `baleen run --profile` from outside, on one and on two ranks.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using nlohmann::json;

class ProfiledRun : public testing::TestWithParam<int> {};

TEST_P(ProfiledRun, PrintsOpsAndWritesATracePerRank) {
  const TemporaryFolder folder;
  const std::string trace = folder / "spans.json";
  const ProcessResult result =
      run_baleen({"run", source_dir() + "/examples/01_hello/train.lua", "--steps", "3", "--profile", "--trace", trace,
                  "--set", "mesh.data=" + std::to_string(GetParam())});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("profile: 2 steps of "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("whole step\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("GFLOP/s and "), std::string::npos) << result.out;
  for (int rank = 0; rank < GetParam(); ++rank) {
    const std::string path = rank == 0 ? trace : folder / ("spans.rank" + std::to_string(rank) + ".json");
    bool computes = false;
    for (const json& event : json::parse(read_file(path))) {
      EXPECT_EQ(event["pid"], rank);
      computes |= event["ph"] == "X" && event["cat"] == "compute";
    }
    EXPECT_TRUE(computes) << path;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / ("spans.rank" + std::to_string(GetParam()) + ".json")));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProfiledRun, testing::Values(1, 2));

}  // namespace
