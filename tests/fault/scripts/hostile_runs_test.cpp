/// \file Scripts that mean ill, run by the program itself, in every phase: what can be refused at once is.
#include <algorithm>

#include "hostile_run.hpp"
#include "late_scripts.hpp"

namespace baleen::test {
namespace {

struct Case {
  Hostile script;
  bool is_late;
  int ranks;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.script.name; }

bool is_endless(const Hostile& script) {
  const std::string says = script.says;
  return says.empty() || says == kEndless || says == kStuck;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const Hostile& script : kHostileScripts)
    if (!is_endless(script)) all.push_back({script, false, 1});
  for (const Hostile& script : kLater) all.push_back({script, true, 1});
  for (std::size_t i = 0; i < std::size(kLater); i += 3) all.push_back({kLater[i], true, 2});
  return all;
}

class HostileScript : public testing::TestWithParam<Case> {};

TEST_P(HostileScript, IsRefused) {
  const Case& one = GetParam();
  HostileRun run(one.is_late ? late_job(one.script.code) : one.script.code, one.ranks);
  expect_refused(run, one.script, std::chrono::seconds(55));
}
INSTANTIATE_TEST_SUITE_P(Of, HostileScript, testing::ValuesIn(all_cases()), [](const auto& info) {
  return std::string(info.param.script.name) + (info.param.ranks > 1 ? "_on_2_ranks" : "");
});

}  // namespace
}  // namespace baleen::test
