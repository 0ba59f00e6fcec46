/// \file `baleen verify` finds each planted fault of the table mutants.txt and names it, and what layouts can show is
/// refused before anything trains. The table says what a line of it is.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <regex>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Setting {
  MeshAxes mesh;
  std::string plan, model, dtype;
  std::vector<std::string> arguments;
};

struct Mutant {
  std::string name, setting;
  std::string options;  ///< of the strategy, as TOML; empty: nothing is wrong
  std::string says;     ///< what `verify` names, with the step
  std::string axis;     ///< along which it says that it is wrong; empty: neither the numbers nor the plan tell
  std::string refusal;  ///< the axis that the plan's refusal names, "any" for none, empty: it is not refused
  bool misnamed = false;
};

void PrintTo(const Mutant& m, std::ostream* out) { *out << m.name; }

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + by.size()) {
    end = text.find(by, at);
    parts.push_back(text.substr(at, end == std::string::npos ? end : end - at));
  }
  return parts;
}

/// "drop norm.gamma step=2" as TOML, a line each.
std::string toml_of(const std::vector<std::string>& words) {
  std::string text = "fault = \"" + words[0] + "\"\nof = \"" + words[1] + "\"\n";
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto option = split(words[i], "=");
    const bool number = option[1].find_first_not_of("0123456789") == std::string::npos;
    text += option[0] + " = " + (number ? option[1] : "\"" + option[1] + "\"") + "\n";
  }
  return text;
}

struct Table {
  std::map<std::string, Setting> settings;
  std::vector<Mutant> mutants;
};

Setting read_setting(const std::vector<std::string>& fields) {
  Setting setting;
  for (const std::string& axis : split(fields[2], " ")) {
    const auto parts = split(axis, "=");
    setting.mesh.emplace_back(parts[0], std::stoi(parts[1]));
  }
  for (const std::string& one : split(fields[3], "; ")) {
    const auto parts = split(one, ", ");
    setting.plan += "[[plan]]\nstrategy = \"" + parts[0] + "\"\n";
    for (std::size_t i = 1; i < parts.size(); ++i) setting.plan += parts[i] + "\n";
  }
  setting.model = fields[4];
  setting.dtype = fields[5];
  if (!fields[6].empty()) setting.arguments = split(fields[6], " ");
  return setting;
}

/// Fields are separated by " | ", an empty one is "-".
Table read_table() {
  Table table;
  std::map<std::string, int> of_setting;
  std::ifstream file(source_dir() + "/tests/parity/mutants/mutants.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    auto fields = split(line, " | ");
    for (std::string& field : fields)
      if (field == "-") field.clear();
    if (fields[0] == "setting") {
      table.settings[fields[1]] = read_setting(fields);
      table.mutants.push_back({fields[1] + "_none", fields[1], "", "", "", ""});
      continue;
    }
    const auto words = split(fields[2], " ");
    const std::string number = std::to_string(++of_setting[fields[0]]);
    if (const std::size_t at = fields[3].find('%'); at != std::string::npos) fields[3].replace(at, 1, words[1]);
    Mutant mutant{
        fields[0] + "_" + number + "_" + words[0], fields[0], toml_of(words), fields[3], fields[4], fields[5]};
    mutant.misnamed = fields.size() > 6;
    table.mutants.push_back(std::move(mutant));
  }
  return table;
}

const Table& table() {
  static const Table all = read_table();
  return all;
}

ProcessResult run_mutant(const Mutant& mutant, const std::string& command, const std::string& more) {
  const Setting& setting = table().settings.at(mutant.setting);
  std::string plan = setting.plan + "[[plan]]\nstrategy = \"faulty\"\n";
  plan += mutant.options;
  std::vector<std::string> words{command, "--plugin-path", FAULTY_FOLDER};
  if (command == "verify") words.insert(words.end(), {"--steps", "3", "--dtype", setting.dtype});
  return run_parity(words, setting.model, manifest_of(setting.mesh, plan + more), setting.arguments);
}

class Mutants : public ::testing::TestWithParam<Mutant> {
 protected:
  void SetUp() override {
    const Setting& setting = table().settings.at(GetParam().setting);
    if (const std::string missing = missing_strategy(manifest_of(setting.mesh, setting.plan)); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  }
};

ProcessResult verified(const Mutant& mutant) {
  const auto begin = std::chrono::steady_clock::now();
  ProcessResult result = run_mutant(mutant, "verify", "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  return result;
}

void expect_named(const Mutant& mutant, const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.out.find("\nDIFFERENT\n"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("\ntraining refuses this plan: ") != std::string::npos, !mutant.refusal.empty())
      << result.out;
  const std::size_t at = result.err.find("see " + mutant.says);
  ASSERT_NE(at, std::string::npos) << "expected " << mutant.says << "\n" << result.err;
  const std::string axis = mutant.axis.empty() ? "" : "`" + mutant.axis + "`";
  EXPECT_NE(result.err.find(axis, at + mutant.says.size() + 4), std::string::npos) << result.err;
}

void expect_refusal(const Mutant& mutant, const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 70) << result.out << result.err;
  // Where a sum was made over another axis, either axis is wrong.
  const auto names = [&](const std::string& axis) {
    return result.err.find("along `" + axis + "` it ") != std::string::npos;
  };
  EXPECT_TRUE(mutant.refusal == "any" || names(mutant.refusal) || names(mutant.axis)) << result.err;
  EXPECT_TRUE(std::regex_search(result.err, std::regex("error: .*(op [0-9]+ \\(|output `)"))) << result.err;
  const bool is_of_op = std::regex_search(result.err, std::regex("op [0-9]+ \\("));
  EXPECT_EQ(is_of_op, result.err.find("strategy `faulty`, lower: op ") != std::string::npos) << result.err;
}

/// `more` is of the strategy that is wrong.
void expect_plan(const Mutant& mutant, const std::string& more) {
  const ProcessResult result = run_mutant(mutant, "plan", more);
  if (!mutant.refusal.empty()) return expect_refusal(mutant, result);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_P(Mutants, AreNamed) {
  const Mutant& mutant = GetParam();
  const ProcessResult result = verified(mutant);
  if (!mutant.options.empty()) return expect_named(mutant, result);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("\nEQUAL within the tolerance\n"), std::string::npos) << result.out;
}

TEST_P(Mutants, AreRefusedThoughARegionStatesAnotherLayout) { expect_plan(GetParam(), ""); }

/// The same fault, by a strategy that says how values really lie.
TEST_P(Mutants, AreRefusedWhereLayoutsShowThem) { expect_plan(GetParam(), "open = true\n"); }

/// Each line is true where its case passes, so these are the numbers of mutants that are found.
TEST(MutantTable, HasFiveHundredMutantsOfWhichNoneIsMisnamedAndMostAreRefused) {
  const auto& all = table().mutants;
  const auto count = [&](auto&& is) { return std::count_if(all.begin(), all.end(), is); };
  EXPECT_GE(count([](const Mutant& m) { return !m.options.empty(); }), 500);
  EXPECT_EQ(count([](const Mutant& m) { return m.misnamed; }), 0);
  EXPECT_GE(count([](const Mutant& m) { return !m.axis.empty(); }), 400);
  EXPECT_GE(count([](const Mutant& m) { return !m.refusal.empty(); }), 395);
}

INSTANTIATE_TEST_SUITE_P(Table, Mutants, ::testing::ValuesIn(table().mutants),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
