/// \file What every launcher must do on one host: ranks are numbered and meet, and how they end is told.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baleen/host.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/launched_rank.hpp"
#include "frontend/validate/rank_processes.hpp"
#include "frontend/validate/remains.hpp"

namespace baleen::validate {
namespace {

namespace fs = std::filesystem;

struct JobEnd {
  bool is_started = false;  ///< by the launcher, which then says how the job has ended
  baleen_status_t status = BALEEN_OK;
  std::string message;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first failure that a rank has written down.
void throw_failures() {
  std::set<fs::path> all;
  for (const fs::directory_entry& entry : fs::directory_iterator("."))
    if (entry.path().filename().string().starts_with(kFailureFile)) all.insert(entry.path());
  if (!all.empty()) throw Failure("a rank: " + text_of(*all.begin()));
}

/// Ranks as processes of `start`: this very program, which plays the script.
JobEnd start_ranks(const Subject& subject, const Launcher& launcher, std::int32_t ranks, const std::string& script) {
  std::vector<std::string> words = {"baleen", "validate", subject.descriptor.file.string(),
                                    "--launch-rank=" + script + ":" + std::to_string(ranks),
                                    "--launch-folder=" + subject.folder};
  for (const std::string& set : subject.sets) words.insert(words.end(), {"--set", set});
  std::vector<baleen_string_t> views;
  for (const std::string& word : words) views.push_back(abi(word));
  const std::string mark = std::string(kLaunchWord) + "=";
  baleen_launch_start_t what{};
  what.size = sizeof what;
  what.words = views.data();
  what.word_count = views.size();
  what.mark = abi(mark);
  what.facts = abi(std::string_view("validate\n"));
  what.threads = kThreads;
  baleen_outcome_t outcome{};
  outcome.size = sizeof outcome;
  launcher.plugin().ok("`start`", launcher.table().start, launcher.get(),
                       static_cast<const baleen_launch_start_t*>(&what), &outcome);
  throw_failures();
  return {true, outcome.status, std::string(view(outcome.message))};
}

/// What starters of processes tell them: torchrun, Slurm, Open MPI, PMI.
void tell_environment(const RankPlace& place, const std::string& job) {
  const std::string rank = std::to_string(place.rank), ranks = std::to_string(place.ranks);
  for (const char* name : {"RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK",
                           "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK"})
    ::setenv(name, rank.c_str(), 1);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE",
                           "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE"})
    ::setenv(name, ranks.c_str(), 1);
  for (const char* name : {"JOB", "SLURM_JOB_ID"}) ::setenv(name, job.c_str(), 1);
  ::setenv("SLURM_NODEID", "0", 1);
  ::setenv("SLURM_NNODES", "1", 1);
}

/// Ranks that the launcher finds.
JobEnd fork_ranks(const Subject& subject, Mark& mark, std::int32_t ranks, const std::string& script) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string job = "validate-" + std::to_string(::getpid()) + "-" + std::to_string(now);
  run_ranks(ranks, mark, [&](const RankPlace& told, Mark& own) {
    tell_environment(told, job);
    const Launcher launcher(subject, own, OneHost(ranks));
    const baleen_place_t place = launcher.place();
    if (place.ranks == 0)
      throw Skip("it has no `start`, and finds no rank where the environment has what torchrun, Slurm and MPI tell");
    if (place.ranks != ranks)
      throw Failure("`place` says " + std::to_string(place.ranks) + " ranks in a job of " + std::to_string(ranks));
    play_rank(launcher, own, place, script, false);
  });
  return {};
}

JobEnd run(const Subject& subject, Mark& mark, std::int32_t ranks, const std::string& script,
           bool needs_start = false) {
  {
    const Launcher launcher(subject, mark, OneHost(ranks));
    if (launcher.place().ranks != 0) throw Skip("this process is a rank of another job");
    if (launcher.table().start) return start_ranks(subject, launcher, ranks, script);
  }
  if (needs_start) throw Skip("it has no `start`: something else sees how processes end");
  return fork_ranks(subject, mark, ranks, script);
}

void runs_well(const Subject& subject, Mark& mark, std::int32_t ranks, const std::string& script) {
  const JobEnd ended = run(subject, mark, ranks, script);
  if (ended.status != BALEEN_OK)
    throw Failure("every rank has ended with `finish`, and `start` says status " + std::to_string(ended.status) + ": " +
                  ended.message);
}

void runs_on_one_and_four(const Subject& subject, Mark& mark) {
  runs_well(subject, mark, 4, "places");
  for (int rank = 0; rank < 4; ++rank)
    if (!fs::remove("rank." + std::to_string(rank)))
      throw Failure("no process of four is told that it is rank " + std::to_string(rank));
  runs_well(subject, mark, 1, "places");
}

void tells_of_failures(const Subject& subject, Mark& mark) {
  const JobEnd ended = run(subject, mark, 3, "lost");
  if (!ended.is_started) return;  // ranks show their errors themselves
  if (ended.status == BALEEN_OK) throw Failure("a rank has called `fail`, and `start` says that the job ended well");
  if (ended.message.find(kCause) == ended.message.npos)
    throw Failure("`start` does not tell the first cause, which is `" + std::string(kCause) +
                  "`; it says: " + ended.message);
}

void sees(const Subject& subject, Mark& mark, const std::string& script, const std::string& what) {
  const JobEnd ended = run(subject, mark, 3, script, true);
  if (ended.status == BALEEN_OK) throw Failure(what + ", and `start` says that the job ended well");
  if (ended.message.empty()) throw Failure(what + ", and `start` does not say so");
}

void fits_alike(const Subject& subject, Mark& mark) {
  const Opened opened(subject, mark);
  const baleen_launch_host_t hosts[] = {{abi(std::string_view("a")), {}, 2, 0},
                                        {abi(std::string_view("b")), abi(std::string_view("10.0.0.2")), 1, 0}};
  for (std::uint64_t count = 0; count <= 2; ++count)
    for (const std::int32_t index : {-1, 0}) {
      const baleen_launch_job_t job = {sizeof job, count > 0 ? hosts : nullptr, count, count < 2 ? 2 : 3, index, {},
                                       {}};
      const auto ask = [&] {
        return opened.call("`fits`", opened.table<baleen_launcher_t>().fits, opened.host(), &job) != 0;
      };
      if (ask() != ask()) throw Failure("`fits` of one job says this and then that");
    }
}

/// Also for two hosts, which it may refuse.
void is_made_for_jobs(const Subject& subject, Mark& mark) {
  { const Launcher launcher(subject, mark, OneHost(2)); }
  const Opened opened(subject, mark);
  const SettingsStorage settings = settings_of(subject);
  const baleen_launch_host_t hosts[] = {{abi(std::string_view("127.0.0.1")), {}, 1, 0},
                                        {abi(std::string_view("127.0.0.2")), {}, 1, 0}};
  const baleen_launch_job_t job = {sizeof job, hosts, 2, 2, -1, {}, {}};
  const auto& table = opened.table<baleen_launcher_t>();
  void* handle = nullptr;
  const baleen_status_t status =
      opened.call("`create` for two hosts", table.create, opened.host(), settings.get(), &job, &handle);
  if (status != BALEEN_OK) {
    opened.refusal("`create` for two hosts", status);
  } else if (!handle) {
    throw Failure("`create` for two hosts returns OK and gives no launcher");
  } else {
    opened.call("`destroy`", table.destroy, handle);
  }
}

void leaves_no_trace(const Subject& subject, Mark& mark) {
  runs_well(subject, mark, 2, "fences");  // what the first use makes for good is no leak
  const Remains before = Remains::now();
  for (int turn = 0; turn < 8; ++turn) const Launcher launcher(subject, mark, OneHost(2));
  runs_well(subject, mark, 2, "fences");
  const std::string left = Remains::now().beyond(before, before);
  if (!left.empty()) throw Failure("after `destroy` there is left " + left);
}

void makes_secrets(const Subject& subject, Mark& mark) {
  const Opened opened(subject, mark);
  const auto& table = opened.table<baleen_launcher_t>();
  if (!table.make_secret) throw Skip("it has no `make_secret`");
  std::string made[2];
  for (int i = 0; i < 2; ++i) {
    const std::string file = (subject.scratch / ("secret" + std::to_string(i))).string();
    opened.ok("`make_secret`", table.make_secret, opened.host(), abi(file));
    made[i] = text_of(file);
    struct stat about = {};
    if (::stat(file.c_str(), &about) != 0 || made[i].empty()) throw Failure("`make_secret` returns OK and writes none");
    if (about.st_mode & 077) throw Failure("others may read what `make_secret` has written");
  }
  if (made[0] == made[1]) throw Failure("`make_secret` makes the same secret twice");
  const std::string file = (subject.scratch / "secret0").string();
  const baleen_status_t status = opened.call("`make_secret`", table.make_secret, opened.host(), abi(file));
  if (status == BALEEN_OK || text_of(file) != made[0]) throw Failure("`make_secret` writes over a file that is there");
  opened.refusal("`make_secret`", status);
}

}  // namespace

std::vector<Case> launcher_cases() {
  const auto ranks = [](std::int32_t count, const char* script) {
    return [count, script](const Subject& subject, Mark& mark) { runs_well(subject, mark, count, script); };
  };
  return {
      {"launcher.fits", "says for any job whether it serves it, and the same again", &fits_alike},
      {"launcher.create", "is made for a job on one host; takes or refuses two, with a reason", &is_made_for_jobs},
      {"launcher.places", "numbers one and four ranks, each once, with the threads that it was told",
       &runs_on_one_and_four},
      {"launcher.keys", "`get` waits for a key and gives its bytes; nobody sets a key twice", ranks(3, "keys")},
      {"launcher.fences", "a fence waits for every rank, each time it is used", ranks(3, "fences")},
      {"launcher.threads", "the functions of a rank may be called by four threads", ranks(2, "threads")},
      {"launcher.lost", "once a rank fails, whatever waits is told PEER_LOST and the first cause", &tells_of_failures},
      {"launcher.killed", "a rank that is killed is lost for the others, and the job has failed",
       [](const Subject& subject, Mark& mark) { sees(subject, mark, "killed", "a rank was killed"); }},
      {"launcher.unfinished", "so is a rank that ends without `finish`, whatever its exit code",
       [](const Subject& subject, Mark& mark) { sees(subject, mark, "unfinished", "a rank ended without `finish`"); }},
      {"launcher.leaves_nothing", "leaves no descriptor, file, thread or process behind", &leaves_no_trace},
      {"launcher.secret", "a new secret is another one, in a file of its own that others cannot read", &makes_secrets},
  };
}

}  // namespace baleen::validate
