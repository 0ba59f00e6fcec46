/// \file docs/limits.md says what the launchers do.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/timeouts.hpp"
#include "support/places.hpp"

namespace baleen::launchers {
namespace {

/// From what waits to the rest of its row.
std::map<std::string, std::string> rows_of(const std::string& path) {
  std::map<std::string, std::string> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(" | ");
    if (line.starts_with("| ") && end != std::string::npos) rows[line.substr(2, end - 2)] = line.substr(end);
  }
  return rows;
}

std::string text_of(Timeouts::Time time) {
  using namespace std::chrono_literals;
  return time % 1min == 0min && time > 1min ? std::to_string(time / 1min) + " min" : seconds_text(time);
}

TEST(Limits, AreThoseOfTheirTable) {
  const auto rows = rows_of(test::source_dir() + "/docs/limits.md");
  const Timeouts is;
  const std::map<std::string, std::vector<Timeouts::Time>> wanted = {
      {"a rank's start, until its first heartbeat", {is.greeting}},
      {"a rank that is stopped (SIGSTOP)", {is.stopped}},
      {"a rank without heartbeats that is not stopped", {is.silent}},
      {"a rank that waits for others at the rendezvous", {is.remind, is.stalled_at_most, is.give_up}},
      {"ranks that wait for others in a collective", {is.stalled, is.stalled_at_most, is.give_up}},
      {"a host that has not joined", {is.remind, is.arrive}},
      {"another host's launcher without a heartbeat", {is.heartbeat_timeout}},
      {"what one launcher has sent another, unconfirmed", {is.unconfirmed}},
      {"ranks that are left after a failure", {is.grace}},
      {"one of them that saves what was trained", {is.rescuing}},
      {"a rank after its last word", {is.leaving}},
      {"connections to a launcher's port that have proven nothing", {is.handshake_timeout}},
  };
  for (const auto& [what, times] : wanted) {
    const auto row = rows.find(what);
    ASSERT_NE(row, rows.end()) << what;
    for (const Timeouts::Time time : times)
      EXPECT_NE(row->second.find(text_of(time)), std::string::npos) << what << row->second << ": " << text_of(time);
  }
}

}  // namespace
}  // namespace baleen::launchers
