/// \file Which suites belong to which kind.
#include "frontend/validate/cases.hpp"

#include <utility>

namespace baleen::validate {
namespace {

struct Suite {
  std::string_view kind;
  std::vector<Case> (*cases)(const Subject& subject);
};

/// A suite that is the same for each plugin.
template <std::vector<Case> (*cases)()>
std::vector<Case> same(const Subject&) {
  return cases();
}

constexpr Suite kSuites[] = {
    {"optimizer", &same<&optimizer_cases>}, {"data", &same<&data_cases>},
    {"monitor", &same<&monitor_cases>},     {"checkpoint", &same<&checkpoint_cases>},
    {"transport", &same<&transport_cases>}, {"strategy", &same<&strategy_cases>},
    {"compute", &same<&compute_cases>},     {"op", &op_cases},
    {"offload", &same<&offload_cases>},     {"launcher", &same<&launcher_cases>},
};

}  // namespace

std::vector<Case> cases_of(const Subject& subject) {
  std::vector<Case> all = generic_cases(subject);
  for (const Suite& suite : kSuites) {
    if (suite.kind != subject.descriptor.kind) continue;
    for (Case& one : suite.cases(subject)) {
      one.needs_member = true;
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace baleen::validate
