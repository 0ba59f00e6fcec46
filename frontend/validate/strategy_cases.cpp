/// \file What every strategy must do: whatever it splits or changes, the numbers are those of one rank.
#include <utility>

#include "baleen/settings.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/option_trials.hpp"
#include "frontend/validate/trainings.hpp"

namespace baleen::validate {
namespace {

constexpr int kRanks[] = {1, 2, 4};
const std::vector<std::string> kFourBatches = {"--accumulate", "4"};  // in a step; pipelines need several
const std::vector<std::string> kFourBatchesOfJob = {"--", "--accumulate", "4"};

/// The axis that it works along: what its option `axis` says, else the one of its name.
std::string own_axis(const Subject& subject) {
  const Option* const option = subject.descriptor.find("axis");
  if (!option) return subject.descriptor.name;
  const SettingsStorage settings = settings_of(subject);
  const std::string text(Settings(settings.get()).text("axis"));
  return text.empty() ? subject.descriptor.name : text;
}

/// Ways to use it on so many ranks: along an axis of its own, or beside a strategy that uses the ranks.
std::vector<std::string> manifests(const Subject& subject, int ranks) {
  const std::string entry = "[[plan]]\n" + manifest_lines(subject, "strategy");
  if (ranks == 1) return {entry};
  const std::string axis = UserValue{own_axis(subject), {}}.text();
  const std::string beside = beside_on(subject, ranks);
  const auto mesh = beside.find("[mesh]");
  return {entry + "[mesh]\n" + axis + " = " + std::to_string(ranks) + "\n", entry + beside,
          beside.substr(0, mesh) + entry + beside.substr(mesh)};
}

/// The first manifest with which such a job can be planned. Where there is none: the reason of the first refusal.
std::pair<std::string, std::string> way_to_plan(const Subject& subject, Mark& mark, std::string_view job, int ranks,
                                                const std::vector<std::string>& words) {
  std::string reason;
  for (const std::string& manifest : manifests(subject, ranks)) {
    const Ended ended = run_program(subject, mark, "plan", job, manifest, words);
    if (ended.code == 0) return {manifest, {}};
    if (!ended.is_refusal() || ended.err.empty())
      throw Failure("`baleen plan` of the job `" + std::string(job) + "` on " + std::to_string(ranks) + " ranks " +
                    ended.text());
    if (reason.empty()) reason = ended.complaint();
  }
  return {{}, reason};
}

std::string needed_manifest(const Subject& subject, Mark& mark, std::string_view job, int ranks,
                            const std::vector<std::string>& words = {}) {
  const auto [manifest, reason] = way_to_plan(subject, mark, job, ranks, words);
  if (manifest.empty()) throw Skip("it refuses this job: " + reason);
  return manifest;
}

void is_one_rank(const Subject& subject, Mark& mark, std::string_view job, int ranks,
                 const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> words = {"--"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string manifest = needed_manifest(subject, mark, job, ranks, words);
  words.insert(words.begin(), {"--steps", "3"});
  const Ended ended = run_program(subject, mark, "verify", job, manifest, words);
  if (ended.code == 0) return;
  constexpr std::size_t kMost = 1500;  // of each output
  if (ended.out.find("DIFFERENT") != std::string::npos)
    throw Failure("computes something else than one rank alone:\n" + ended.err.substr(0, kMost) +
                  ended.out.substr(0, kMost));
  throw Failure("`baleen verify` " + ended.text());
}

void is_of_use(const Subject& subject, Mark& mark) {
  std::string reason;
  for (const std::string_view job : kJobs)
    for (const int ranks : kRanks) {
      const auto [manifest, refusal] = way_to_plan(subject, mark, job, ranks, kFourBatchesOfJob);
      if (!manifest.empty()) return;
      if (reason.empty()) reason = refusal;
    }
  throw Failure("refuses every job and every number of ranks that was tried; the first time: " + reason);
}

void has_the_same_losses_again(const Subject& subject, Mark& mark) {
  int tried = 0;
  for (const std::string_view job : kJobs) {
    const std::string manifest = way_to_plan(subject, mark, job, 2, kFourBatchesOfJob).first;
    if (manifest.empty()) continue;
    ++tried;
    const std::vector<double> first = steps_of(subject, mark, job, manifest, kFourBatchesOfJob);
    if (steps_of(subject, mark, job, manifest, kFourBatchesOfJob) != first)
      throw Failure("two runs of the job `" + std::string(job) + "` on 2 ranks have other losses");
  }
  if (tried == 0) throw Skip("it refuses all jobs on 2 ranks");
}

}  // namespace

void tries_option_of_strategy(const Subject& subject, Mark& mark, const Option& option) {
  const std::vector<UserValue> trials = trials_of(option);
  if (trials.empty()) throw Skip("it names other plugins");
  for (const UserValue& trial : trials) {
    Subject changed = subject;
    changed.values.insert_or_assign(option.name, trial);
    if (!SettingsStorage::build(changed.descriptor, changed.values, {1, changed.scratch.string(), "--set"})) continue;
    try {
      for (const std::string_view job : kJobs) way_to_plan(changed, mark, job, 2, kFourBatchesOfJob);
    } catch (const Failure& failure) {
      throw Failure("with " + option.name + " = " + trial.text().substr(0, 80) + ": " + failure.what());
    }
  }
}

void trains_with_word(const Subject& subject, Mark& mark, const Option& option, const std::string& word) {
  Subject changed = subject;
  changed.values.insert_or_assign(option.name, UserValue{word, "validate"});
  const auto settings =
      SettingsStorage::build(changed.descriptor, changed.values, {1, subject.scratch.string(), "--set"});
  if (!settings) throw Skip("refused: " + settings.error().message);
  is_one_rank(changed, mark, "rows", 2);
}

std::vector<Case> strategy_cases() {
  std::vector<Case> all = {{"strategy.is_of_use", "some job can be planned with it", &is_of_use}};
  for (const std::string_view job : kJobs) {
    for (const int ranks : kRanks)
      all.push_back({"strategy." + std::string(job) + "_on_" + std::to_string(ranks),
                     "losses, gradients, parameters and states are those of one rank, or the plan is refused",
                     [=](const Subject& subject, Mark& mark) { is_one_rank(subject, mark, job, ranks); }});
    all.push_back({"strategy." + std::string(job) + "_accumulated",
                   "the same on 2 ranks where a step has four micro-batches",
                   [=](const Subject& subject, Mark& mark) { is_one_rank(subject, mark, job, 2, kFourBatches); }});
  }
  all.push_back({"strategy.repeats", "the same run has the same losses, bit for bit", &has_the_same_losses_again});
  return all;
}

}  // namespace baleen::validate
