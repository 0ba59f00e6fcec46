/// \file Where an update begins to write what it cannot take back.
#include <algorithm>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

class GateFinder {
 public:
  GateFinder(const Lowered& lowered, std::vector<ProgramStep>& steps) : lowered_(lowered), steps_(steps) {}

  std::optional<std::size_t> run() {
    const auto first = std::ranges::find_if(steps_, [&](const ProgramStep& step) { return updates(step); });
    gate_ = static_cast<std::size_t>(first - steps_.begin());
    const auto known_before = [&](const std::string& name) {
      const auto output = std::ranges::find(lowered_.outputs, name, &std::pair<std::string, LowValue>::first);
      return output != lowered_.outputs.end() && comes_before(output->second);
    };
    // The norm first: where it is late, waits stay where they are.
    if (!known_before("gradient_norm") || !known_before("loss")) return std::nullopt;
    return gate_;
  }

 private:
  bool updates(const ProgramStep& step) const {
    // What is got of the store writes a buffer alone.
    if (step.transfer && !step.transfer->is_put && step.transfer->pinned == kNone) return false;
    const LoweredSection& section = lowered_.sections[step.section];
    const bool is_of_update = section.phase == Phase::update || lowered_.ops[step.op].op.phase == Phase::update;
    return is_of_update && section.loop < 0 && (puts_state(step) || std::ranges::any_of(step.writes, [&](LowValue v) {
                                                  return lowered_.storage_of(v).is_stored();
                                                }));
  }

  /// From bytes of its own, where the new value is not made in those of the old one.
  bool puts_state(const ProgramStep& step) const {
    const auto& transfer = step.transfer;
    return transfer && transfer->is_put && !transfer->is_over && transfer->pinned == kNone &&
           lowered_.storage_of(transfer->state).kind == Storage::Kind::offloaded;
  }

  /// Whether the value is known at the gate. What only waits for it moves there.
  bool comes_before(LowValue value) {
    std::size_t last = steps_.size();
    for (std::size_t s = 0; s < steps_.size(); ++s)
      for (LowValue v : steps_[s].writes)
        if (lowered_.root_of(v) == lowered_.root_of(value)) last = s;
    if (last == steps_.size()) return true;  // nobody makes it: it is given
    if (last >= gate_) return false;
    const std::uint32_t call = steps_[last].call_number;
    if (call == kNone) return true;
    const auto wait = std::ranges::find(steps_, call, &ProgramStep::wait_for);
    const auto place = static_cast<std::size_t>(wait - steps_.begin());
    if (place < gate_) return true;
    if (wait == steps_.end() || gate_ == steps_.size() || wait->late || wait->guard != Guard::always) return false;
    wait->section = steps_[gate_].section;
    std::rotate(steps_.begin() + static_cast<std::ptrdiff_t>(gate_), wait, wait + 1);
    ++gate_;
    return true;
  }

  const Lowered& lowered_;
  std::vector<ProgramStep>& steps_;
  std::size_t gate_ = 0;
};

}  // namespace

std::optional<std::size_t> find_gate(const Lowered& lowered, std::vector<ProgramStep>& steps) {
  return GateFinder(lowered, steps).run();
}

}  // namespace baleen
