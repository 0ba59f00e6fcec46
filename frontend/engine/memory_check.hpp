/// \file That memory keeps what an update wrote: a bit that it loses would be trained on, and saved.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/execute/block_launches.hpp"
#include "core/execute/program.hpp"
#include "core/runtime/session.hpp"
#include "frontend/engine/block_digests.hpp"
#include "frontend/engine/block_watch.hpp"
#include "frontend/engine/slot_check.hpp"

namespace baleen::app {

/// Digests of this rank's stored parameters and states, made where they have been written last and compared where they
/// are used next. Each update compares all of them, where it touches them first and again where it writes them first;
/// what the pass before has updated already (a late update) was compared there, where it was written first.
/// Other passes compare the states that they use themselves (a loss scale, what a strategy has not sent yet), where
/// they touch and where they write them first; parameters they only read, so the next update finds what these have
/// lost. What lies outside the device counts likewise where its place lets it be used there, and so compares nothing by
/// itself; beside a device with memory of its own SlotCheck does so. What is lost between a comparison and the end of
/// the same instruction is taken for right; in what several instructions of a pass write without telling of blocks,
/// until the last of them. Only of memory that the host sees; others have codes that correct errors. Kernels that tell
/// of their blocks have each compared, and its digest made, while it is in the cache (docs/measurements/training.md),
/// updates in pieces too; all else costs two passes over it a step. Each step begins with comparing the seed and the
/// number of steps, from which random numbers come, the place in the data, and the runs of programs that learn; its
/// update does so again, and what comes before a save. [one thread, but for blocks]
class MemoryCheck : public InstructionWatch {
 public:
  /// Takes what the session holds now for right. The session outlives the runs that are watched.
  void attach(const Session& session);

  /// Between two runs of programs: compares all that it knows, so that nothing is saved that has changed since it was
  /// computed.
  Status compare_all() const;

  /// The number of steps says which program runs: other ranks would wait for one that runs another.
  Status begins_step() override;
  bool sees(const Executable& executable, std::size_t segment, const BlockLaunches* launches) override;
  /// DAMAGED with the tensor and the first bytes that are others.
  Status before(const Instruction& instruction) override;
  Status after(const Instruction& instruction) override;
  const baleen_block_watch_t* blocks(const Instruction& instruction) override;
  void wrote(const PersistentBuffer& buffer) override;
  HostLaunchWatch* host_launches() override { return &beside_; }

 private:
  using Guarded = BlockDigests;
  /// What a launch does block by block: to the whole tensor, or to a piece, if others of its segment do the rest. A
  /// piece is compared and written for itself.
  struct BlockTouch {
    std::size_t number;  ///< in guarded_
    bool is_compared, is_changed, is_written;
    std::uint64_t from = 0;  ///< the piece's first byte
    bool is_last = true;     ///< of the pieces
  };
  using Stretch =
      std::pair<std::uint64_t, std::uint64_t>;  ///< bytes of a tensor: the first, and the one behind the last
  static constexpr std::size_t kNever = SIZE_MAX;
  /// Instructions that touch a tensor: the first, the first that changes it, the last that writes it.
  struct Times {
    std::size_t touched = kNever, changed = kNever, written = kNever;
  };
  /// By instruction of a segment, as numbers in guarded_: what is compared before it, what it begins to write, and what
  /// it ends to write, which gets its digest behind it.
  struct Touches {
    std::vector<std::set<std::size_t>> compared, changing, written;
    std::vector<std::vector<BlockTouch>> blocks;  ///< in place of the others
    bool is_update = false, any = false;
  };

  /// Calls visit(number in guarded_, number of the instruction, its use of that memory) for each address there.
  template <class Visit>
  void each_touch(const Executable& executable, const Segment& segment, const Visit& visit) const;
  Touches touches_of(const Executable& executable, const Segment& segment, const BlockLaunches* launches) const;
  void move_to_blocks(const Executable& executable, const Segment& segment, const BlockLaunches& launches,
                      Touches& touches) const;
  /// Pieces one behind the other that change all of a tensor, or read all of it before anything else does.
  void move_pieces(const Executable& executable, const Segment& segment, const BlockLaunches& launches,
                   Touches& touches) const;
  /// What a launch goes over in blocks of this tensor; nothing where it does so in another way.
  std::optional<Stretch> stretch_in_blocks(const Executable& executable, const Instruction& instruction,
                                           const BlockLaunches& launches, std::size_t number) const;
  void add_pass(const Executable& executable, const Segment& pass, Touches& touches) const;
  std::vector<Times> times_in(const Executable& executable, const Segment& segment) const;  ///< by number
  static void add_change(std::size_t number, const Times& own, Touches& touches);
  void add_update(const Executable& executable, const Segment& update, Touches& touches) const;
  const Guarded* holder_of(const AddressSource& source) const;
  const Guarded* holder_of(const PersistentBuffer& buffer) const;
  Status compare(const Guarded& guarded) const;
  Status compare_counts(const std::string& when) const;

  const Session* session_ = nullptr;
  SlotCheck beside_;
  std::vector<Guarded> guarded_;                ///< those of the arena by offset, then those of slots by number
  std::size_t in_arena_ = 0;                    ///< of them
  std::uint64_t not_seed_ = 0;                  ///< the seed, each bit turned
  std::map<const Segment*, Touches> segments_;  ///< that were seen
  const Touches* touches_ = nullptr;            ///< of the segment that runs
  const Instruction* instructions_ = nullptr;   ///< of that segment

  BlockWatch blocks_;  ///< of the launch that tells of blocks
};

}  // namespace baleen::app
