/// \file Two hosts made of network namespaces, joined by one cable that can be cut, slowed down, and made to lose what
/// it carries, in one direction or both.
#pragma once
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

class TwoNetworks {
 public:
  static constexpr const char* kDevice = "cable";

  /// Lays a device of the cable's name into each of the two; returns why it cannot, or nothing.
  using Lay = std::function<std::string(const TwoNetworks&)>;

  explicit TwoNetworks(const Lay& lay = &lay_cable)
      : names_{"baleen" + std::to_string(getpid()) + "a", "baleen" + std::to_string(getpid()) + "b"} {
    for (const std::string& name : names_) try_ip({"netns", "add", name});
    if (missing_.empty()) missing_ = lay(*this);
    for (int host = 0; host < 2; ++host) {
      try_ip({"-n", name(host), "addr", "add", address(host) + "/24", "dev", kDevice});
      try_ip({"-n", name(host), "link", "set", "lo", "up"});
      try_ip({"-n", name(host), "link", "set", kDevice, "up"});
    }
    for (int host = 0; host < 2; ++host) wait_for_carrier(host);
  }
  ~TwoNetworks() {
    for (int host = 0; host < 2; ++host)
      for (const pid_t process : processes(host)) kill(process, SIGKILL);
    for (const std::string& name : names_) run_process({"ip", "netns", "del", name});
  }
  TwoNetworks(const TwoNetworks&) = delete;

  /// Why there are none here; empty where there are.
  const std::string& missing() const { return missing_; }

  const std::string& name(int host) const { return names_[static_cast<std::size_t>(host)]; }
  static std::string address(int host) { return "10.77.0." + std::to_string(host + 1); }
  /// A command as it is run on that host.
  std::vector<std::string> on(int host, const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"/bin/sh", "-c", "exec ip netns exec \"$0\" \"$@\"", name(host)};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  /// Processes that live in its network.
  std::set<pid_t> processes(int host) const {
    std::set<pid_t> found;
    struct stat own = {}, other = {};
    if (stat(("/run/netns/" + name(host)).c_str(), &own) != 0) return found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
      const std::string number = entry.path().filename();
      if (number.find_first_not_of("0123456789") != std::string::npos) continue;
      if (stat((entry.path() / "ns/net").c_str(), &other) == 0 && other.st_ino == own.st_ino)
        found.insert(std::stoi(number));
    }
    return found;
  }

  /// From now on this thread, and what it starts, is in that host's network. False where the system refuses.
  bool enter(int host) const {
    const int file = open(("/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = file >= 0 && setns(file, CLONE_NEWNET) == 0;
    if (file >= 0) close(file);
    return entered;
  }
  /// The same for a process of one thread, which sees that host's devices in /sys too.
  bool move_to(int host) const {
    return enter(host) && unshare(CLONE_NEWNS) == 0 && mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) == 0 &&
           mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
  }

  void cut_cable() { try_ip({"-n", name(0), "link", "set", kDevice, "down"}); }
  /// What `host` sends arrives nowhere from now on: it goes to an address of the cable that nobody has.
  void mute(int host) {
    try_ip({"-n", name(host), "neigh", "replace", address(1 - host), "lladdr", "02:00:00:00:00:99", "nud", "permanent",
            "dev", kDevice});
  }
  /// The cable as it was before it was cut, muted or made to lose.
  void mend() {
    for (const int host : {0, 1}) {
      try_ip({"-n", name(host), "link", "set", kDevice, "up"});
      try_ip({"-n", name(host), "neigh", "flush", "dev", kDevice, "nud", "all"});
      run_process(on(host, {"iptables", "-w", "-F", "INPUT"}));  // without which nothing was made to lose
    }
    for (const int host : {0, 1}) wait_for_carrier(host);
  }

  /// Of what `host` sends, this part never arrives: 1 for all of it.
  void lose(int host, double part) {
    std::vector<std::string> rule = {"iptables", "-w", "-A", "INPUT", "-i", kDevice};
    if (part < 1)
      rule.insert(rule.end(), {"-m", "statistic", "--mode", "random", "--probability", std::to_string(part)});
    rule.insert(rule.end(), {"-j", "DROP"});
    try_on(1 - host, rule, "needs rules of iptables that drop packets");
  }
  /// Packets that `lose` has taken from what `host` sent.
  long lost(int host) const {
    const std::string table = run_process(on(1 - host, {"iptables", "-w", "-nvxL", "INPUT"})).out;
    std::istringstream lines(table);
    std::string line;
    while (std::getline(lines, line) && line.find("DROP  ") == std::string::npos) {
    }
    return line.empty() ? 0 : std::stol(line);
  }
  /// What either sends queues up, and moves on at so many bits a second. What is too much for the queue is lost.
  void slow_down(const std::string& rate) {
    for (const int host : {0, 1})
      try_on(host,
             {"tc", "qdisc", "add", "dev", kDevice, "root", "tbf", "rate", rate, "burst", "4kb", "latency", "500ms"},
             "needs slow devices (tc tbf)");
  }

 private:
  static std::string lay_cable(const TwoNetworks& networks) {
    const ProcessResult result = run_process({"ip", "link", "add", kDevice, "netns", networks.name(0), "type", "veth",
                                              "peer", "name", kDevice, "netns", networks.name(1)});
    return result.exit_code == 0 ? std::string() : "needs network namespaces: " + result.err;
  }
  /// The system finds out a little later that both ends are up.
  void wait_for_carrier(int host) {
    for (int tries = 0; missing_.empty(); ++tries) {
      const ProcessResult shown = run_process({"ip", "-n", name(host), "-o", "link", "show", kDevice});
      const auto is = [&](const char* state) { return shown.out.find(state) != std::string::npos; };
      if (is("state UP") || (is("state UNKNOWN") && is("LOWER_UP"))) return;  // some devices never say more
      if (tries == 200) missing_ = "the cable between two network namespaces does not come up: " + shown.out;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  void try_ip(std::vector<std::string> words) {
    if (!missing_.empty()) return;
    words.insert(words.begin(), "ip");
    const ProcessResult result = run_process(words);
    if (result.exit_code == 127)
      missing_ = "needs the program `ip`";
    else if (result.exit_code != 0)
      missing_ = "needs network namespaces: " + result.err;
  }

  void try_on(int host, const std::vector<std::string>& command, const std::string& otherwise) {
    if (!missing_.empty()) return;
    const ProcessResult result = run_process(on(host, command));
    if (result.exit_code != 0) missing_ = otherwise + ": " + result.err;
  }

  std::vector<std::string> names_;
  std::string missing_;
};

}  // namespace baleen::test
