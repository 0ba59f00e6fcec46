/// \file Elementwise updates of what lies in an offload store, run where it lies: by the host's cores, in the memory of
/// its slots (as ZeRO-Offload's Adam, arXiv 2101.06840).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/passes.hpp"
#include "compiler/codegen/update_pieces.hpp"

namespace baleen {

/// Marks updates (`ProgramStep::on_host`), and puts what they need around them once all steps stand where they stay.
///
/// An operand in the store that no other step has in the same buffer is used in its slot: it is neither got nor put. A
/// device that works on the host's memory needs nothing else. Beside another one each update has places in pinned
/// memory for its other operands. They are copied out `ahead` updates sooner, or as soon as what they wait for is done;
/// what it makes for the device is copied in behind it, and is over before the update after the next, or before the
/// first step that is in its way. Then its places, and what it had of the device, are free. Updates run in their order.
class HostUpdates {
 public:
  HostUpdates(Lowered& lowered, std::vector<ProgramStep>& steps, const HostKernels& host)
      : lowered_(lowered), steps_(steps), host_(host) {}

  /// Once, before any step is split.
  void mark();
  /// Once, when pieces stand where they stay: the steps are others afterwards. `stored`: all that lies in the store,
  /// one per buffer. `transfers`: how many there are so far; counts on.
  Status place(const std::vector<StoredValue>& stored, std::uint32_t& transfers);

  /// Whether a buffer is none any more, since its update uses the slot.
  bool is_in_place(LowValue stored) const { return in_place_.contains(lowered_.root_of(stored)); }
  /// Where the end of what were the first `old` steps is.
  std::size_t new_end(std::size_t old) const { return old == 0 ? 0 : numbers_[old - 1] + 1; }
  /// What keeps the rest of the program away from a slot while an update has it.
  struct Claim {
    std::size_t from = 0;   ///< puts of before are over in front of this step
    std::size_t until = 0;  ///< gets of afterwards begin behind this step
  };
  /// Of a slot, in order.
  const std::vector<Claim>& claims(std::uint32_t slot) const;
  const HostUpdateReport& report() const { return report_; }

 private:
  using StepNumber = std::size_t;

  /// An update beside the device. Numbers of steps are those of before.
  struct Update {
    StepNumber step = 0;
    StepNumber from = 0, until = 0;  ///< its copies begin, and it is over, in front of these
    std::vector<LowValue> out, in;   ///< of the device: what is copied there and back
    std::vector<LowValue> single;    ///< numbers that it reads
    std::set<std::uint32_t> slots;   ///< that it has in place
    std::size_t ahead = 1;
    std::map<LowValue, LowValue> places = {};  ///< of all that is copied, in pinned memory
    LowValue scratch = kNone;                  ///< of its kernel, there too
  };
  /// Copies begin behind the update that makes them before others are over, and those before others begin.
  enum Order { kCopiesIn, kOver, kCopiesOut };
  struct Inserted {
    StepNumber at = 0;
    Order order = kCopiesIn;
    std::size_t update = 0;
    ProgramStep step;
  };
  /// A number's place in pinned memory, and which of the inserted steps begins to bring it.
  struct Copied {
    LowValue place = kNone;
    std::size_t by = 0;
  };

  void find_readers();
  bool is_wanted(const ProgramStep& step) const;
  bool has_state_inside(const ProgramStep& step) const;
  bool is_part(StepNumber step) const;
  void use_slots(const std::vector<StoredValue>& stored);
  Status compile(ProgramStep& step);
  void place_beside(std::uint32_t& transfers);
  Update update_at(StepNumber step) const;
  StepNumber earliest(const Update& update, StepNumber begin) const;
  StepNumber latest(const Update& update, StepNumber end) const;
  bool meet(LowValue a, LowValue b) const;
  bool touches(const ProgramStep& step, const std::vector<LowValue>& values, bool writes) const;
  bool touches_slots(const ProgramStep& step, const Update& update) const;
  LowValue pinned_place(LowValue value);
  LowValue pinned_place(LowValue value, std::uint64_t bytes);
  void share_places(Update& update);
  void claim_memory(const Update& update, ProgramStep& step) const;
  void copy_out(std::size_t number, std::uint32_t& transfers);
  std::size_t copy_single(std::size_t number, LowValue value, std::uint32_t& transfers);
  void copy_in(std::size_t number, std::uint32_t& transfers);
  std::size_t insert(Inserted inserted);
  bool is_later(std::size_t inserted, std::size_t other) const;
  ProgramStep copy_step(StepNumber at, LowValue value, LowValue place, bool is_put, std::uint32_t transfer) const;
  void weave();
  void claim(const std::vector<std::size_t>& update_of);

  Lowered& lowered_;
  std::vector<ProgramStep>& steps_;
  const HostKernels& host_;
  std::map<std::uint32_t, StepNumber> last_reader_;
  std::set<std::uint32_t> in_place_;  ///< roots
  std::vector<Update> updates_;       ///< beside the device, in their order
  std::map<LowValue, Copied> single_;
  std::vector<Inserted> inserted_;
  std::vector<StepNumber> numbers_;  ///< new ones, by old ones
  std::map<std::uint32_t, std::vector<Claim>> claims_;
  HostUpdateReport report_;
};

}  // namespace baleen
