/// \file A program of many ranks that misbehaves on demand: the launcher's guinea pig.
///
///   rank_program RANKS [NAME=MILLISECONDS]... [WHO:VERB[:ARGUMENT]]...
///
/// NAME is a member of Patience, or `threads` (a number). Verbs: actions.hpp.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "actions.hpp"
#include "core/launch/launcher.hpp"
#include "core/launch/rank_link.hpp"

namespace baleen::test {
namespace {

int code_of(const Error& error) {
  switch (error.code) {
    case BALEEN_INTERNAL: return 70;
    case BALEEN_PEER_LOST:
    case BALEEN_TIMEOUT: return 4;
    default: return 2;
  }
}

int be_rank(RankLink& link, const std::vector<std::string>& words) {
  const Status status = perform(link, words);
  if (status) return link.finish(), 0;
  link.fail(status.error());
  return code_of(status.error());
}

bool set(LaunchOptions& options, const std::string& word) {
  Patience& patience = options.patience;
  const std::map<std::string, Patience::Time*> times = {
      {"stopped", &patience.stopped}, {"silent", &patience.silent},   {"greeting", &patience.greeting},
      {"grace", &patience.grace},     {"leaving", &patience.leaving}, {"remind", &patience.remind},
      {"stalled", &patience.stalled}, {"give_up", &patience.give_up}};
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || word.find(':') < equals) return false;
  const int value = std::atoi(word.c_str() + equals + 1);
  const std::string name = word.substr(0, equals);
  if (name == "threads") return options.threads = value, true;
  return times.contains(name) && (*times.at(name) = Patience::Time(value), true);
}

int be_launcher(const std::vector<std::string>& words) {
  LaunchOptions options;
  options.log = Log::to_stderr();
  options.ranks = std::atoi(words.front().c_str());
  options.command = {"rank_program"};
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!set(options, words[i])) options.command.push_back(words[i]);
  const Outcome outcome = launch(options);
  if (outcome.signal) {
    std::signal(outcome.signal, SIG_DFL);
    std::raise(outcome.signal);
  }
  if (outcome.status) return 0;
  options.log.failure(outcome.status.error().text());
  return outcome.exit_code > 0 ? outcome.exit_code : code_of(outcome.status.error());
}

}  // namespace
}  // namespace baleen::test

int main(int argc, char** argv) {
  using namespace baleen;
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    auto link = RankLink::inherited(words);
    if (!link) return std::fprintf(stderr, "error: %s\n", link.error().text().c_str()), 2;
    if (*link) return test::be_rank(**link, words);
    if (words.empty()) return std::fprintf(stderr, "how many ranks?\n"), 2;
    return test::be_launcher(words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 70;
  }
}
