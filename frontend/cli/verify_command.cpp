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
#include "frontend/cli/verify_noise.hpp"
#include "frontend/engine/members.hpp"

namespace baleen::app {
namespace {

/// Roundings that further references begin with, where the first one does not explain a difference: what chooses (an
/// expert, the largest of several) jumps where enough of them come together.
constexpr double kMoreRoundings[] = {4, 16, 64};

/// Of references whose values are rounded, behind the first one: how many add up sums in another way, and how many
/// change what goes back by a rounding of each value; and of the latter, how many more round term by term what ranks
/// may add up.
constexpr std::uint64_t kAlike = 6, kMoved = 4, kInParts = 4;
/// Of these, how many tell whether more are worth their time, and how much further than they the others may be.
constexpr std::uint64_t kTried = 2;
constexpr double kFurther = 8;
/// References in fp64 whose values are each off by up to so many roundings of it.
constexpr std::uint64_t kWide = 8;
constexpr double kOfWide = 4;

/// The runs of one rank that the ranks are compared with.
class References {
 public:
  References(const VerifyOptions& options, const Setup& setup, Record& many)
      : options_(options),
        setup_(setup),
        many_(many),
        follows_(!many.steps.empty() && many.kept.size() == many.steps.size()) {}

  Result<Judgement> judged() {
    BALEEN_TRY(check_followed());
    BALEEN_TRY_ASSIGN(one_, run(0, follows_));
    // In fp64 strategies leave out their casts: one that is there all the same is no reason to allow more.
    if (options_.dtype == "fp64") many_.coarsest = one_->coarsest;
    const bool exact = many_.coarsest == BALEEN_F64;
    if (!exact && !many_.kept.empty()) {
      if (!follows_) {
        BALEEN_TRY_ASSIGN(replayed_, run(0, true));
      }
      BALEEN_TRY_ASSIGN(shaken_replay_, run(rounding_of(BALEEN_F32), true));
      replay_ = {follows_ ? &*one_ : &*replayed_, &*shaken_replay_};
    }
    Judgement judgement = judged_now();
    if (!exact || judgement.difference) {  // in fp64 only to tell noise from mistakes
      BALEEN_TRY_ASSIGN(judgement, shaken(1));
    }
    if (exact && judgement.updated) {
      BALEEN_TRY_ASSIGN(judgement, beside_louder(judgement));
    }
    if (exact && judgement.difference) judgement = beside_moved(std::move(judgement));
    for (std::uint64_t draw = 0; draw <= kAlike + kMoved + kInParts; ++draw)
      if (!exact && judgement.difference && (draw <= kAlike + kMoved + kTried || is_near())) judgement = rounded(draw);
    for (const double roundings : kMoreRoundings)
      if (!exact && judgement.difference) {
        BALEEN_TRY_ASSIGN(judgement, shaken(roundings));
      }
    return judgement;
  }
  std::int64_t steps() const { return training_steps(*one_, one_->steps.size()); }

 private:
  /// Where gradients are approximated, a reference with its own ones says nothing of later steps.
  Status check_followed() const {
    const std::size_t steps = many_.steps.size();
    const std::int64_t kept = training_steps(many_, many_.kept.size());
    if (follows_ || options_.dtype == "fp64") return {};
    for (const auto& [name, approximated] : many_.approximated)
      if (largest_share(approximated, steps) > 0)
        return invalid("strategies approximate gradients, as that of `" + name + "`, and what verify keeps of " +
                       std::to_string(steps) + " steps to follow them takes more than " +
                       std::to_string(kKeptBytes >> 20) + " MiB; take " +
                       (kept == 0 ? "" : "--steps " + std::to_string(kept) + " or ") + "a smaller model");
    return {};
  }

  Result<Record> run(double shake, bool follows, std::optional<Rounding> rounded = {}) const {
    return run({.shake = shake, .rounded = rounded, .followed = follows ? &many_ : nullptr});
  }
  Result<Record> run(RecordOptions how) const {
    if (setup_.link) setup_.link->at(-1, "running the script on one rank alone");
    how.reference = true;
    how.is_late = many_.is_late;
    for (const Record::Step& step : many_.steps) how.skipped.push_back(!step.applied);
    return record(options_, setup_, how);
  }

  Result<Judgement> shaken(double roundings) {
    const double shake = roundings * rounding_of(many_.coarsest);
    if (shake == rounding_of(BALEEN_F32) && follows_ && shaken_replay_) {
      shaken_.push_back({&*shaken_replay_, roundings});
    } else {
      const bool keeps = many_.coarsest == BALEEN_F64;
      BALEEN_TRY_ASSIGN(Record record, run({.shake = shake, .keeps = keeps, .followed = follows_ ? &many_ : nullptr}));
      shaken_.push_back({&further_.emplace_back(std::move(record)), roundings});
    }
    return judged_now();
  }
  /// Of what an optimizer makes of single elements that are noise, if such are of the gradient behind what differs. The
  /// first reference runs again, to keep its gradients.
  Result<Judgement> beside_louder(const Judgement& judgement) {
    BALEEN_TRY_ASSIGN(const Record own, run({.keeps = true}));
    loud_ = loud_noise(own, *shaken_.front().record);
    if (!is_of(loud_.names, own, judgement.updated->first, judgement.updated->second)) return judgement;
    BALEEN_TRY_ASSIGN(louder_, run({.followed = &loud_.gradients}));
    return judged_now();
  }
  /// A graph that cannot be rounded has no such reference.
  Judgement rounded(std::uint64_t draw) {
    const bool is_moved = draw > kAlike, in_parts = draw > kAlike + kMoved;
    const Rounding how{many_.coarsest, &many_.dtypes, draw, is_moved ? 1.0 : 0.0, in_parts};
    if (Result<Record> record = run(0, follows_, how))
      rounded_.push_back({&further_.emplace_back(*std::move(record)), is_moved, in_parts});
    return judged_now();
  }
  /// The same in fp64: each value is off by a few roundings, so that it shows where these decide.
  Judgement beside_moved(Judgement judgement) {
    const std::string place = judgement.difference->substr(0, judgement.difference->find(" ("));
    for (std::uint64_t draw = 1; judgement.difference && draw <= kWide; ++draw) {
      if (Result<Record> record = run(0, false, Rounding{BALEEN_F64, nullptr, draw}))
        shaken_.push_back({&further_.emplace_back(*std::move(record)), kOfWide});
      judgement = judged_now();
    }
    if (!judgement.difference)
      judgement.summary +=
          "ill-conditioned, for rounding alone decides (a choice close to a tie, terms that cancel), and "
          "judged beside references whose values are off by roundings: " +
          place + ", and what comes of it\n";
    return judgement;
  }
  /// Whether it would be right if those made in parts were further from each other.
  bool is_near() const {
    std::vector<Rounded> further = rounded_;
    for (Rounded& one : further) one.times = one.in_parts ? kFurther : 1;
    return !judge(many_, *one_, shaken_, replay_, further).difference;
  }
  Judgement judged_now() const {
    return judge(many_, *one_, shaken_, replay_, rounded_, {louder_ ? &*louder_ : nullptr, &loud_.names});
  }

  const VerifyOptions& options_;
  const Setup& setup_;
  Record& many_;
  const bool follows_;  ///< in every step
  std::optional<Record> one_, replayed_, shaken_replay_, louder_;
  LoudNoise loud_;
  Replay replay_;
  std::deque<Record> further_;
  std::vector<Rounded> rounded_;
  std::vector<Shaken> shaken_;
};

Status verify(const VerifyOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Record many, record(options, setup, {.keeps = options.dtype != "fp64"}));
  if (setup.link && setup.link->place().rank != 0) return {};
  if (setup.link) setup.link->begins(-1);  // what goes wrong now is none of the collectives'
  References references(options, setup, many);
  BALEEN_TRY_ASSIGN(const Judgement judgement, references.judged());
  if (setup.link) setup.link->at(-1, "comparing");
  std::string notes;
  if (many.wrong_layouts) notes += "training refuses this plan: " + many.wrong_layouts->message + "\n";
  if (many.is_late) notes += "a step makes the update of the step before (delayed), in the script alone too\n";
  if (const std::string note = order_note(setup.manifest); !note.empty()) notes += note + "\n";
  print_out("%lld ranks and one rank, %lld steps in %s\n%s%s%s\n", static_cast<long long>(setup.manifest.ranks()),
            static_cast<long long>(references.steps()), std::string(dtype_name(many.coarsest)).c_str(),
            judgement.summary.c_str(), notes.c_str(),
            judgement.difference ? "DIFFERENT" : "EQUAL within the tolerance");
  Status taken = flush_output();
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
