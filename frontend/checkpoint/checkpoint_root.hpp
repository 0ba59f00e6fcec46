/// \file The folder of a job's checkpoints: one folder each, which one is the latest and which the best, and which may
/// go.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "frontend/checkpoint/shard_format.hpp"

namespace baleen {

/// A checkpoint that is there.
struct FoundCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// The checkpoint of lowest held-out loss so far.
struct BestCheckpoint {
  std::string name;  ///< of its folder
  double loss = 0;
};

/// Functions that write are for one process at a time: the one that holds the lock.
///
/// What is there: `step-000000200/` (a checkpoint), `latest` and `best` (names, written behind it), `.lock`, and while
/// one is written `.partial-step-000000200-<attempt>/`. At a start `.seen-<job>`. `step-000000200.best/`: the best one,
/// where another of its step was saved behind it. `step-000000200.earlier-1/`: one of an earlier run, where this
/// one saved that step; nothing deletes it.
class CheckpointRoot {
 public:
  explicit CheckpointRoot(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ~CheckpointRoot();
  CheckpointRoot(const CheckpointRoot&) = delete;
  CheckpointRoot& operator=(const CheckpointRoot&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  /// Makes the folder where there is none, and locks it until this object or the process ends. INVALID, with the
  /// other's process id, where another job writes there; IO where something else has the name of `latest` or `best`.
  /// Then removes what an earlier process left unfinished.
  Status begin_writing(const ShardFormat& format);

  /// Says which of the checkpoints that are there this run goes on from: those up to the step that it was resumed at;
  /// none where it begins anew. With what it publishes these are its line. The rest is of other runs, or of the
  /// same one before it went back, and stays. Returns how many stay.
  std::size_t begin_line(std::optional<std::int64_t> resumed_at);
  /// Ascending steps. Incomplete ones are not among them.
  std::vector<FoundCheckpoint> list() const;
  /// Nothing where no checkpoint was saved yet. NOT_FOUND where `latest` names what is not there.
  Result<std::optional<std::filesystem::path>> latest() const;
  /// Nothing where none was named, or where it is gone.
  std::optional<BestCheckpoint> best() const;

  static std::string name_of(std::int64_t step);
  /// By which ranks of a job see that this folder is one for all.
  std::filesystem::path token(const std::string& job) const;
  std::filesystem::path partial(std::int64_t step, const std::string& attempt) const;

  /// The committed `partial` becomes the checkpoint of that step, in the place of one that is there, then `latest`. One
  /// that is the best, or not of this run's line, stays beside it. Synced.
  Status publish(const std::filesystem::path& partial, std::int64_t step, const ShardFormat& format);
  /// Names the checkpoint of a step, which is there.
  Status set_best(const BestCheckpoint& best, const ShardFormat& format);
  /// The best one, where it is of this run's line.
  std::optional<BestCheckpoint> own_best() const;
  /// Of this run's line, deletes all but the last `keep` (0: all stay) that can be opened, the latest and the best.
  Status prune(std::int64_t keep, const ShardFormat& format);

 private:
  /// Folders that stand for a name: itself, and where it was moved. Those that are there, the best choice first.
  std::vector<std::filesystem::path> places_of(const std::string& name) const;
  /// Moves what is at the place of this step's checkpoint away, where it has to stay.
  Status make_place(const std::string& name);
  /// Renames one of another line to the first free `NAME.earlier-N`.
  Status keep_earlier(const std::string& folder);

  std::filesystem::path folder_;
  int lock_ = -1;
  std::set<std::string> others_;  ///< names of folders that are not of this run's line
};

/// Writes a small file all or nothing: beside it, synced, renamed, its folder synced.
Status replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace baleen
