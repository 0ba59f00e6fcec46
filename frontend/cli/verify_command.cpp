/// \file `baleen verify`: the script on the manifest's ranks and the script alone, compared.
#include <deque>
#include <optional>
#include <vector>

#include "baleen/dtype.hpp"
#include "core/log/printed.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/cli/verify_judge.hpp"
#include "frontend/engine/members.hpp"

namespace baleen::app {
namespace {

/// Roundings that further references begin with, where the first one does not explain a difference: what chooses (an
/// expert, the largest of several) jumps where enough of them come together.
constexpr double kMoreRoundings[] = {4, 16, 64};

Status verify(const VerifyOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Record many, record(options, setup, {.keeps_gradients = options.dtype != "fp64"}));
  if (setup.link && setup.link->place().rank != 0) return {};
  if (setup.link) setup.link->begins(-1);  // what goes wrong now is none of the collectives'
  const auto reference = [&](double shake, bool takes_gradients) {
    if (setup.link) setup.link->at(-1, "running the script on one rank alone");
    RecordOptions how{.reference = true, .shake = shake, .given = takes_gradients ? &many : nullptr};
    for (const Record::Step& step : many.steps) how.skipped.push_back(!step.applied);
    return record(options, setup, how);
  };
  const bool follows = !many.steps.empty() && many.gradients_kept.size() == many.steps.size();
  if (!many.approximated.empty() && !follows && options.dtype != "fp64")
    return invalid(
        "strategies approximate gradients, and those of " + std::to_string(many.steps.size()) +
        " steps take more than the " + std::to_string(kKeptBytes >> 20) +
        " MiB that verify keeps to follow them; take " +
        (many.gradients_kept.empty() ? "" : "--steps " + std::to_string(many.gradients_kept.size()) + " or ") +
        "a smaller model");
  BALEEN_TRY_ASSIGN(const Record one, reference(0, follows));
  // In fp64 strategies leave out their casts: one that is there all the same is no reason to allow more.
  if (options.dtype == "fp64") many.coarsest = one.coarsest;
  const bool exact = many.coarsest == BALEEN_F64;
  std::optional<Record> replayed, shaken_replay;
  Replay replay;
  if (!exact && !many.gradients_kept.empty()) {
    if (!follows) {
      BALEEN_TRY_ASSIGN(replayed, reference(0, true));
    }
    BALEEN_TRY_ASSIGN(shaken_replay, reference(rounding_of(BALEEN_F32), true));
    replay = {follows ? &one : &*replayed, &*shaken_replay};
  }
  Judgement judgement = judge(many, one, {}, replay);
  std::deque<Record> further;
  std::vector<Shaken> shaken;
  const auto shake = [&](double roundings) -> Status {
    BALEEN_TRY_ASSIGN(Record record, reference(roundings * rounding_of(many.coarsest), follows));
    shaken.push_back({&further.emplace_back(std::move(record)), roundings});
    judgement = judge(many, one, shaken, replay);
    return {};
  };
  if (!exact || judgement.difference) BALEEN_TRY(shake(1));  // in fp64 only to tell noise from mistakes
  for (const double roundings : kMoreRoundings)
    if (!exact && judgement.difference) BALEEN_TRY(shake(roundings));
  if (setup.link) setup.link->at(-1, "comparing");
  std::string notes;
  if (many.wrong_layouts) notes += "training refuses this plan: " + many.wrong_layouts->message + "\n";
  if (const std::string note = order_note(setup.manifest); !note.empty()) notes += note + "\n";
  print_out("%lld ranks and one rank, %zu steps in %s\n%s%s%s\n", static_cast<long long>(setup.manifest.ranks()),
            one.steps.size(), std::string(dtype_name(many.coarsest)).c_str(), judgement.summary.c_str(), notes.c_str(),
            judgement.difference ? "DIFFERENT" : "EQUAL within the tolerance");
  const Status taken = flush_output();
  if (judgement.difference)
    return invalid("the ranks do not compute what one rank computes: see " + *judgement.difference +
                   (many.wrong_layouts ? "; the plan tells why: " + many.wrong_layouts->message : ""));
  if (many.wrong_layouts) return *many.wrong_layouts;
  return taken;
}

}  // namespace

int verify_command(const VerifyOptions& options, const Setup& setup) {
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, verify(options, setup), setup.link);
}

}  // namespace baleen::app
