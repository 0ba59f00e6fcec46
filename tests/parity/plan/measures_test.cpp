/// \file What `baleen plan` says beside bytes: arithmetic, cuts of states, what can overlap; and manifests side by
/// side.
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

std::string strategy(const std::string& name, const std::string& options = "") {
  return "[[plan]]\nstrategy = \"" + name + "\"\n" + options;
}

/// The first class of ranks of a plan.
nlohmann::json class_of(const MeshAxes& axes, const std::string& plan, const std::vector<std::string>& arguments = {}) {
  const ProcessResult result = run_parity({"plan", "--json"}, "gpt", manifest_of(axes, plan), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  nlohmann::json report = nlohmann::json::parse(result.out);
  return report["classes"][0];
}

double sent(const nlohmann::json& one) {
  return std::accumulate(one["sent_bytes"].begin(), one["sent_bytes"].end(), 0.0,
                         [](double sum, const nlohmann::json& bytes) { return sum + bytes.get<double>(); });
}

double number(const nlohmann::json& one, const char* name) { return one[name].get<double>(); }

/// Products are nearly all of it: 6 N D for the layers (Kaplan et al. 2020, section 2.1), and attention.
TEST(PlannedWork, IsThatOfTheModel) {
  const std::vector<std::string> wide{"dim=96", "layers=4"};
  const nlohmann::json one = class_of({{"data", 1}}, "", wide);
  const double tokens = 8 * 12, dim = 96, layers = 4, vocab = 256;
  const double products = 6 * tokens * (layers * 12 * dim * dim + dim * vocab);
  const double attention = 3 * 2 * 2 * tokens * 12 * dim * layers;
  EXPECT_NEAR(number(one, "flops") / (products + attention), 1, 0.12);
  EXPECT_NEAR(number(one, "flops") / number(one, "even_share_flops"), 1, 0.1);
}

#ifdef BALEEN_TEST_DATA
TEST(PlannedWork, IsDividedAmongRanks) {
  const nlohmann::json one = class_of({{"data", 1}}, ""), four = class_of({{"data", 4}}, strategy("data"));
  EXPECT_DOUBLE_EQ(number(one, "even_share_flops"), 4 * number(four, "even_share_flops"));
  EXPECT_NEAR(4 * number(four, "flops") / number(one, "flops"), 1, 0.05);
}

TEST(PlannedWork, OfMicroBatchesIsThatOfTheBatch) {
  const nlohmann::json whole = class_of({{"data", 2}}, strategy("data"));
  const nlohmann::json parts = class_of({{"data", 2}}, strategy("data"), {"accumulate=4"});
  EXPECT_NEAR(number(parts, "even_share_flops") / number(whole, "even_share_flops"), 1, 0.05);
  EXPECT_NEAR(number(parts, "flops") / number(whole, "flops"), 1, 0.1);
}

TEST(PlannedWork, NotesRanksWithoutRows) {
  const auto plan = [](const std::string& accumulate) {
    return run_parity({"plan"}, "gpt", manifest_of({{"data", 4}}, strategy("data")), {"batch=4", accumulate}).out;
  };
  const std::string idle = plan("accumulate=2"), busy = plan("accumulate=1");
  EXPECT_NE(idle.find("a micro-batch has 2 rows for 4 parts of the ranks along `data`, of which 2 only wait"),
            std::string::npos)
      << idle;
  EXPECT_EQ(busy.find("only wait"), std::string::npos) << busy;
}

/// Many buckets go while the backward pass lasts, one cannot.
TEST(PlannedWork, SaysWhatCanOverlap) {
  const nlohmann::json many = class_of({{"data", 2}}, strategy("data", "bucket_mb = 0\n"));
  const nlohmann::json one = class_of({{"data", 2}}, strategy("data", "bucket_mb = 1000\n"));
  EXPECT_GT(number(many, "sent_while_computing_bytes"), 0.5 * sent(many));
  EXPECT_LE(number(many, "sent_while_computing_bytes"), sent(many));
  EXPECT_LT(number(one, "sent_while_computing_bytes"), 0.1 * sent(one));
}
#endif

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_TENSOR)
TEST(PlannedCuts, AddUpToTheStates) {
  const nlohmann::json one =
      class_of({{"data", 2}, {"tensor", 2}}, strategy("zero", "stage = 1\n") + strategy("tensor"), {"heads=2"});
  std::map<std::string, double> bytes, share;
  std::set<std::string> cuts;
  for (const nlohmann::json& part : one["stored"]) {
    const std::string category = part["category"];
    bytes[category] += number(part, "bytes");
    const double ranks = std::pow(2.0, static_cast<double>(part["axes"].size()));
    share[category] += number(part, "whole_bytes") / ranks;
    cuts.insert(category + " " + part["axes"].dump());
  }
  for (const char* category : {"parameters", "optimizer"}) {
    EXPECT_EQ(bytes[category], one["planned_bytes"][category].get<double>()) << category;
    EXPECT_NEAR(bytes[category] / share[category], 1, 0.02) << category;
  }
  EXPECT_TRUE(cuts.contains(R"(optimizer ["data","tensor"])")) << one.dump();
  EXPECT_TRUE(cuts.contains(R"(parameters ["tensor"])")) << one.dump();
  EXPECT_FALSE(cuts.contains(R"(parameters ["data","tensor"])")) << one.dump();
}
#endif

#if defined(BALEEN_TEST_DATA) && defined(BALEEN_TEST_ZERO)
class PlannedAdvice : public testing::Test {
 protected:
  /// On four ranks, `mebibytes` for all of them; 0: what the machine has.
  ProcessResult plan(const std::string& strategies, int mebibytes, const std::vector<std::string>& flags = {"--json"}) {
    std::vector<std::string> command{"plan"};
    command.insert(command.end(), flags.begin(), flags.end());
    return run_parity(
        command, "gpt",
        manifest_of({{"data", 4}}, strategies + "[compute]\nmemory = " + std::to_string(mebibytes) + "\n"),
        {"dim=192", "heads=4"});
  }
  double total(const std::string& strategies) {
    const ProcessResult result = plan(strategies, 0);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["classes"][0]["planned_bytes"]["total"].get<double>();
  }
};

/// What is advised has the bytes that a plan of its own has.
TEST_F(PlannedAdvice, IsWhatFits) {
  const double whole = total(strategy("data")), shards = total(strategy("zero", "stage = 1\n"));
  ASSERT_GT(whole, shards + 1048576);
  const int between = static_cast<int>(4 * (whole + shards) / 2 / 1048576);
  const ProcessResult result = plan(strategy("data"), between);
  EXPECT_EQ(result.exit_code, 3);
  const nlohmann::json report = nlohmann::json::parse(result.out), &tried = report["advice"]["tried"];
  bool found = false, is_fitting = true;
  for (const nlohmann::json& one : tried) {
    EXPECT_TRUE(is_fitting || !one["fits"].get<bool>()) << "those that fit come first\n" << result.out;
    is_fitting = one["fits"].get<bool>();
    EXPECT_EQ(is_fitting, number(one, "total_bytes") <= between / 4.0 * 1048576) << one.dump();
    if (one["changes"] != nlohmann::json{"strategy `zero` with `stage` = 1 along `data` in place of `data`"}) continue;
    found = true;
    EXPECT_TRUE(is_fitting);
    EXPECT_EQ(number(one, "total_bytes"), shards);
  }
  EXPECT_TRUE(found) << result.out;
  const ProcessResult table = plan(strategy("data"), between, {});
  EXPECT_NE(table.out.find("\nWhat would fit, planned, best first:\n  "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("strategy `zero` with `stage` = 1 along `data` in place of `data`: "), std::string::npos)
      << table.out;
}

#ifdef BALEEN_TEST_OFFLOAD
/// One rank: no axis can be cut.
TEST(PlannedOffload, IsAdvisedWherePlansDoNotFit) {
  const auto plan = [](const std::string& manifest) {
    return run_parity({"plan", "--json"}, "gpt", manifest_of({{"data", 1}}, manifest + "[compute]\nmemory = 16\n"),
                      {"dim=192", "heads=4"});
  };
  const ProcessResult refused = plan("");
  EXPECT_EQ(refused.exit_code, 3);
  const nlohmann::json best = nlohmann::json::parse(refused.out)["advice"]["tried"].at(0);
  EXPECT_TRUE(best["fits"].get<bool>()) << best;
  EXPECT_EQ(best["changes"], nlohmann::json{"strategy `offload` with `as_needed` = true beside the others"})
      << "it moves least";
  const ProcessResult taken = plan(strategy("offload", "as_needed = true\n"));
  ASSERT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(number(nlohmann::json::parse(taken.out)["classes"][0]["planned_bytes"], "total"),
            number(best, "total_bytes"));
}
#endif

TEST_F(PlannedAdvice, SaysThatNothingFits) {
  const ProcessResult result = plan(strategy("data"), 17, {});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find(" other plans fits; the least is "), std::string::npos) << result.out;
}

TEST_F(PlannedAdvice, IsNotGivenWhereThePlanFits) {
  EXPECT_FALSE(nlohmann::json::parse(plan(strategy("data"), 0).out).contains("advice"));
}
#endif

#ifdef BALEEN_TEST_DATA
class PlannedManifests : public testing::Test {
 protected:
  ProcessResult compare(std::vector<std::string> words) {
    words.insert(words.begin(), {"plan", source_dir() + "/tests/parity/gpt.lua"});
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
    return run_baleen(words);
  }
  static std::string memory(int mebibytes) { return "[compute]\nmemory = " + std::to_string(mebibytes) + "\n"; }

  const TemporaryFolder folder_;
  const std::string one_ = folder_.write("alone.toml", manifest_of({{"data", 1}}, ""));
  const std::string two_ = folder_.write("pair.toml", manifest_of({{"data", 2}}, strategy("data")));
  const std::string odd_ = folder_.write("odd.toml", manifest_of({{"data", 2}}, strategy("dato")));
  const std::string tiny_ = folder_.write("tiny.toml", manifest_of({{"data", 1}}, memory(1)));
};

TEST_F(PlannedManifests, StandInOneTable) {
  const ProcessResult result = compare({one_, two_, odd_, tiny_});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  std::map<std::string, std::string> rows;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line) && !line.empty();)
    rows[line.substr(0, line.find("  ", 2))] = std::regex_replace(line, std::regex(" +"), " ");
  EXPECT_NE(result.out.find(" alone  "), std::string::npos) << result.out;
  EXPECT_EQ(rows["ranks"], "ranks 1 2 - 1") << result.out;
  EXPECT_EQ(rows["fits"], "fits yes yes - NO") << result.out;
  EXPECT_TRUE(rows["mesh"].starts_with("mesh none data 2 - none")) << result.out;
  EXPECT_TRUE(rows["sent per step"].starts_with("sent per step 0 B ")) << result.out;
  EXPECT_NE(result.out.find("\n" + odd_ + ":7:12: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("did you mean `data`?"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\n" + tiny_ + ": "), std::string::npos) << result.out;
}

TEST_F(PlannedManifests, EndAsTheFirstRefusalDoesWhereNoneFits) {
  EXPECT_EQ(compare({tiny_, odd_}).exit_code, 3);
  EXPECT_EQ(compare({odd_, tiny_}).exit_code, 2);
}

TEST_F(PlannedManifests, AreAListForPrograms) {
  const ProcessResult result = compare({"--json", one_, odd_});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["manifest"], one_);
  EXPECT_EQ(list[0]["plan"]["ranks"], 1);
  EXPECT_FALSE(list[0].contains("refused"));
  EXPECT_NE(list[1]["refused"].get<std::string>().find("dato"), std::string::npos) << result.out;
}

TEST_F(PlannedManifests, StandAlone) {
  const ProcessResult result = compare({one_, "--manifest", two_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("manifests to compare stand alone, without `--manifest`"), std::string::npos) << result.err;
}
#endif

}  // namespace
}  // namespace baleen::test
