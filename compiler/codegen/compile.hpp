/// \file From a scheduled graph to an executable: the passes of this folder, one after the other.
#pragma once
#include "compiler/codegen/executable.hpp"
#include "compiler/codegen/target.hpp"

namespace baleen {

struct CompileOptions {
  /// This rank's coordinates on the graph's mesh (without `micro`).
  Coordinates at;
  /// Fills every buffer with NaN bytes when its life ends (and all but the inputs at the start): a run that reads what
  /// it must not shows it. For tests.
  bool poison = false;
  StagedCollectives staged;
  /// Puts and gets of the offload store pass through pinned memory, since the host does not reach the arena.
  bool stages_transfers = false;
  /// Says what the operands of launches are (Executable::operands).
  bool describes = false;
  /// Slots that programs compiled before have behind the persistent ones.
  std::uint32_t slots_before = 0;
  /// Runs elementwise updates that strategies want where their states lie, in slots that are the host's memory: the
  /// target itself, which works on that memory, or the host's cores beside it. Null: they are got and put as others.
  const Target* host = nullptr;
};

/// Lowers, forms regions, compiles kernels and lays out memory. Errors: an op that the target lacks and that has no
/// expansion. The target must outlive the executable's kernels.
/// `options.host` likewise.
Result<Executable> compile(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
                           const CompileOptions& options = {});

/// The piece size for a rank that may pin so many bytes (0: as it likes); the same on ranks with the same bound.
std::uint64_t staging_piece_bytes(std::uint64_t bound);

}  // namespace baleen
