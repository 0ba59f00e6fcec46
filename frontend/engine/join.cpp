/// \file Chooses, opens and asks launchers.
#include "frontend/engine/join.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "frontend/engine/place_check.hpp"

namespace baleen::app {
namespace {

constexpr const char* kLauncherKind = "launcher";

/// Those that may be used though nobody names them, the best first.
std::vector<Descriptor> willing(const Registry& registry) {
  std::vector<Descriptor> found;
  for (const Descriptor& one : registry.descriptors())
    if (one.kind == kLauncherKind && one.score >= 0) found.push_back(one);
  std::ranges::stable_sort(found, std::greater(), &Descriptor::score);
  return found;
}

LaunchJob job_of(const Manifest& manifest, const HostOptions& options, const std::string& word) {
  LaunchJob job;
  if (manifest.names_hosts)
    for (const ManifestHost& host : manifest.hosts)
      job.hosts.push_back({host.name, static_cast<int>(host.ranks), host.address});
  job.ranks = static_cast<int>(manifest.ranks());
  if (options.index) job.host_index = static_cast<int>(*options.index);
  job.secret_file = options.secret_file.string();
  job.word = word;
  return job;
}

struct OpenedLauncher {
  Member member;
  Plugin plugin;
};

/// The launcher that the manifest names, or the best that fits.
Result<OpenedLauncher> choose(const Setup& setup, const LaunchJob& job) {
  const ManifestChoice& choice = setup.manifest.launcher;
  const auto chosen = [&](const Descriptor& descriptor, const Plugin& plugin) {
    return OpenedLauncher{{descriptor, choice.options, choice.where, setup.manifest.folder()}, plugin};
  };
  if (!choice.plugin.empty()) {
    BALEEN_TRY_ASSIGN(const Descriptor descriptor, setup.registry.find(kLauncherKind, choice.plugin, choice.where));
    BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(descriptor));
    return chosen(descriptor, plugin);
  }
  for (const Descriptor& descriptor : willing(setup.registry)) {
    BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(descriptor));
    BALEEN_TRY_ASSIGN(const bool fits, LauncherMember::fits(plugin, job));
    if (fits) return chosen(descriptor, plugin);
  }
  return Error{BALEEN_NOT_FOUND,
               "no launcher that was found starts " + std::to_string(job.ranks) + " ranks on " +
                   std::to_string(setup.manifest.hosts.size()) + " hosts; install one, or name one in [launcher]",
               {}};
}

Result<std::unique_ptr<LauncherMember>> open_launcher(const Setup& setup, const LaunchJob& job) {
  BALEEN_TRY_ASSIGN(const OpenedLauncher opened, choose(setup, job));
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, opened.member.settings(0));
  auto launcher = LauncherMember::create(opened.plugin, *settings.get(), job);
  if (!job.word.empty() && (launcher ? !(*launcher)->place() : launcher.error().code == BALEEN_INVALID))
    return no_rank_word(job.word);
  return launcher;
}

/// The hosts of a job that something else has started.
std::vector<ManifestHost> hosts_of(const Place& place, const std::vector<std::string>& names) {
  std::vector<ManifestHost> hosts;
  for (int rank = 0; rank < place.ranks; ++rank) {
    const std::size_t host =
        place.host_of_rank.empty() ? 0 : static_cast<std::size_t>(place.host_of_rank[static_cast<std::size_t>(rank)]);
    while (hosts.size() <= host) {
      hosts.emplace_back().ranks = 0;
      if (hosts.size() <= names.size()) hosts.back().name = names[hosts.size() - 1];
    }
    ++hosts[host].ranks;
  }
  return hosts;
}

Status follow_places(Manifest& manifest, const Place& place, const LauncherMember& launcher) {
  const std::string where = manifest.mesh.empty() ? manifest.hosts.front().where : manifest.mesh.front().where;
  if (place.ranks != manifest.ranks())
    return invalid("the mesh has " + std::to_string(manifest.ranks()) + " ranks, and " + launcher.title() + " has " +
                       std::to_string(place.ranks) + "; make them equal",
                   where);
  std::vector<ManifestHost> hosts = hosts_of(place, launcher.hosts());
  if (!manifest.names_hosts) return manifest.hosts = std::move(hosts), Status();
  for (std::size_t i = 0; i < std::max(hosts.size(), manifest.hosts.size()); ++i) {
    const std::int64_t told = i < hosts.size() ? hosts[i].ranks : 0;
    const std::int64_t said = i < manifest.hosts.size() ? manifest.hosts[i].ranks : 0;
    if (told == said) continue;
    return invalid("host " + std::to_string(i) + " has " + std::to_string(said) + " ranks here, and " +
                       std::to_string(told) + " of " + launcher.title() + "; leave out `hosts`, or make them equal",
                   manifest.hosts[std::min(i, manifest.hosts.size() - 1)].where);
  }
  return {};
}

}  // namespace

Error no_rank_word(const std::string& rank_word) {
  return invalid("`" + (kRankMark + rank_word) + "` is how a launcher starts its ranks; it is no option for you");
}

std::optional<std::string> take_rank_word(std::vector<std::string>& words) {
  const std::string_view mark = kRankMark;
  if (words.empty() || !words.front().starts_with(mark)) return std::nullopt;
  std::string word = words.front().substr(mark.size());
  words.erase(words.begin());
  return word;
}

Status join_job(Setup& setup, const HostOptions& options, const std::optional<std::string>& rank_word, LaunchedAs& as) {
  if (rank_word && rank_word->empty()) return no_rank_word(*rank_word);
  if (!rank_word && setup.manifest.ranks() == 1 && setup.manifest.launcher.plugin.empty()) return {};
  BALEEN_TRY_ASSIGN(auto launcher,
                    open_launcher(setup, job_of(setup.manifest, options, rank_word.value_or(std::string()))));
  if (!launcher->place()) {
    as.launcher = std::move(launcher);
    setup.launcher = as.launcher.get();
    return {};
  }
  if (!rank_word) BALEEN_TRY(follow_places(setup.manifest, *launcher->place(), *launcher));
  BALEEN_TRY_ASSIGN(as.link, RankLink::over(std::move(launcher)));
  setup.link = as.link.get();
  return rank_word ? Status() : compare_places(*as.link);
}

Status make_secret(const Setup& setup, const std::string& file) {
  const ManifestChoice& choice = setup.manifest.launcher;
  std::vector<Descriptor> candidates = willing(setup.registry);
  if (!choice.plugin.empty()) {
    BALEEN_TRY_ASSIGN(Descriptor named, setup.registry.find(kLauncherKind, choice.plugin, choice.where));
    candidates = {std::move(named)};
  }
  Error none{BALEEN_NOT_FOUND, "no launcher that was found starts hosts that share a secret; install one", {}};
  for (const Descriptor& descriptor : candidates) {
    BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(descriptor));
    Status made = LauncherMember::make_secret(plugin, file);
    if (made || made.error().code != BALEEN_UNSUPPORTED) return made;
    if (!choice.plugin.empty()) none = made.error();
  }
  return none;
}

}  // namespace baleen::app
