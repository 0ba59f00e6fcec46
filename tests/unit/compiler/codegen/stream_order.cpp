#include "unit/compiler/codegen/stream_order.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "baleen/dtype.hpp"

namespace baleen::test {
namespace {

enum Who : std::size_t { kStream, kCores, kOut, kIn, kPuts, kGets, kCount };
using Clock = std::array<std::uint64_t, kCount>;

void join(Clock& own, const Clock& other) {
  for (std::size_t i = 0; i < kCount; ++i) own[i] = std::max(own[i], other[i]);
}

/// Bytes of an arena, or of a slot.
struct Bytes {
  AddressSource::Arena arena = AddressSource::Arena::none;
  std::uint32_t slot = UINT32_MAX;
  std::uint64_t begin = 0, end = 0;
  bool meets(const Bytes& other) const {
    return arena == other.arena && slot == other.slot && begin < other.end && other.begin < end;
  }
};

struct Access {
  Bytes bytes;
  bool is_written = false;
  Who who = kStream;
  std::uint64_t time = 0;  ///< of `who`
  std::string what;
};

class Order {
 public:
  explicit Order(const Executable& program) : program_(program) {}

  std::string run() {
    for (const Segment& segment : program_.segments)
      for (const Instruction& i : segment.instructions) {
        if (i.kind == Instruction::Kind::launch || i.kind == Instruction::Kind::zero) launch(i, kStream, {});
        if (i.kind == Instruction::Kind::launch_beside) beside(i);
        if (i.kind == Instruction::Kind::join) join(clocks_[kStream], launches_[i.call]);
        if (i.kind == Instruction::Kind::transfer) transfer(i.call);
        if (i.kind == Instruction::Kind::settle) join(clocks_[kStream], transfers_[i.call]);
        if (!race_.empty()) return race_;
      }
    return race_;
  }

 private:
  /// Something that `who` does next, behind `after` and all that it did before.
  Clock& next(Who who, const Clock& after) {
    Clock& own = clocks_[who];
    join(own, after);
    ++own[who];
    return own;
  }

  void touch(const Bytes& bytes, bool is_written, Who who, const std::string& what) {
    if (bytes.begin == bytes.end) return;
    const Clock& now = clocks_[who];
    for (const Access& before : accesses_)
      if (race_.empty() && (before.is_written || is_written) && before.bytes.meets(bytes) &&
          now[before.who] < before.time)
        race_ = "`" + what + "` may meet `" + before.what + "`";
    accesses_.push_back({bytes, is_written, who, now[who], what});
  }

  Bytes bytes_at(std::uint32_t address, std::uint64_t bytes) const {
    const AddressSource& source = program_.sources[address];
    return {source.arena, source.slot, source.offset, source.offset + bytes};
  }

  std::uint64_t bytes_of(const AddressSource& source) const {
    if (source.operand == UINT32_MAX) return 0;
    const OperandInfo& operand = program_.operands[source.operand];
    std::int64_t last = 0;
    for (std::size_t d = 0; d < operand.shape.size(); ++d) last += (operand.shape[d] - 1) * operand.strides[d];
    return static_cast<std::uint64_t>(last + 1) * dtype_size(operand.dtype);
  }

  void launch(const Instruction& i, Who who, const Clock& after) {
    next(who, after);
    for (std::uint32_t a = i.first_address; a < i.first_address + i.address_count; ++a) {
      const AddressSource& source = program_.sources[a];
      touch(bytes_at(a, bytes_of(source)), source.is_written, who, program_.labels[i.label]);
    }
  }

  void beside(const Instruction& i) {
    const BesideLaunch& what = program_.beside[i.call];
    Clock after{};
    if (what.after != BesideLaunch::kNone) join(after, transfers_[what.after]);
    if (what.waits_for_stream) join(after, clocks_[kStream]);
    launch(i, kCores, after);
    launches_[i.call] = clocks_[kCores];
  }

  void transfer(std::uint32_t number) {
    const ExecutableTransfer& what = program_.transfers[number];
    const bool is_copy_in = what.is_copy() && !what.is_put;
    const Who who = what.is_copy() ? what.is_put ? kOut : kIn : what.is_put ? kPuts : kGets;
    Clock after = is_copy_in ? launches_[what.behind] : clocks_[kStream];
    // The store keeps the order of what is begun on a slot.
    if (!what.is_copy()) join(after, slots_[what.slot]);
    const std::string name = (what.is_copy() ? "copy " : what.is_put ? "put " : "get ") + what.name;
    next(who, after);
    touch(bytes_at(what.address, what.bytes), !what.is_put, who, name);
    if (what.is_copy())
      touch(bytes_at(what.pinned, what.bytes), what.is_put, who, name);
    else
      touch({AddressSource::Arena::slot, what.slot, what.offset, what.offset + what.bytes}, what.is_put, who, name);
    transfers_[number] = clocks_[who];
    if (!what.is_copy()) slots_[what.slot] = clocks_[who];
  }

  const Executable& program_;
  std::array<Clock, kCount> clocks_{};
  std::map<std::uint32_t, Clock> transfers_, launches_, slots_;
  std::vector<Access> accesses_;
  std::string race_;
};

}  // namespace

std::string first_race(const Executable& program) { return Order(program).run(); }

}  // namespace baleen::test
