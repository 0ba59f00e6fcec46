/// \file Layouts that a script chooses by hand, without a strategy: N ranks compute what one computes, and what names
/// nothing is refused at the script's line.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

ProcessResult annotated(std::vector<std::string> command, const std::vector<std::string>& arguments, int ranks = 2) {
  return run_parity(std::move(command), "annotated", manifest_of({{"tensor", ranks}}, ""), arguments);
}

TEST(Annotations, RanksComputeWhatOneRankComputes) {
  const ProcessResult result = annotated({"verify", "--checked"}, {});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
}

TEST(Annotations, ARankHoldsItsPart) {
  const auto cut = account_of("annotated", manifest_of({{"tensor", 2}}, ""), 2, {});
  EXPECT_GT(cut[0].at("planned_bytes.parameters"), cut[1].at("planned_bytes.parameters"));  // 17 is 9 and 8
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& words, int ranks = 2) {
  const ProcessResult result = annotated({"run", "--steps", "1"}, arguments, ranks);
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.err.find("annotated.lua:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
}

TEST(Annotations, UnknownWordsAreRefused) {
  expect_refused({"dim=fff"}, "unknown logical axis `fff`; did you mean `ff`?");
  expect_refused({"result=secnd"}, "unknown name `secnd`; did you mean `second`?");
}

}  // namespace
}  // namespace baleen::test
