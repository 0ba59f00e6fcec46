/// \file That memory keeps what an update wrote: a bit that it loses would be trained on, and saved.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "core/execute/program.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

/// Digests of this rank's stored parameters and states, made where an update has written them last and compared where
/// they are touched first afterwards: parameters in the next update, as all else reads them only; states that other
/// passes of a step use too (a loss scale, what a strategy has not sent yet) by whichever pass comes first, and their
/// digests are made at the end of the update. Parameters that no update touches are compared at each. Only of memory
/// that the host sees; others have codes that correct errors. Costs two passes over them a step
/// (docs/measurements/training.md). Each update also compares the seed and the number of steps, from which random
/// numbers come. [one thread]
class MemoryCheck : public InstructionWatch {
 public:
  /// Takes what the session holds now for right. The session outlives the runs that are watched.
  void attach(const Session& session);

  bool sees(const Executable& executable, std::size_t segment) override;
  /// DAMAGED with the tensor and the first bytes that are others.
  Status before(const Instruction& instruction) override;
  void after(const Instruction& instruction) override;
  void wrote(const PersistentBuffer& buffer) override;

 private:
  struct Guarded {
    const PersistentBuffer* buffer;
    const std::byte* memory;
    std::vector<std::uint64_t> digests;  ///< of each block
    bool is_known = false;               ///< nothing has touched it since
    bool is_parameter() const { return buffer->spec.role == Role::parameter; }
  };
  /// By instruction of a segment: what is compared before it, and what is given a digest behind it.
  struct Touches {
    std::vector<std::vector<std::size_t>> before, after;
    bool is_update = false, any = false;
  };

  /// Calls visit(number in guarded_, number of the instruction) for each address in guarded memory.
  template <class Visit>
  void each_touch(const Executable& executable, const Segment& segment, const Visit& visit) const;
  Touches touches_of(const Executable& executable, const Segment& segment) const;
  void add_update(const Executable& executable, const Segment& update, Touches& touches) const;
  const Guarded* holder_of(std::uint64_t offset) const;
  Status compare(const Guarded& guarded) const;
  Status compare_random_state() const;
  static void digest(Guarded& guarded);

  const Session* session_ = nullptr;
  std::vector<Guarded> guarded_;                ///< by offset
  std::uint64_t not_seed_ = 0, not_steps_ = 0;  ///< the seed, and the steps done at the last segment, each bit turned
  bool steps_are_right_ = true;                 ///< never more than one more than before
  std::map<const Segment*, Touches> segments_;  ///< that were seen
  const Touches* touches_ = nullptr;            ///< of the segment that runs
  const Instruction* instructions_ = nullptr;   ///< of that segment
};

}  // namespace baleen::app
