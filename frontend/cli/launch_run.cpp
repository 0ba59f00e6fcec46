/// \file From a manifest to what a launcher is to start, and back to an exit code.
#include "frontend/cli/launch_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "core/launch/rank_link.hpp"
#include "core/runtime/session_memory.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/cpu_sets.hpp"
#include "frontend/engine/join.hpp"
#include "frontend/engine/prepare.hpp"
#include "frontend/engine/threads.hpp"

namespace baleen::app {
namespace {

constexpr const char* kFromFirst = "-";
constexpr const char* kEndOfOptions = "--";

/// This process's command as another host is to run it.
std::vector<std::string> command_of_host(const std::vector<std::string>& own) {
  std::error_code code;
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe", code).string()};
  const auto end = std::find(own.begin() + 1, own.end(), kEndOfOptions);
  words.insert(words.end(), own.begin() + 1, end);
  words.insert(words.end(), {"--host-index", BALEEN_LAUNCH_INDEX, "--secret-file", kFromFirst});
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

/// What no rank's process can do without, whatever the job is: Lua, what linking has written to, stacks.
constexpr std::uint64_t kLeastOfRank = std::uint64_t{2} << 20;

/// More processes than this host has memory for are not begun.
Status check_ranks(const ManifestHost& own) {
  const std::uint64_t memory =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  const auto ranks = static_cast<std::uint64_t>(own.ranks);
  if (ranks <= memory / kLeastOfRank) return {};
  return invalid("host `" + own.name + "` is to start " + std::to_string(ranks) + " ranks, whose processes take " +
                     bytes_text(ranks * kLeastOfRank) + " at least, and has " + bytes_text(memory) +
                     "; give it fewer `ranks`",
                 own.where);
}

/// `threads`: that the user gives each rank; 0: its share.
Result<LaunchOrder> plan_launch(const RankOptions& options, const Setup& setup, int threads) {
  const Manifest& manifest = setup.manifest;
  BALEEN_TRY(check_words(options.host, manifest.hosts.size()));
  const ManifestHost& own = manifest.hosts[static_cast<std::size_t>(options.host.index.value_or(0))];
  BALEEN_TRY(check_ranks(own));
  auto cpus = choose_cpus(usable_cpus(), own.cores, own.cores_where);
  if (!cpus && manifest.hosts.size() == 1) return cpus.error();
  LaunchOrder order;
  if (!cpus) order.obstacle = cpus.error().text();
  CpuShares shares = share_cpus(cpus ? *std::move(cpus) : usable_cpus(), static_cast<int>(own.ranks), threads);
  order.command = setup.command;
  order.mark = kRankMark;
  order.host_command = command_of_host(setup.command);
  order.facts = "version " BALEEN_VERSION "\n" + manifest.text;
  order.threads = shares.threads;
  order.cpus = std::move(shares.sets);
  return order;
}

Result<LaunchOrder> plan_launch(const ScriptOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Prepared prepared, prepare(options, setup));
  return plan_launch(options, setup, threads_asked(prepared.compute.member));
}

Result<LaunchOrder> plan_launch(const BenchOptions& options, const Setup& setup) {
  BALEEN_TRY(prepare_transport(options, setup));
  return plan_launch(options, setup, 0);
}

template <class Options>
int launch_planned(const Options& options, const Setup& setup) {
  // Looking at the machine for the first time takes some milliseconds, and so does what comes before it is needed.
  const auto looks = std::async(std::launch::async, usable_cpus);
  const Result<LaunchOrder> order = plan_launch(options, setup);
  if (!order) return report(setup.log, order.error());
  if (!setup.launcher) return report(setup.log, internal("a command with ranks did not ask for a launcher"));
  const Result<Outcome> outcome = setup.launcher->start(*order);
  return outcome ? report(setup.log, *outcome) : report(setup.log, outcome.error());
}

}  // namespace

bool starts_ranks(const Setup& setup) { return setup.manifest.ranks() > 1 && !setup.link; }

int launch_run(const ScriptOptions& options, const Setup& setup) { return launch_planned(options, setup); }
int launch_run(const BenchOptions& options, const Setup& setup) { return launch_planned(options, setup); }

int report(const Log& log, const Outcome& outcome) {
  if (outcome.signal) {
    std::fflush(nullptr);
    std::signal(outcome.signal, SIG_DFL);
    std::raise(outcome.signal);
  }
  if (outcome.status) return kSuccess;
  const Error& error = outcome.status.error();
  const int code = outcome.exit_code > 0 ? outcome.exit_code : exit_code(error.code);
  if (outcome.is_told) return code;
  log.failure(error.text() + (code == kOurBug ? kPleaseReport : ""));
  if (code == kOurBug) Log::dump(outcome.recorded.empty() ? log.recorded() : outcome.recorded);
  return code;
}

}  // namespace baleen::app
