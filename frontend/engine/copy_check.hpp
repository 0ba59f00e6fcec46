/// \file That ranks which hold the same piece of a tensor hold the same bits: memory that lost one, or a processor that
/// computes wrong, would train on unseen. And that their schedules give the same values, that their programs are given
/// the same inputs, and that they stand at the same place in the data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/rank_link.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

/// A piece of a persistent tensor that several ranks hold.
struct CopiedPiece {
  const PersistentBuffer* buffer = nullptr;
  std::string group;  ///< tells it from other pieces of that tensor; the same on all ranks that hold it
};

/// Those of the rank at `at`.
std::vector<CopiedPiece> copied_pieces(const PersistentLayout& persistent, const Mesh& mesh, const Coordinates& at);

/// What rank 0 finds in the digests of all.
struct OddCopy {
  std::int64_t reference = 0, odd = 0;  ///< ranks; `reference` is among those that most agree with
  std::int64_t agreeing = 1, copies = 2;
  std::string piece;  ///< "number of the tensor:group"
};
/// `told`: a text of each rank, lines "piece digest". The first piece by number whose copies differ.
std::optional<OddCopy> find_odd_copy(const std::vector<std::string>& told);

/// Compares every N updates: steps, and runs of programs that learn. All ranks call the same functions at the same
/// updates. [one thread]
class CopyCheck {
 public:
  /// `processor`: what this rank computes on, for people; where ranks differ in it, copies may differ in rounding, so
  /// that a difference is told as a warning, once, and nothing is compared any more.
  CopyCheck(Session& session, RankLink& link, const Mesh& mesh, const Coordinates& at, std::int64_t every,
            std::string processor);

  /// After every N-th update and after the last step, before they are saved: where all ranks have just met, so that
  /// none waits for one that does something else. DAMAGED with the tensor, the ranks, the first byte, and who is alone.
  /// The same where a schedule gave other values on one rank, or a program was given other inputs, or where it stands
  /// at another place in the data or has run a program that learns another number of times, which is looked at after
  /// the job's last step in any case.
  Status after_step();
  /// The same after the run of a program that learns.
  Status after_run();
  /// The same of what was updated since it was looked at last: before it is saved, and at the end.
  Status before_save();

 private:
  bool is_due() const;
  Status compare(bool with_copies);
  std::string when() const;
  Result<std::uint64_t> digest(const PersistentBuffer& buffer, std::vector<std::string>* blocks);
  std::string key(const std::string& what) const;
  Result<std::string> verdict();
  Status explain(const std::string& told);
  Status explain_schedule(const std::string& told) const;
  Status explain_place(std::string told) const;
  Status explain_inputs(const std::string& told) const;

  Session& session_;
  RankLink& link_;
  std::vector<CopiedPiece> pieces_;
  std::int64_t every_, round_ = 0;
  std::int64_t compared_;  ///< the updates at the last look, and at the beginning
  std::string processor_;
  bool ends_ = false;  ///< processors differ, and so do copies
};

}  // namespace baleen::app
