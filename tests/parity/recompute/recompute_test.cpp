/// \file The phase `recompute` of strategies: it is called between propagation and lowering, and what it changes is
/// run: activations that are computed again take less memory and give the same numbers.
#include <nlohmann/json.hpp>
#include <sstream>

#include "parity/parity_run.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

const MeshAxes kMesh{{"data", 2}};

std::string plan_with(const std::string& options) {
  return "[[plan]]\nstrategy = \"data\"\n[[plan]]\nstrategy = \"again\"\n" + options;
}

ProcessResult run(std::vector<std::string> command, const std::string& options) {
  command.insert(command.end(), {"--plugin-path", AGAIN_FOLDER});
  return run_parity(std::move(command), "gpt", manifest_of(kMesh, plan_with(options)), {});
}

nlohmann::json planned(const std::string& options) {
  const ProcessResult result = run({"plan", "--json"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out).at("classes").at(0);
}

/// Forward and backward ops of the printed graph that compute a GELU.
std::pair<int, int> gelus(const std::string& printed) {
  int forward = 0, backward = 0;
  std::string section;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) section = line;
    if (line.find("gelu_tanh(") == std::string::npos) continue;
    if (section == "# backward") ++backward;
    if (section.empty() || section == "# forward") ++forward;
  }
  return {forward, backward};
}

TEST(Recompute, IsCalledBetweenPropagationAndLowering) {
  const TemporaryFolder folder;
  const std::string calls = folder / "calls";
  ASSERT_EQ(run({"graph", "--ops"}, "calls = \"" + calls + "\"\n").exit_code, 0);
  EXPECT_EQ(read_file(calls),
            "tag\nrewrite\n"
            "gradients backward\n"
            "place backward\n"
            "recompute layouts collectives backward\n"
            "lower layouts collectives backward\n"
            "schedule layouts collectives backward\n"
            // The graph of the evaluation has no backward pass. Its loss is a sum over ranks.
            "tag\nrewrite\nplace\n"
            "recompute layouts collectives\n"
            "lower layouts collectives\n"
            "schedule layouts collectives\n");
}
/// One rank has no layouts to ask for, and nothing to lower; what runs when is chosen there too.
TEST(Recompute, IsCalledOnOneRank) {
  const TemporaryFolder folder;
  const std::string calls = folder / "calls";
  const auto alone = [&](const std::string& command, const std::string& options) {
    return run_parity({command, "--ops", "--plugin-path", AGAIN_FOLDER}, "gpt",
                      "[[plan]]\nstrategy = \"again\"\n" + options, {});
  };
  const ProcessResult with = alone("graph", "calls = \"" + calls + "\"\n"),
                      without = alone("graph", "copies = false\n");
  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(read_file(calls),
            "tag\nrewrite\ngradients backward\nrecompute backward\nschedule backward\n"
            "tag\nrewrite\nrecompute\nschedule\n");
  EXPECT_EQ(gelus(without.out), std::pair(2, 0)) << without.out;
  EXPECT_EQ(gelus(with.out), std::pair(2, 2)) << with.out;
}
/// A strategy that does nothing there leaves the program as it is.
TEST(Recompute, LeavesOneRankAsItIsWhereNobodyAsks) {
  const ProcessResult plain = run_parity({"graph", "--ops"}, "gpt", "", {});
  const ProcessResult with = run_parity({"graph", "--ops", "--plugin-path", AGAIN_FOLDER}, "gpt",
                                        "[[plan]]\nstrategy = \"again\"\ncopies = false\n", {});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(with.out, plain.out);
}
TEST(Recompute, IsPrintedAsAPass) {
  const ProcessResult with = run({"graph", "--print-passes"}, ""),
                      without = run({"graph", "--print-passes"}, "copies = false\n");
  const std::size_t propagated = with.out.find("--- train: propagate ---"),
                    again = with.out.find("--- train: recompute ---");
  ASSERT_NE(propagated, std::string::npos) << with.out;
  ASSERT_NE(again, std::string::npos) << with.out;
  EXPECT_LT(propagated, again);
  EXPECT_LT(again, with.out.find("--- train: schedule ---"));
  EXPECT_EQ(without.out.find("--- train: recompute ---"), std::string::npos) << "it changed nothing";
}
/// One per layer, and the first stays for the forward pass.
TEST(Recompute, MakesCopiesInTheBackwardPass) {
  const ProcessResult with = run({"graph", "--ops"}, ""), without = run({"graph", "--ops"}, "copies = false\n");
  EXPECT_EQ(gelus(without.out), std::pair(2, 0)) << without.out;
  EXPECT_EQ(gelus(with.out), std::pair(2, 2)) << with.out;
}
/// A GELU of [batch / ranks, context, 4 dim] in each of the layers need not be kept; nothing more is sent.
TEST(Recompute, TakesLessMemory) {
  const auto with = planned(""), without = planned("copies = false\n");
  EXPECT_LT(with.at("working_bytes").get<double>(), without.at("working_bytes").get<double>());
  EXPECT_EQ(with.at("sent_bytes"), without.at("sent_bytes"));
}
TEST(Recompute, GivesTheSameNumbers) {
  const TemporaryFolder folder;
  std::vector<Losses> losses;
  for (const std::string options : {"", "copies = false\n"}) {
    const std::string log = folder / ("log" + std::to_string(losses.size()));
    const ProcessResult result = run({"run", "--steps", "5", "--log-json", log}, options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    losses.push_back(losses_in(log));
  }
  EXPECT_EQ(losses[0].size(), 5u);
  EXPECT_EQ(losses[0], losses[1]);
  const ProcessResult verified = run({"verify", "--steps", "5"}, "");
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_NE(verified.out.find("EQUAL"), std::string::npos) << verified.out;
}
TEST(Recompute, ThatFailsIsNamed) {
  const ProcessResult result = run({"run", "--steps", "1"}, "fails = true\n");
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("again"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("recompute"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("not today"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
