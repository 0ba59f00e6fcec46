/// \file What products pad, said once: in rank 0's log and by a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tensor_run.hpp"

namespace baleen::test {
namespace {

using Lines = std::multiset<std::string>;

/// The lines with a padding, without what stands before the strategy's name.
Lines paddings(const std::string& text) {
  Lines found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(" pad ") != std::string::npos)
      found.insert(line.substr(std::min(line.size(), line.find("strategy"))));
  return found;
}

Lines of_run(const std::string& mode, int ranks, const std::vector<std::string>& arguments) {
  const ProcessResult result =
      run_parity({"run", "--steps", "1"}, "gpt", tensor_manifest({{"tensor", ranks}}, mode), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return paddings(result.err);
}

Lines of_plan(const std::string& mode, int ranks, const std::vector<std::string>& arguments) {
  const ProcessResult result = run_parity({"plan"}, "gpt", tensor_manifest({{"tensor", ranks}}, mode), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return paddings(result.out);
}

std::string pads(const std::string& what, int from, int to) {
  return "strategy `tensor`: products pad " + what + " with zeros from " + std::to_string(from) + " to " +
         std::to_string(to) + ", which changes no number";
}

/// Two layers and two graphs pad the same. Three heads are 2 + 1, 33 columns 17 + 16, 5 rows 3 + 2.
TEST(TensorPadding, IsSaidOncePerDimension) {
  const std::vector<std::string> arguments{"heads=3", "hidden=33", "batch=5"};
  const Lines expected{pads("`heads`", 3, 4), pads("`ff`", 33, 34), pads("`batch`", 5, 6)};
  EXPECT_EQ(of_plan("mode = \"2d\"\n", 4, arguments), expected);
  EXPECT_EQ(of_run("mode = \"2d\"\n", 4, arguments), expected);
  // Eight ranks are two squares: four parts of the batch.
  const Lines stacked{pads("`heads`", 3, 4), pads("`ff`", 33, 34), pads("`batch`", 5, 8)};
  EXPECT_EQ(of_run("mode = \"2.5d\"\ndepth = 2\n", 8, arguments), stacked);
}

/// Each micro-batch is padded alike: 3 rows on two ranks are 2 + 1, twice.
TEST(TensorPadding, OfRowsIsOfEveryMicroBatch) {
  EXPECT_EQ(of_plan("mode = \"2d\"\n", 4, {"heads=4", "batch=6", "accumulate=2"}), (Lines{pads("`batch`", 6, 8)}));
}

TEST(TensorPadding, IsNotWhereSizesDivideOrBlocksMayBeShort) {
  EXPECT_EQ(of_plan("mode = \"2d\"\n", 4, {"heads=4"}), Lines());
  EXPECT_EQ(of_plan("mode = \"1d\"\n", 2, {"heads=3", "hidden=33"}), Lines());
  EXPECT_EQ(of_plan("mode = \"3d\"\n", 8, {"heads=3", "hidden=33"}), Lines());
}

}  // namespace
}  // namespace baleen::test
