/// \file Stretches of a program without a word from the host in between: where the device can, kept once and enqueued
/// as one from then on.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/execute/device.hpp"

namespace baleen {

struct Instruction;

/// Instructions [first, last) of a segment, in one micro-batch.
struct KeptStretch {
  /// `fresh`, and then `known`: it has run, so that it may be kept. `waits`: it is kept, and all ranks have to agree.
  enum class State : std::uint8_t { fresh, known, waits, kept, refused };

  std::size_t first = 0, last = 0;
  State state = State::refused;
  std::size_t calls = 0;  ///< of the transport that begin and end in it
  void* sequence = nullptr;
  struct KeptCalls* with = nullptr;  ///< of the communicator, where there are calls
};

/// The sequences of a program. Its device outlives it.
class Sequences {
 public:
  explicit Sequences(Device& device);
  ~Sequences() { clear(); }
  Sequences(const Sequences&) = delete;

  /// Whether the device keeps sequences.
  bool available() const { return extension_.has_value(); }
  /// The stretches of a segment in a micro-batch; empty before they are cut.
  std::vector<KeptStretch>& at(std::size_t segment, std::size_t micro);
  /// `due`: whether an instruction is carried out then. None goes across the instruction `gate`. `takes`: whether what
  /// begins or waits for a call may be in a stretch, if that has both ends.
  static std::vector<KeptStretch> cut(std::span<const Instruction> instructions, std::size_t gate,
                                      const std::function<bool(const Instruction&)>& due,
                                      const std::function<bool(const Instruction&)>& takes);

  /// Whether the stretch is to be kept now: the caller enqueues it between `begin`, where that returns true, and `end`.
  /// What cannot be kept is refused for good; that is no failure.
  bool wants(KeptStretch& stretch, void* stream);
  bool begin(KeptStretch& stretch);
  /// `enqueued`: without a failure.
  void end(KeptStretch& stretch, bool enqueued);
  bool has(const KeptStretch& stretch, void* stream) const {
    return stretch.state == KeptStretch::State::kept && stream == stream_;
  }
  Status replay(const KeptStretch& stretch, std::uint64_t seed, std::uint64_t step);
  /// Lets go of what was kept of it, for good.
  void refuse(KeptStretch& stretch);
  template <class Body>
  void each(const Body& body) {
    for (auto& by_micro : stretches_)
      for (auto& list : by_micro)
        for (KeptStretch& stretch : list) body(stretch);
  }
  /// Addresses are others from now on.
  void clear();

 private:
  Device& device_;
  std::optional<baleen_sequences_t> extension_;
  void* stream_ = nullptr;                                        ///< of all sequences
  std::vector<std::vector<std::vector<KeptStretch>>> stretches_;  ///< by segment and micro-batch
};

}  // namespace baleen
