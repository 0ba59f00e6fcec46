/// \file That memory keeps what an update wrote: a bit that it loses would be trained on, and saved.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "core/execute/program.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

/// Digests of this rank's stored parameters, and of states that nothing but updates touches, made where an update has
/// written them last and compared where the next update touches them first. What no update touches is compared at each
/// update. Only of memory that the host sees; others have codes that correct errors. Costs two passes over them a step
/// (docs/measurements/training.md). [one thread]
class MemoryCheck : public InstructionWatch {
 public:
  /// Takes what the session holds now for right. The session outlives the runs that are watched.
  void attach(const Session& session);

  bool sees(const Executable& executable, std::size_t segment) override;
  /// DAMAGED with the tensor and the first bytes that are others.
  Status before(const Instruction& instruction) override;
  void after(const Instruction& instruction) override;

 private:
  struct Guarded {
    const PersistentBuffer* buffer;
    const std::byte* memory;
    std::vector<std::uint64_t> digests;  ///< of each block
  };
  /// By instruction of a segment: what it is the first, and the last, to touch.
  struct Touches {
    std::vector<std::vector<std::size_t>> first, last;
  };

  /// Calls visit(number in guarded_, number of the instruction) for each address in guarded memory.
  template <class Visit>
  void each_touch(const Executable& executable, const Segment& segment, const Visit& visit) const;
  Touches touches_of(const Executable& executable, const Segment& update) const;
  const Guarded* holder_of(std::uint64_t offset) const;
  Status compare(const Guarded& guarded) const;
  static void digest(Guarded& guarded);

  const Session* session_ = nullptr;
  std::vector<Guarded> guarded_;                ///< by offset
  std::map<const Segment*, Touches> segments_;  ///< that were seen
  const Touches* touches_ = nullptr;            ///< of the segment that runs
  const Instruction* instructions_ = nullptr;   ///< of that segment
};

}  // namespace baleen::app
