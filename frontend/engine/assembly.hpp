/// \file From a prepared command to a running session: describe, plan, compile.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/launcher.h"
#include "compiler/graph/op_kind.hpp"
#include "compiler/plan/plan.hpp"
#include "core/plugin/crash.hpp"
#include "core/runtime/session.hpp"
#include "frontend/checkpoint/checkpoints.hpp"
#include "frontend/checkpoint/parameter_file.hpp"
#include "frontend/engine/copy_check.hpp"
#include "frontend/engine/data_check.hpp"
#include "frontend/engine/fit.hpp"
#include "frontend/engine/learned.hpp"
#include "frontend/engine/memory_check.hpp"
#include "frontend/engine/pass_printer.hpp"
#include "frontend/engine/prepare.hpp"
#include "frontend/engine/ranks.hpp"
#include "frontend/lua/script.hpp"

namespace baleen::app {

/// What a command asks of the script beside its options.
struct RunFlags {
  std::optional<std::int64_t> steps;
  PassView passes = {};
  std::string command = {};  ///< what is done with the job, and with what that all ranks must have alike; one line
  std::function<Status(Job&)> rewrite = {};     ///< of what the script describes, before it is planned
  PassObserver watch = {};                      ///< sees the graph after each pass, beside `passes`
  std::optional<GraphRole> only = {};           ///< as in make_plan; nothing: all graphs
  std::string save = {};                        ///< all parameters to this file at the end, before the last evaluation
  std::string resume = {};                      ///< "latest", "auto", "best" or a folder; empty: from the start
  std::vector<std::string> allow_missing = {};  ///< patterns of tensors that may be missing where it resumes
  DataUse data = {};                            ///< which rows, and what they mean
  std::optional<Error>* wrong_layouts = nullptr;          ///< as in make_plan
  std::function<void(std::string_view line)> print = {};  ///< gets what the script prints; none: standard output
  bool silent = false;                                    ///< what the script prints is not shown
  bool generate = false;         ///< describe the generate graph though the job does not ask for it
  bool predict = false;          ///< describe a graph that predicts rows, as the program `predict`
  bool alone = false;            ///< one rank and no strategy, whatever the manifest and the script say
  bool keep_gradients = false;   ///< as states
  bool is_late = false;          ///< a step makes the update of the step before, whatever strategies say
  bool takes_gradients = false;  ///< from states that the caller writes before each step
  bool saves = false;            ///< checkpoints, where the manifest or the script asks for them
  bool signals = false;          ///< with `saves`: they save first, and end the run with a code of its own
  bool check_kernels = false;    ///< of kinds of ops, by rank 0: kernel_check.hpp
};

/// A script that has described its job. The registry of ops outlives the job's graphs.
struct Described {
  std::unique_ptr<OpRegistry> ops;
  std::shared_ptr<Dataset> data;
  int data_number = 0;                  ///< as in LearnedRecord
  std::string data_options;             ///< option_line of `data`
  std::vector<std::string> data_paths;  ///< files and folders that options of data sets name
  std::unique_ptr<Script> script;
};

Result<Described> describe(const ScriptOptions& options, const Setup& setup, const Prepared& prepared,
                           const RunFlags& flags);

/// What a checkpoint says of its job, to be compared when it is resumed: optimizer, strategies, clipping,
/// micro-batches. Schedules are told at some of the `steps`.
CheckpointFacts facts_of(const Job& job, std::int64_t steps);

/// A described script with its session: what the training loop drives. Members are destroyed in the right order.
class Run : public TrainingRun {
 public:
  static Result<std::unique_ptr<Run>> create(const ScriptOptions& options, const Setup& setup, Prepared prepared,
                                             const RunFlags& flags, bool with_monitors);
  /// The same of a script that is described already. Its job is used up.
  static Result<std::unique_ptr<Run>> create(const ScriptOptions& options, const Setup& setup, Prepared prepared,
                                             const RunFlags& flags, bool with_monitors, Described described);

  Script& script() { return *described_.script; }
  Session& session() { return *session_; }
  /// Of the ranks that compute; without axes: one.
  Mesh mesh() const { return ranks_ ? ranks_->communicator().mesh() : Mesh(); }
  std::int64_t rank() const { return ranks_ ? ranks_->communicator().rank() : 0; }

  Result<Facts> step() override {
    BALEEN_TRY(boundary("a step"));
    tell_launcher("training");
    if (rows_) rows_->before_step();
    BALEEN_TRY_ASSIGN(Facts facts, session_->step());
    if (rows_) BALEEN_TRY(rows_->after_step());
    if (copies_) BALEEN_TRY(copies_->after_step());
    if (between_steps_) tell_place(session_->steps_done(), between_steps_);
    return facts;
  }
  Result<Facts> evaluate(std::int64_t batches) override;
  std::int64_t steps_done() const override { return session_->steps_done(); }
  std::vector<ProgramInfo> programs() const override { return session_->programs(); }
  Result<Outputs> run(const std::string& program, const Inputs& inputs) override;
  /// Runs a program on whole tensors. Floating inputs are converted to the program's dtype.
  Result<HostTensors> infer(const std::string& program, HostTensors inputs);
  Status save(const std::string& path) override;
  /// To RunFlags::save what is not saved there yet; nothing where that is empty. What cannot be written there is
  /// rescued, and it is an error.
  Status save_end();
  /// Has what is not saved in another file: beside RunFlags::save, or in this folder, or in that of temporary files.
  /// Tells where. An error: what is to be saved cannot be read here, or is damaged.
  /// `all_do`: all ranks call it, and none leaves before it is done.
  Status rescue(bool all_do);
  Status checkpoint() override;
  bool print(std::string_view line) override { return shows_prints_ && session_->print(line); }
  /// Saves what is not saved yet, and waits until it is on the disk; nothing where the run saves no checkpoints.
  Status finish_checkpoints() { return checkpoints_ ? checkpoints_->finish() : Status(); }
  /// Waits until monitors have been told all; then why one of them has failed, and lacks something of the run.
  Status finish_monitors();
  /// Parameters, or the `parts` of them, from a file, from a checkpoint's folder, or from a folder of another framework
  /// (frontend/exchange).
  Status load(const std::filesystem::path& path, const LoadParts& parts = {});
  /// Runs the script's training. With several ranks: until all have come to its end.
  Status train(TrainingRun& driven);

 private:
  explicit Run(const Setup& setup) : setup_(setup) {}
  /// That nothing of what is stored, and of what training goes by, has changed since it was computed.
  Status intact() const;
  /// Ranks have the same copies of what was updated. Collective over all ranks.
  Status compare_copies() { return copies_ ? copies_->before_save() : Status(); }
  /// No update has made a parameter NaN or infinite, which the loss of its own step does not show; unless the job goes
  /// on with such. Collective over all ranks.
  Status finite();
  /// What a file of parameters says of itself; first nothing of what is stored has changed.
  Result<std::map<std::string, std::string>> facts_to_save(const char* phase = "saving");
  /// All ranks do. Where all are needed to write it, or `waits` (all call it too), they come to know whether the file
  /// is there. An error: this rank has to end.
  Result<SavedFile> write(const std::string& path, const std::map<std::string, std::string>& facts, bool waits);
  Status rescue(const std::map<std::string, std::string>& facts, bool waits);
  /// Between two steps, or runs of other programs, which may learn too: saves where that is due, and ends the run where
  /// a signal has asked for it. `next`: what the script does now.
  Status boundary(const std::string& next);
  /// Whether the script's loop begins anew with `next`, for the first time since the last step: all that it does for
  /// one step, in callbacks too, lies between two such places. In a job of programs alone: always.
  bool begins_loop(const std::string& next);
  /// Where a run that is resumed may begin: its script draws the same random numbers from here on as one that was not.
  Status seed_random();
  /// Between two steps of a run that is saved at its end alone: a signal ends it, with what is trained saved beside.
  Status end_if_asked();
  /// From here on a signal ends it at once.
  void heed_signals_again();
  /// Once; later calls do nothing.
  Status open_device(const Prepared& prepared, std::uint64_t seed);
  /// The host's cores beside it, where the plan needs them.
  Status open_host(const Plan& plan, const Prepared& prepared, std::uint64_t seed, bool maps);
  /// Until it fits, as far as strategies can make it.
  Result<Plan> plan(Job job, const Prepared& prepared, const SessionOptions& session, const RunFlags& flags);
  /// Collective over all ranks: the memory that a plan takes on the rank that lacks most. Compiles it.
  Result<MemoryNeed> need_of(const Plan& plan, const Prepared& prepared, const SessionOptions& session, int round);
  /// Joins the other ranks, who are to have the same job, and tells the session of them.
  Status connect(const ScriptOptions& options, const RunFlags& flags, const Prepared& prepared, Job& job,
                 SessionOptions& session);
  /// Of what comes beside steps, of the data and of what is loaded, to compare.
  Result<std::string> input_lines(const ScriptOptions& options, const RunFlags& flags);
  /// They write no file that the run reads or writes, as `options` and `flags` name them.
  Status open_monitors(const Prepared& prepared, std::uint64_t seed, const ScriptOptions& options,
                       const RunFlags& flags);
  Status open_checkpoints(const ScriptOptions& options, const RunFlags& flags, const SessionOptions& session,
                          const std::string& job_where, CheckpointFacts job);
  /// What the job has learned from its data, to what is saved.
  Status add_learned(std::map<std::string, std::string>& facts) const;
  /// Tells where what is loaded was trained on other classes or another vocabulary.
  Status compare_learned(const std::filesystem::path& path) const;
  /// Of the files that `load` would read, to compare.
  Result<std::string> loaded_lines(const std::filesystem::path& path) const;
  Status load_exchange(const std::string& folder, const LoadParts& parts);
  Status resume(const RunFlags& flags, const CheckpointSettings& settings, Checkpoints::Parts& parts);
  Checkpoints::Parts checkpoint_parts() const;

  /// How far this rank is, for the line about its end.
  void tell_launcher(const char* phase) {
    now_doing(phase, session_->steps_done() + 1);
    tell_place(session_->steps_done() + 1, phase);
  }
  void tell_place(std::int64_t step, const char* phase) {
    if (!setup_.link || alone_) return;
    setup_.link->at(step, phase);
    if (will_rescue_) setup_.link->at(BALEEN_PHASE_RESCUING);
  }
  bool speaks() const { return !setup_.link || setup_.link->place().rank == 0; }

  const Setup& setup_;
  std::string save_;                     ///< RunFlags::save
  const char* between_steps_ = nullptr;  ///< where the script is after a step; null: nowhere but in ours
  std::string loop_begins_;              ///< with what; empty: not yet
  std::int64_t loop_step_ = -1;          ///< after which it began anew last
  std::int64_t seeded_ = 0;              ///< updates after which math.random began anew last
  std::int64_t saved_ = -1;              ///< updates that were saved there
  std::int64_t writes_ = 0;              ///< files that ranks wrote together
  std::int64_t finite_ = 0;              ///< updates after which parameters were last found finite
  std::int64_t rescued_ = -1;            ///< updates that were to be saved elsewhere
  /// A peer is lost, and this rank, which saves, may notice it only behind a long step or callback: it is not killed
  /// before.
  std::atomic<bool> will_rescue_{false};
  bool shows_prints_ = false;     ///< what the script prints comes between what monitors show
  bool told_not_finite_ = false;  ///< that an evaluation was not
  bool alone_ = false;            ///< beside the run that the launcher knows of
  std::unique_ptr<Ranks> ranks_;  ///< null with one rank
  std::string data_digest_;       ///< digest_of_data, once it is known
  std::string plan_lines_;        ///< until ranks have compared them
  Described described_;
  std::set<std::string> left_out_;  ///< programs that learn, where the run is of the others alone
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> host_device_;  ///< the host's cores beside it, once the plan needs them
  std::unique_ptr<Monitors> monitors_;
  MemoryCheck memory_;  ///< of this rank
  std::unique_ptr<Session> session_;
  std::optional<DataCheck> rows_;             ///< of this rank's data set
  std::optional<CopyCheck> copies_;           ///< between ranks
  std::unique_ptr<Checkpoints> checkpoints_;  ///< null: the run is not saved as it goes
  std::optional<StopRequest> stop_;           ///< then, where it is saved at its end
  std::optional<AgreedPoints> stops_;         ///< likewise
};

}  // namespace baleen::app
