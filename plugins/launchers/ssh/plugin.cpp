/// \file The launcher `ssh`: the first host starts the others through ssh, or people start each.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cluster.hpp"
#include "common/channel_launcher.hpp"

BALEEN_DESCRIPTOR("launcher", "ssh", "1.0.0", "Apache-2.0",
                  "processes of several hosts, started through ssh or each by hand", 0, "",
                  BALEEN_OPTION("port", BALEEN_OPTION_INT, 0, 0, 65535, "0", "", "",
                                "where the first host meets the others; 0: any free port"),
                  BALEEN_OPTION("listen", BALEEN_OPTION_STRING, 0, 0, 1, "", "", "",
                                "address that the first host listens at; empty: its own"),
                  BALEEN_OPTION("start", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 1, "", "", "",
                                "command that starts another host ({name}, {address}, {index}); empty: ssh"),
                  BALEEN_OPTION("wait", BALEEN_OPTION_INT, 0, 1, 604800, "600", "", "",
                                "longest wait for the other hosts, in seconds"),
                  BALEEN_OPTION("patience", BALEEN_OPTION_FLOAT, 0, 1, 3600, "3", "", "",
                                "seconds for which another host may confirm nothing before it is lost"));

namespace baleen::launchers {
namespace {

constexpr std::string_view kFromFirst = "-";  // the secret comes on standard input

class SshLauncher final : public ChannelLauncher {
 public:
  static bool fits(const LaunchView& launch) { return launch.host_count() > 1; }

  static Result<std::unique_ptr<Launcher>> create(const Host& host, const Settings& settings,
                                                  const LaunchView& launch) {
    auto launcher = std::make_unique<SshLauncher>();
    BALEEN_TRY(launcher->open(host, launch));
    ClusterJoin& meeting = launcher->meeting_;
    meeting.listen = settings.text("listen");
    meeting.port = static_cast<int>(settings.integer("port"));
    for (const std::string_view word : settings.list("start")) meeting.through.emplace_back(word);
    launcher->wait_ = std::chrono::seconds(settings.integer("wait"));
    launcher->patience_ = std::chrono::milliseconds(std::llround(settings.number("patience") * 1000));
    launcher->host_index_ = launch.host_index();
    launcher->secret_file_ = launch.secret_file();
    return std::unique_ptr<Launcher>(std::move(launcher));
  }

  static Status make_secret(const std::string& file) { return Secret::fresh().write(file); }

  Status start(const baleen_launch_start_t& what, baleen_outcome_t& outcome) {
    ClusterOptions options;
    fill(options, what);
    options.timeouts.arrive = wait_;
    options.timeouts.be_patient(patience_);
    options.host_index = std::max(0, host_index_);
    options.meeting = meeting_;
    options.meeting.facts = view(what.facts);
    if (options.hosts.size() > 1) BALEEN_TRY(meet(options.meeting, what));
    tell(launch(options), outcome);
    return {};
  }

 private:
  Status meet(ClusterJoin& meeting, const baleen_launch_start_t& what) const {
    if (secret_file_ == kFromFirst) return meet_as_told(meeting);
    if (host_index_ >= 0) return meet_by_hand(meeting);
    meeting.secret = Secret::fresh();
    if (meeting.through.empty()) meeting.through = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{name}"};
    meeting.command = [words = words_of(what.host_words, what.host_word_count)](int host) {
      std::vector<std::string> own = words;
      std::ranges::replace(own, std::string(BALEEN_LAUNCH_INDEX), std::to_string(host));
      return own;
    };
    return {};
  }

  Status meet_by_hand(ClusterJoin& meeting) const {
    meeting.through.clear();
    if (meeting.port == 0)
      return invalid("hosts that are started by hand need a `port` in [cluster], where the first one meets the others");
    BALEEN_TRY_ASSIGN(meeting.secret, Secret::read(secret_file_));
    return {};
  }

  Status meet_as_told(ClusterJoin& meeting) const {
    if (host_index_ <= 0)
      return invalid("`--secret-file -` is how the first host starts the others; it is no option for you");
    BALEEN_TRY_ASSIGN(const StartWord word, StartWord::read(STDIN_FILENO));
    meeting.secret = word.secret;
    meeting.port = word.port;
    meeting.is_started = true;
    meeting.through.clear();
    return {};
  }

  ClusterJoin meeting_;
  std::chrono::seconds wait_{0};
  std::chrono::milliseconds patience_{0};
  int host_index_ = -1;
  std::string secret_file_;
};

}  // namespace
}  // namespace baleen::launchers

BALEEN_LAUNCHER(baleen::launchers::SshLauncher);
