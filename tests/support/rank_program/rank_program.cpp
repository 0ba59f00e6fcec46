/// \file A program of many ranks that misbehaves on demand: the launchers' guinea pig.
///
///   rank_program RANKS [NAME=VALUE]... [WHO:VERB[:ARGUMENT]]...
///   rank_program HOST/RANKS/ADDRESS,... [NAME=VALUE]... [WHO:VERB[:ARGUMENT]]...
///
/// NAME is a member of Timeouts (in milliseconds), `threads`, `cpus`, or, with hosts, `index`, `secret` (a file),
/// `port`, `facts`, `listen`, `start` (words between spaces). Verbs: actions.hpp. With BALEEN_TEST_MUTE in its
/// environment no rank says anything.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "actions.hpp"
#include "common/rank_channel.hpp"
#include "core/log/log.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/cpu_sets.hpp"
#include "ssh/cluster.hpp"

namespace baleen::test {
namespace {

using namespace launchers;

/// What a launch is told, and the processors that its host has them of.
struct Told : ClusterOptions {
  std::string cpu_list;   ///< as "0-3,8"; empty: all
  int asked_threads = 0;  ///< of each rank; 0: its share
};

int be_rank(RankChannel& link, const std::vector<std::string>& words) {
  const Status status = perform(link, words);
  if (status) return link.finish(), 0;
  link.fail(status.error());
  return app::exit_code(status.error().code);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

std::vector<launchers::LaunchHost> hosts_of(const std::string& word) {
  if (word.find('/') == std::string::npos) return {{"localhost", std::atoi(word.c_str())}};
  std::vector<launchers::LaunchHost> hosts;
  for (const std::string& each : split(word, ',')) {
    const auto parts = split(each, '/');
    hosts.push_back({parts.at(0), std::atoi(parts.at(1).c_str()), parts.at(2), true});
  }
  return hosts;
}

bool set_text(Told& options, const std::string& name, const std::string& value, std::string& secret) {
  if (name == "threads") return options.asked_threads = std::atoi(value.c_str()), true;
  if (name == "index") return options.host_index = std::atoi(value.c_str()), true;
  if (name == "port") return options.meeting.port = std::atoi(value.c_str()), true;
  if (name == "cpus") return options.cpu_list = value, true;
  if (name == "secret") return secret = value, true;
  if (name == "facts") return options.meeting.facts = value, true;
  if (name == "listen") return options.meeting.listen = value, true;
  if (name == "start") return options.meeting.through = split(value, ' '), true;
  return false;
}

bool set(Told& options, const std::string& word, std::string& secret) {
  Timeouts& timeouts = options.timeouts;
  const std::map<std::string, Timeouts::Time*> times = {{"stopped", &timeouts.stopped},
                                                        {"silent", &timeouts.silent},
                                                        {"greeting", &timeouts.greeting},
                                                        {"grace", &timeouts.grace},
                                                        {"rescuing", &timeouts.rescuing},
                                                        {"alike", &timeouts.alike},
                                                        {"alike_at_start", &timeouts.alike_at_start},
                                                        {"leaving", &timeouts.leaving},
                                                        {"remind", &timeouts.remind},
                                                        {"stalled", &timeouts.stalled},
                                                        {"stalled_at_most", &timeouts.stalled_at_most},
                                                        {"give_up", &timeouts.give_up},
                                                        {"arrive", &timeouts.arrive},
                                                        {"heartbeat_timeout", &timeouts.heartbeat_timeout},
                                                        {"handshake_timeout", &timeouts.handshake_timeout},
                                                        {"unconfirmed", &timeouts.unconfirmed}};
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || word.find(':') < equals) return false;
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (set_text(options, name, value, secret)) return true;
  return times.contains(name) && (*times.at(name) = Timeouts::Time(std::atoi(value.c_str())), true);
}

/// The secret, from where this host is told it.
Status meet(ClusterJoin& meeting, const std::string& secret, const std::vector<std::string>& words) {
  if (secret == "-") {
    BALEEN_TRY_ASSIGN(const StartWord word, StartWord::read(0));
    meeting.secret = word.secret;
    meeting.port = word.port;
    meeting.is_started = true;
    return {};
  }
  meeting.secret = Secret::fresh();
  meeting.command = [words](int host) {
    std::vector<std::string> all = {"/proc/self/exe"};
    all.front().resize(4096);
    all.front().resize(static_cast<std::size_t>(readlink("/proc/self/exe", all.front().data(), all.front().size())));
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.begin() + 2, {"index=" + std::to_string(host), "secret=-"});
    return all;
  };
  if (secret.empty()) return {};
  BALEEN_TRY_ASSIGN(meeting.secret, Secret::read(secret));
  return {};
}

/// The processors of this host, as `baleen` shares them.
void share(Told& options) {
  auto cpus = choose_cpus(usable_cpus(), options.cpu_list);
  if (!cpus) options.obstacle = cpus.error().message;
  const int ranks = options.hosts[static_cast<std::size_t>(options.host_index)].ranks;
  CpuShares shares = share_cpus(cpus ? *std::move(cpus) : usable_cpus(), ranks, options.asked_threads);
  options.threads = shares.threads;
  options.cpus = std::move(shares.sets);
}

int be_launcher(const std::vector<std::string>& words) {
  Told options;
  const baleen::Log log = baleen::Log::to_stderr();
  options.log =
      launchers::Log([log](baleen_level_t level, std::string_view line) { log.write(level, std::string(line)); });
  options.hosts = hosts_of(words.front());
  options.command = {"rank_program"};
  std::string secret;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!set(options, words[i], secret)) options.command.push_back(words[i]);
  launchers::Outcome outcome;
  share(options);
  if (options.hosts.size() > 1) outcome.status = meet(options.meeting, secret, words);
  if (outcome.status) outcome = launch(options);
  if (outcome.signal) {
    std::signal(outcome.signal, SIG_DFL);
    std::raise(outcome.signal);
  }
  if (outcome.status) return 0;
  if (!outcome.is_told) log.failure(outcome.status.error().text());
  return outcome.exit_code > 0 ? outcome.exit_code : app::exit_code(outcome.status.error().code);
}

}  // namespace
}  // namespace baleen::test

int main(int argc, char** argv) {
  using namespace baleen;
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    const std::string mark = launchers::LaunchOptions().mark;
    if (!words.empty() && words.front().starts_with(mark)) {
      while (std::getenv("BALEEN_TEST_MUTE")) pause();
      const auto link = launchers::RankChannel::inherited(words.front().substr(mark.size()));
      if (!link)
        return std::fprintf(stderr, "error: `%s` is how a launcher starts its ranks; it is no option for you\n",
                            words.front().c_str()),
               2;
      words.erase(words.begin());
      return test::be_rank(**link, words);
    }
    if (words.empty()) return std::fprintf(stderr, "how many ranks?\n"), 2;
    return test::be_launcher(words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 70;
  }
}
