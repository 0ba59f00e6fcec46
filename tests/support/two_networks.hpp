/// \file Two hosts made of network namespaces, joined by one cable that can be cut, and made deaf in one direction.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

class TwoNetworks {
 public:
  static constexpr const char* kDevice = "cable";

  TwoNetworks() : names_{"baleen" + std::to_string(getpid()) + "a", "baleen" + std::to_string(getpid()) + "b"} {
    for (const std::string& name : names_) try_ip({"netns", "add", name});
    try_ip({"link", "add", kDevice, "netns", names_[0], "type", "veth", "peer", "name", kDevice, "netns", names_[1]});
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

  void cut_cable() { try_ip({"-n", name(0), "link", "set", kDevice, "down"}); }
  /// What `host` sends arrives nowhere from now on: it goes to an address of the cable that nobody has.
  void mute(int host) {
    try_ip({"-n", name(host), "neigh", "replace", address(1 - host), "lladdr", "02:00:00:00:00:99", "nud", "permanent",
            "dev", kDevice});
  }

 private:
  /// The system finds out a little later that both ends are up.
  void wait_for_carrier(int host) {
    for (int tries = 0; missing_.empty(); ++tries) {
      const ProcessResult shown = run_process({"ip", "-n", name(host), "-o", "link", "show", kDevice});
      if (shown.out.find("state UP") != std::string::npos) return;
      if (tries == 200) missing_ = "the cable between two network namespaces does not come up: " + shown.out;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  void try_ip(std::vector<std::string> words) {
    if (!missing_.empty()) return;
    words.insert(words.begin(), "ip");
    const ProcessResult result = run_process(words);
    if (result.exit_code == 127)
      missing_ = "there is no program `ip` (Debian's iproute2)";
    else if (result.exit_code != 0)
      missing_ = "no network namespaces here: " + result.err;
  }

  std::vector<std::string> names_;
  std::string missing_;
};

}  // namespace baleen::test
