/// \file Scripts without an end, run by the program itself, to the limits of docs/limits.md: 30 s for describing, ten
/// minutes for a callback. Many at once, since it is time that they take.
#include <memory>
#include <thread>

#include "hostile_run.hpp"
#include "late_scripts.hpp"

namespace baleen::test {
namespace {

/// Runs all of them and sees to it that each is refused.
void expect_all_refused(const std::vector<std::pair<Hostile, std::string>>& scripts, std::chrono::seconds most) {
  std::vector<std::unique_ptr<HostileRun>> runs;
  for (std::size_t i = 0; i < scripts.size(); ++i)
    runs.push_back(std::make_unique<HostileRun>(scripts[i].second, i % 4 == 3 ? 2 : 1));
  for (std::size_t i = 0; i < scripts.size(); ++i) expect_refused(*runs[i], scripts[i].first, most);
}

TEST(EndlessScripts, EndWhileTheyDescribe) {
  std::vector<std::pair<Hostile, std::string>> batch;
  for (const Hostile& script : kHostileScripts) {
    const std::string says = script.says;
    if (!says.empty() && says != kEndless && says != kStuck) continue;
    batch.emplace_back(script, script.code);
    if (batch.size() < 6) continue;
    expect_all_refused(batch, std::chrono::seconds(70));
    batch.clear();
  }
  expect_all_refused(batch, std::chrono::seconds(70));
}

TEST(EndlessScripts, EndInTheirCallbacks) {
  std::vector<std::pair<Hostile, std::string>> all;
  for (const Hostile& script : kEndlessLater) all.emplace_back(script, late_job(script.code));
  expect_all_refused(all, std::chrono::seconds(660));
}

}  // namespace
}  // namespace baleen::test
