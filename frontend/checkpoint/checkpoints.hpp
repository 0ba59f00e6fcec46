/// \file Saves a running job while it goes on: when, what and how the ranks agree about it.
#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/rank_link.hpp"
#include "core/runtime/session.hpp"
#include "frontend/checkpoint/agreed_points.hpp"
#include "frontend/checkpoint/checkpoint_root.hpp"
#include "frontend/checkpoint/load_parts.hpp"
#include "frontend/checkpoint/owned_part.hpp"
#include "frontend/checkpoint/settings.hpp"
#include "frontend/checkpoint/stop_request.hpp"

namespace baleen {

/// Of one job on one rank. With several ranks all call the same functions in the same order. [one thread]
///
/// A save copies what this rank writes into memory of its own and lets the job go on; a thread writes it, and on rank 0
/// waits for the others, commits, publishes and prunes. Two saves never overlap: the second waits for the first.
class Checkpoints {
 public:
  struct Parts {
    Session& session;
    const Registry& plugins;
    Log log;
    RankLink* link = nullptr;  ///< with several ranks
    Mesh mesh = {};            ///< without axes: one rank
    Coordinates at = {};
    std::function<Status()> intact = {};      ///< OK where memory and copies are right; all ranks ask; none: not known
    CheckpointFacts facts = {};               ///< of the job: what is compared when it is resumed
    std::filesystem::path resumed_from = {};  ///< the checkpoint that the session goes on from; empty: none
    bool signals = false;                     ///< SIGINT and SIGTERM of this process end the run after a step, saved
  };

  /// Finds the plugin; makes and locks the folder; every host must see what the first makes there.
  static Result<std::unique_ptr<Checkpoints>> create(CheckpointSettings settings, Parts parts);
  ~Checkpoints();

  /// Between two steps or runs of other programs, when all that belongs to the last one is done: saves where that is
  /// due. INTERRUPTED, after saving, where a signal has asked the run to end.
  /// `is_whole`: all that the script does for the last step is done too, so that a run which begins here loses nothing
  /// of it. Elsewhere nothing is due, and a signal waits for such a place for a quarter of the grace period.
  Status boundary(bool is_whole);
  /// Saves now, whatever is due, unless nothing was updated since the last save.
  Status save_now();
  /// The same where the training has gone on since it began.
  Status save_last();
  /// The held-out loss after the last step.
  Status evaluated(double held_out_loss);
  /// The end of the training: saves what is not saved yet and waits until it is on the disk.
  Status finish();

  /// Bytes of this host's memory for what is written.
  std::uint64_t snapshot_bytes() const;

 private:
  struct Save {
    std::int64_t number = 0, step = 0;
    std::string attempt, folder;
    CheckpointFacts facts;  ///< on rank 0
    std::chrono::steady_clock::time_point begun;
    double waited = 0;  ///< seconds of the step loop
  };
  Checkpoints(CheckpointSettings settings, Parts parts, ShardFormat format);

  std::uint64_t snapshot_budget() const;
  std::int64_t rank() const { return parts_.link ? parts_.link->place().rank : 0; }
  std::int64_t ranks() const { return parts_.link ? parts_.link->place().ranks : 1; }
  bool leads() const { return rank() == 0; }
  std::string key(const std::string& what) const { return "checkpoint/" + what; }

  Status meet();
  void begin_line();
  Status take_memory();
  Status check_shared_folder();
  AgreedPoints::Wish wish(bool is_whole);
  Status save(std::int64_t step);
  void snapshot(const std::vector<OwnedPart>& group);
  Status write_group(std::size_t number, const Save& save);
  void add_digests_of(const std::vector<OwnedPart>& group, const std::vector<baleen_shard_t>& shards);
  Status conclude_save(std::int64_t number, Status written);
  Status write_rest(const Save& save, Status written);
  Status commit(const Save& save);
  void tell(const Save& save, const Status& saved) const;
  CheckpointFacts facts_now(std::int64_t step) const;
  bool is_lowest(double loss) const;
  void name_best(const BestCheckpoint& best);
  Status wait_for_disk();

  CheckpointSettings settings_;
  Parts parts_;
  ShardFormat format_;
  CheckpointRoot root_;
  std::optional<StopRequest> stop_;
  std::optional<AgreedPoints> points_;  ///< where signals and minutes count
  std::optional<AgreedPoints> within_;  ///< where signals alone do: in the midst of what the script does
  std::optional<std::chrono::steady_clock::time_point> asked_;  ///< since when it is known here of a signal
  std::vector<std::vector<OwnedPart>> groups_;                  ///< what this rank writes; all ranks have as many
  std::vector<std::byte> memory_;                               ///< of the largest group
  Status snapshot_;                                             ///< why the last one failed
  std::vector<std::uint64_t> digests_;                          ///< of this rank's parts, by number of the tensor
  std::string job_;                                             ///< names the attempts of this job
  std::int64_t saves_ = 0, saved_ = -1, first_ = 0;  ///< the latter: updates at the last save, and at the beginning
  std::int64_t evaluations_ = 0;
  std::optional<std::pair<std::int64_t, double>> loss_;  ///< the held-out loss after so many updates
  std::optional<double> lowest_;                         ///< held-out loss of this job's best, named or on its way
  std::chrono::steady_clock::time_point last_save_;
  std::future<Status> writing_;
  Status last_;  ///< of the last save
};

/// The name of the fact that holds what a job has learned from its data, in a checkpoint and in a file's metadata.
inline constexpr const char* kLearnedFact = "data_learned";

/// Where to go on from.
struct ResumeFrom {
  std::filesystem::path path;              ///< of one checkpoint
  std::vector<std::string> allow_missing;  ///< patterns of tensors that may be missing on either side
};

/// What a user says of where to resume: a checkpoint, a folder of checkpoints, "latest", "best", or "auto" (the latest,
/// which is nothing where there is none yet). `root`: the job's own folder of checkpoints.
Result<std::optional<std::filesystem::path>> find_checkpoint(const std::string& said, const std::filesystem::path& root,
                                                             const ShardFormat& format);

/// Gives the session what the checkpoint holds, whatever ranks and layouts wrote it. Errors name missing, further and
/// mis-shaped tensors, and what of the job has changed so that it cannot be continued; other changes are told to the
/// log. All ranks call it.
Status resume(const ShardFormat& format, const ResumeFrom& from, const Checkpoints::Parts& parts);

/// Parameters alone, or the parts `load` of them, checked likewise.
Status load_parameters_of(const ShardFormat& format, const std::filesystem::path& checkpoint,
                          const Checkpoints::Parts& parts, const LoadParts& load);

}  // namespace baleen
