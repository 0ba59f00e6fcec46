/// \file Every option of every member does something: the list comes from the descriptors of the built plugins, so an
/// option without an experiment fails here, and so does one that changes nothing that can be seen.
#include <cmath>

#include "parity/options/experiment.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::test::options {
namespace {

struct Case {
  std::string kind, member;
  baleen_option_t option;

  std::string member_name() const { return kind + "." + member; }
  std::string name() const { return member_name() + "." + option.name; }
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }

/// The built members of a kind, but those that need a device where it is not emulated.
std::vector<std::string> members(const std::string& kind) {
  std::vector<std::string> all = built_members(kind);
  if (!EMULATES_CUDA && kind == "compute") std::erase(all, "cuda");
  if (!EMULATES_CUDA && kind == "transport") std::erase(all, "nccl");
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* kind :
       {"compute", "transport", "strategy", "optimizer", "data", "monitor", "checkpoint", "offload", "launcher"})
    for (const std::string& member : members(kind)) {
      const baleen_descriptor_t descriptor = read_descriptor(built_plugin(kind, member));
      for (const baleen_option_t& option : descriptor.options) {
        if (!option.name[0]) break;
        if (option.flags == BALEEN_OPTION_EARLIER_NAME) continue;
        all.push_back({kind, member, option});
      }
    }
  return all;
}

const Experiments& experiments() {
  static const Experiments all = [] {
    Experiments found = optimizer_experiments();
    for (Experiments more : {data_experiments(), strategy_experiments(), machine_experiments(), offload_experiments(),
                             launcher_experiments()})
      found.merge(more);
    return found;
  }();
  return all;
}

std::vector<std::string> choices(const baleen_option_t& option) {
  std::vector<std::string> all;
  std::istringstream words(option.choices);
  for (std::string word; std::getline(words, word, '|');) all.push_back(text(word));
  return all;
}

/// What the schema alone says can be compared.
std::vector<std::string> values_of(const baleen_option_t& option) {
  if (option.type == BALEEN_OPTION_BOOL)
    return std::string(option.default_value) == "true" ? std::vector<std::string>{kUnset, "false"}
                                                       : std::vector<std::string>{kUnset, "true"};
  std::vector<std::string> all = choices(option);
  EXPECT_GE(all.size(), 2u) << option.name << ": the experiment has to say which values are compared";
  return all;
}

std::string seen(const Case& one, const Trial& trial, const std::string& value) {
  Options options = trial.around;
  options[one.option.name] = value;
  return trial.view(trial.job.with(one.kind, one.member, options));
}

class EveryOption : public testing::TestWithParam<Case> {
 protected:
  /// The trials of the option, or none: then it has no experiment, which is a failure.
  static const Trials& trials() {
    static const Trials none;
    const auto found = experiments().find(GetParam().name());
    if (found != experiments().end()) return found->second;
    ADD_FAILURE() << "nothing shows that the option " << GetParam().name()
                  << " does anything; give it an experiment in tests/parity/options";
    return none;
  }
};

TEST_P(EveryOption, DoesSomething) {
  const Case& one = GetParam();
  if (trials().empty()) return;
  const std::vector<std::string> values = trials()[0].values.empty() ? values_of(one.option) : trials()[0].values;
  ASSERT_GE(values.size(), 2u);
  std::vector<std::vector<std::string>> views;  // by trial and value
  for (const Trial& trial : trials()) {
    auto& row = views.emplace_back();
    for (const std::string& value : values) row.push_back(seen(one, trial, value));
    ASSERT_EQ(seen(one, trial, values[0]), row[0]) << "the same run does not show the same";
  }
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const bool differ = std::any_of(views.begin(), views.end(), [&](const auto& row) { return row[a] != row[b]; });
      EXPECT_TRUE(differ) << one.name() << " = " << values[a] << " shows what = " << values[b] << " does:\n"
                          << views[0][a];
    }
}

class DefaultedOption : public EveryOption {};

/// What is left out is what the schema says.
TEST_P(DefaultedOption, HasItsDefault) {
  const Case& one = GetParam();
  const std::string written = one.option.default_value;
  if (trials().empty()) return;
  const bool is_text = one.option.type == BALEEN_OPTION_STRING ||
                       (!choices(one.option).empty() && !std::isdigit(static_cast<unsigned char>(written[0])));
  const Trial& trial = trials()[0];
  EXPECT_EQ(seen(one, trial, is_text ? text(written) : written), seen(one, trial, kUnset));
}

class GroupOption : public EveryOption {};

/// A parameter group may have its own.
TEST_P(GroupOption, DoesSomethingInAGroup) {
  const Case& one = GetParam();
  if (trials().empty()) return;
  const Trial& trial = trials()[0];
  const std::string value = (trial.values.empty() ? values_of(one.option) : trial.values)[1];
  const Job job = trial.job.with(one.kind, one.member, trial.around);
  EXPECT_NE(trial.view(job.with_group({{one.option.name, value}})), trial.view(job));
}

/// Values that the schema excludes are refused by name, before the first step.
TEST_P(EveryOption, IsRefusedOutsideItsRange) {
  const Case& one = GetParam();
  if (trials().empty()) return;
  const baleen_option_t& option = one.option;
  std::vector<std::string> wrong;
  const bool number =
      option.type == BALEEN_OPTION_INT || option.type == BALEEN_OPTION_FLOAT || option.type == BALEEN_OPTION_SCHEDULE;
  if (number) wrong.push_back(text("nonsense"));
  if (number && option.minimum <= option.maximum) {
    const auto written = [](double value) {
      std::ostringstream out;
      out << std::setprecision(17) << value;
      return out.str();
    };
    wrong.push_back(written(option.minimum - (option.type == BALEEN_OPTION_INT ? 1 : 0.5)));
    wrong.push_back(written(option.type == BALEEN_OPTION_INT ? option.maximum + 1 : option.maximum * 2));
  }
  if (option.type == BALEEN_OPTION_INT) wrong.emplace_back("1.5");
  if (option.type == BALEEN_OPTION_BOOL) wrong = {"3", text("maybe")};
  if (option.type == BALEEN_OPTION_STRING) wrong = {"3"};
  if (option.type == BALEEN_OPTION_STRING && !choices(option).empty()) wrong.push_back(text("nonsense"));
  if (option.type == BALEEN_OPTION_STRING && !(option.flags & BALEEN_OPTION_MANY)) wrong.push_back(list({"a", "b"}));
  for (const std::string& value : wrong) {
    const Trial& trial = trials()[0];
    Options options = trial.around;
    options[option.name] = value;
    const TemporaryFolder folder;
    const ProcessResult result = run(trial.job.with(one.kind, one.member, options), {"run"}, folder.path());
    EXPECT_EQ(result.exit_code, 2) << value << result.out << result.err;
    EXPECT_NE(result.err.find(option.name), std::string::npos) << value << ": " << result.err;
    EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << value << ": " << result.out;
  }
}

template <class Filter>
std::vector<Case> cases_that(Filter filter) {
  std::vector<Case> all = cases();
  std::erase_if(all, [&](const Case& one) { return !filter(one.option); });
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Members, EveryOption, testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Members, DefaultedOption,
                         testing::ValuesIn(cases_that([](const auto& option) { return option.default_value[0] != 0; })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Members, GroupOption, testing::ValuesIn(cases_that([](const auto& option) {
                           return (option.flags & BALEEN_OPTION_PER_GROUP) != 0;
                         })),
                         name_of);

/// `deterministic` is the section's own key: with it the choice of a ring has no effect.
TEST(Options, LetTheRingAddOnlyInAnyOrder) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  const Trial& trial = experiments().at("transport.ucx.algorithm").at(1);
  const auto messages = [&](const std::string& deterministic, const std::string& algorithm) {
    Options options = trial.around;
    options["deterministic"] = deterministic;
    options["algorithm"] = algorithm;
    return trial.view(trial.job.with("transport", "ucx", options));
  };
  const std::string usual = messages("true", kUnset), ring = list({"all_reduce=ring"});
  EXPECT_EQ(messages("true", ring), usual);
  EXPECT_NE(messages("false", ring), usual);
}

/// Cases are found when this program is built; this finds at once what came or went since.
TEST(Options, AndExperimentsAreTheSame) {
  std::vector<std::string> options, known;
  for (const Case& one : cases()) options.push_back(one.name());
  for (const auto& [name, trials] : experiments()) {
    const std::string member = name.substr(0, name.rfind('.')), kind = member.substr(0, member.find('.'));
    // A member's folder may be taken away, or its library lack on this machine.
    const std::vector<std::string> built = members(kind);
    if (std::count(built.begin(), built.end(), member.substr(kind.size() + 1))) known.push_back(name);
  }
  std::sort(options.begin(), options.end());
  EXPECT_EQ(options, known);
}

}  // namespace
}  // namespace baleen::test::options
