/// \file Three ways to be a host: first of a cluster that it starts, started by the first, started by a person.
#include "frontend/cli/launch_hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace baleen::app {
namespace {

constexpr const char* kFromFirst = "-";
constexpr const char* kEndOfOptions = "--";

/// What starts another host where the manifest does not say it.
const std::vector<std::string>& usual_start() {
  static const std::vector<std::string> words = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{name}"};
  return words;
}

/// This process's command as another host is to run it.
std::vector<std::string> command_of(const std::vector<std::string>& own, int host) {
  std::error_code code;
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe", code).string()};
  const auto end = std::find(own.begin() + 1, own.end(), kEndOfOptions);
  words.insert(words.end(), own.begin() + 1, end);
  words.insert(words.end(), {"--host-index", std::to_string(host), "--secret-file", kFromFirst});
  words.insert(words.end(), end, own.end());
  return words;
}

Status check_words(const HostOptions& options, std::size_t hosts) {
  const bool has_secret = !options.secret_file.empty();
  if (hosts == 1 && (options.index || has_secret))
    return invalid(std::string(options.index ? "--host-index" : "--secret-file") +
                   " is for clusters of several hosts, and the manifest has one");
  if (!options.index && has_secret)
    return invalid(
        "--secret-file needs --host-index; without both this host starts the others, with a secret of its "
        "own making");
  if (options.index && !has_secret)
    return invalid(
        "--host-index needs --secret-file, a file that is the same on every host and only you can read; "
        "`baleen secret FILE` makes one");
  return {};
}

Status meet_by_hand(Meeting& meeting, const HostOptions& options, const Manifest& manifest) {
  if (manifest.port == 0)
    return invalid("hosts that are started by hand need a `port` in [cluster], where the first one meets the others",
                   manifest.hosts.front().where);
  BALEEN_TRY_ASSIGN(meeting.secret, Secret::read(options.secret_file.string()));
  return {};
}

Status meet_as_told(Meeting& meeting, std::int64_t index) {
  if (index == 0) return invalid("`--secret-file -` is how the first host starts the others; it is no option for you");
  BALEEN_TRY_ASSIGN(const StartWord word, StartWord::read(STDIN_FILENO));
  meeting.secret = word.secret;
  meeting.port = word.port;
  meeting.is_started = true;
  return {};
}

}  // namespace

Status add_hosts(LaunchOptions& launch, const HostOptions& options, const Setup& setup) {
  const Manifest& manifest = setup.manifest;
  BALEEN_TRY(check_words(options, manifest.hosts.size()));
  launch.host_index = static_cast<int>(options.index.value_or(0));
  launch.cpus = manifest.hosts[static_cast<std::size_t>(launch.host_index)].cores;
  launch.hosts.clear();
  for (const ManifestHost& host : manifest.hosts)
    launch.hosts.push_back({host.name, static_cast<int>(host.ranks), host.address, !host.address.empty()});
  if (manifest.hosts.size() == 1) return {};

  Meeting& meeting = launch.meeting;
  meeting.listen = manifest.listen;
  meeting.port = static_cast<int>(manifest.port);
  meeting.facts = "version " BALEEN_VERSION "\n" + manifest.text;
  if (manifest.wait_seconds > 0) launch.patience.arrive = std::chrono::seconds(manifest.wait_seconds);
  if (options.secret_file == kFromFirst) return meet_as_told(meeting, *options.index);
  if (options.index) return meet_by_hand(meeting, options, manifest);
  meeting.secret = Secret::fresh();
  meeting.through = manifest.start.empty() ? usual_start() : manifest.start;
  meeting.command = [own = launch.command](int host) { return command_of(own, host); };
  return {};
}

}  // namespace baleen::app
