/// \file Which suites belong to which kind.
#include "frontend/validate/cases.hpp"

#include <utility>

namespace baleen::validate {
namespace {

struct Suite {
  std::string_view kind;
  std::vector<Case> (*cases)();
};

constexpr Suite kSuites[] = {
    {"optimizer", &optimizer_cases},   {"data", &data_cases},           {"monitor", &monitor_cases},
    {"checkpoint", &checkpoint_cases}, {"transport", &transport_cases}, {"strategy", &strategy_cases},
    {"compute", &compute_cases},
};

}  // namespace

std::vector<Case> cases_of(const Subject& subject) {
  std::vector<Case> all = generic_cases(subject);
  for (const Suite& suite : kSuites) {
    if (suite.kind != subject.descriptor.kind) continue;
    for (Case& one : suite.cases()) {
      one.needs_member = true;
      all.push_back(std::move(one));
    }
  }
  return all;
}

bool has_suite(std::string_view kind) {
  for (const Suite& suite : kSuites)
    if (suite.kind == kind) return true;
  return false;
}

}  // namespace baleen::validate
