/// \file Which op is the first whose results are no finite numbers.
#pragma once
#include <optional>
#include <string>

#include "core/execute/program.hpp"

namespace baleen {

/// Looks at all that launches read and write, in their order. [one thread]
class FirstNotFinite : public InstructionWatch {
 public:
  /// Surer first: a rank that has one of a surer kind has the cause.
  enum class Kind : std::uint8_t {
    stored,   ///< a parameter or a state, before the step
    given,    ///< what the host writes: a row of the data
    made,     ///< NaN or infinity from numbers that were finite
    lowered,  ///< minus infinity from such: a mask may want that
    nothing,  ///< here: it came from another rank, or from a sum over ranks
  };
  FirstNotFinite(Device& device, const PersistentLayout& persistent) : device_(device), persistent_(persistent) {}

  Kind kind() const { return found_ ? found_->kind : lowered_ ? Kind::lowered : Kind::nothing; }
  /// What ranks order their findings by, each as text of kOrderSize characters: the surer kind first, then the pass in
  /// which the launch is, then its number in the run. Ranks that split a batch have the same numbers.
  static constexpr std::size_t kOrderSize = 22;
  std::string order() const;
  /// "`act (pointwise)` at train.lua:7 made 3 of the 512 numbers of `h` infinite"; empty: nothing. `rank`: behind the
  /// op's name; empty where there is one only.
  std::string text(const std::string& rank) const;

  bool sees(const Executable& executable, std::size_t segment, const BlockLaunches*) override;
  Status before(const Instruction&) override { return {}; }
  Status after(const Instruction&) override { return {}; }
  bool wants_launches() const override { return !nan_; }
  Status before_launch(const Executable& executable, const Instruction& instruction, std::uint32_t first,
                       void* const* addresses) override;
  Status after_launch(const Executable& executable, const Instruction& instruction, std::uint32_t first,
                      void* const* addresses) override;

 private:
  struct Count {
    std::uint64_t nan = 0, infinite = 0, lowest = 0, all = 0;
    std::uint64_t bad() const { return nan + infinite + lowest; }
  };
  struct Found {
    Kind kind = Kind::nothing;
    OperandInfo operand;
    std::string op;  ///< of the launch that made it
    Count count;
    int pass = 0;
    std::uint64_t launch = 0;
  };
  Result<Count> count(const OperandInfo& operand, const void* address);
  /// Calls visit(operand, count) for each operand of a launch that is written, or that is not.
  template <class Visit>
  Status each(bool written, const Executable& executable, const Instruction& instruction, std::uint32_t first,
              void* const* addresses, const Visit& visit);

  Device& device_;
  const PersistentLayout& persistent_;
  std::vector<std::byte> bytes_;
  int pass_ = 0;                                ///< of the segment that runs: forward, backward, update
  std::uint64_t launch_ = 0;                    ///< the number of the launch that runs
  bool reads_bad_ = false;                      ///< the launch that runs
  std::optional<Found> found_, lowered_, nan_;  ///< the first of each
};

}  // namespace baleen
