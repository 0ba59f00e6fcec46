/// \file Options of launchers: what the first of two hosts does for the other one. Both are this machine, at addresses
/// of the loopback.
#include <csignal>
#include <sstream>

#include "parity/options/experiment.hpp"

namespace baleen::test::options {
namespace {

namespace fs = std::filesystem;

Job two_hosts() {
  Job job;
  job.mesh = {{"data", 2}};
  job.hosts = R"([{ name = "a", ranks = 1, address = "127.0.0.1" }, { name = "b", ranks = 1, address = "127.0.0.2" }])";
  job.transport = "ucx";
  job.data_options = {{"rows", "[[1, 2, 0], [3, 4, 1], [5, 6, 0], [7, 8, 1]]"}, {"held_out", "0"}};
  return job;
}

/// What starts the other host: a shell, which gets the command as its last word.
std::string shell(const std::string& script) { return list({"sh", "-c", script}); }
const std::string kStarts = list({"sh", "-c"});

std::string told(const Job& job) {
  const TemporaryFolder folder;
  return run(job, {"run"}, folder.path()).err;
}

/// A port that nobody else here is likely to want, and the next one.
int own_port() { return 20000 + static_cast<int>(getpid() % 5000) * 2; }

/// Where the first host listens, at one of these two ports, when it starts the other.
std::string listened_at(const Job& job) {
  const TemporaryFolder folder;
  run(job, {"run"}, folder.path());
  std::istringstream lines(read_file(folder / "listening"));
  std::string all = "listens at:";
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    words >> number >> local >> remote >> state;
    if (state != "0A") continue;
    const auto colon = local.find(':');
    const int port = std::stoi(local.substr(colon + 1), nullptr, 16);
    if (port == own_port() || port == own_port() + 1) all += " " + local;
  }
  return all;
}

/// Whether it gives up a host that never comes, within ten seconds.
std::string patience_at_start(const Job& job) {
  const TemporaryFolder folder;
  std::vector<std::string> words = command_of(job, {"run"}, folder.path());
  words.insert(words.begin(), build_dir() + "/bin/baleen");
  RunningJob running(words);
  return running.ends(std::chrono::seconds(10)) ? "gives up" : "waits";
}

std::vector<std::string> words_of(const fs::path& process) {
  std::istringstream text(read_file(process / "cmdline"));
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, '\0');) words.push_back(word);
  return words;
}

/// The launcher of the other host of a job.
pid_t other_launcher(const RunningJob& running) {
  const std::vector<std::string> own = words_of("/proc/" + std::to_string(running.leader()));
  const auto manifest = std::find(own.begin(), own.end(), "--manifest");
  if (manifest == own.end() || manifest + 1 == own.end()) return -1;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const std::vector<std::string> words = words_of(entry.path());
    const auto has = [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    const bool is_rank = std::any_of(words.begin(), words.end(), [](const auto& w) { return w.starts_with("--rank"); });
    if (!is_rank && has(*(manifest + 1)) && has("--host-index")) return std::stoi(name);
  }
  return -1;
}

/// Whether it gives up a host that is stopped, within twelve seconds.
std::string patience_in_training(const Job& job) {
  return seen_of_a_run(job, [](const RunningJob& running) -> std::string {
    const pid_t other = other_launcher(running);
    if (other < 0) return "there is no launcher of another host";
    kill(other, SIGSTOP);
    const bool ended = holds_within(std::chrono::seconds(12), [&] {
      const char state = state_of(running.leader());
      return state == 'Z' || state == '?';
    });
    kill(other, SIGKILL);
    return ended ? "gives up" : "waits";
  });
}

}  // namespace

Experiments launcher_experiments() {
  const std::string port = std::to_string(own_port()), next = std::to_string(own_port() + 1);
  const Options looks{{"start", shell("cat /proc/net/tcp > listening; exit 1")}};
  Options at_port = looks;
  at_port["port"] = port;
  return {
      {"launcher.ssh.start", {{two_hosts(), told, {shell("echo one >&2"), shell("echo two >&2")}}}},
      {"launcher.ssh.port", {{two_hosts(), listened_at, {kUnset, port, next}, looks}}},
      {"launcher.ssh.listen", {{two_hosts(), listened_at, {kUnset, text("127.0.0.3")}, at_port}}},
      {"launcher.ssh.wait", {{two_hosts(), patience_at_start, {kUnset, "1"}, {{"start", shell("sleep 60")}}}}},
      {"launcher.ssh.patience", {{two_hosts(), patience_in_training, {kUnset, "60"}, {{"start", kStarts}}}}},
  };
}

}  // namespace baleen::test::options
