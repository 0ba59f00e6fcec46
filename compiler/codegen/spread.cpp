/// \file Moves pieces of an update apart.
#include "compiler/codegen/spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace baleen {
namespace {

using StepNumber = std::size_t;

/// What an element that is read or written takes, in multiplications of a product.
constexpr double kWorkOfElement = 8;

class PieceSpreader {
 public:
  PieceSpreader(const Lowered& lowered, const std::vector<ProgramStep>& steps,
                const std::map<std::uint32_t, std::uint32_t>& puts)
      : lowered_(lowered), steps_(steps), puts_(puts) {}

  /// Which step each goes in front of: itself, if it stays.
  std::vector<StepNumber> run() {
    std::vector<StepNumber> targets(steps_.size());
    for (StepNumber first = 0, end = 0; first < steps_.size(); first = end) {
      for (end = first; end < steps_.size() && (end == first || continues(first, end)); ++end) targets[end] = end;
      if (end - first > 1) spread(first, end, targets);
    }
    return targets;
  }

 private:
  bool is_early(StepNumber s) const { return is_early_update(lowered_, steps_[s]); }
  bool continues(StepNumber first, StepNumber s) const {
    return is_early(first) && is_early(s) && steps_[s].op == steps_[first].op &&
           steps_[s].section == steps_[first].section;
  }

  /// What a group of steps touches. Values of one slot of the store are one thing, whatever buffers they have.
  struct Touched {
    std::set<std::uint32_t> read, written;  ///< roots
    std::set<std::uint32_t> slots;
  };
  Touched touched_by(StepNumber first, StepNumber end) const {
    Touched all;
    for (StepNumber s = first; s < end; ++s) {
      for (const LowValue v : steps_[s].reads) all.read.insert(lowered_.root_of(v));
      for (const LowValue v : steps_[s].writes) all.written.insert(lowered_.root_of(v));
    }
    for (const auto* roots : {&all.read, &all.written})
      for (const std::uint32_t root : *roots)
        if (const std::uint32_t slot = lowered_.storages[root].slot; slot != kNone) all.slots.insert(slot);
    return all;
  }
  bool is_in_the_way(const ProgramStep& step, const Touched& group) const {
    const auto reads = [&](LowValue v) { return group.written.contains(lowered_.root_of(v)); };
    const auto writes = [&](LowValue v) {
      const std::uint32_t root = lowered_.root_of(v);
      const auto put = puts_.find(root);
      const std::uint32_t slot = put == puts_.end() ? lowered_.storages[root].slot : put->second;
      return group.written.contains(root) || group.read.contains(root) || (slot != kNone && group.slots.contains(slot));
    };
    return std::ranges::any_of(step.reads, reads) || std::ranges::any_of(step.writes, writes);
  }

  /// About the multiplications of a product, rows × columns × depth, from what is multiplied.
  double work(const ProgramStep& step) const {
    const Op& op = lowered_.ops[step.op].op;
    double most = 0;
    for (const auto* list : {&op.inputs, &op.outputs})
      for (const LowValue v : *list) most = std::max(most, static_cast<double>(lowered_.elements(v)));
    if (op.inputs.size() < 2 || op.kind->has(kPointwise)) return kWorkOfElement * most;
    const auto first = static_cast<double>(lowered_.elements(op.inputs[0]));
    const auto second = static_cast<double>(lowered_.elements(op.inputs[1]));
    if (op.kind->has(kContraction) && op.inputs.size() == 2 && op.outputs.size() == 1)
      return std::sqrt(first * second * static_cast<double>(lowered_.elements(op.outputs[0])));
    // Others that are told rows and columns of one depth, such as a loss that multiplies itself.
    const Shape &rows = lowered_.values[op.inputs[0]].shape, &columns = lowered_.values[op.inputs[1]].shape;
    const bool has_depth = rows.size() >= 2 && columns.size() == 2 && rows.back() == columns.back() && rows.back() > 1;
    return has_depth ? first * second / static_cast<double>(rows.back()) : kWorkOfElement * most;
  }

  /// The first of them stays.
  void spread(StepNumber first, StepNumber end, std::vector<StepNumber>& targets) const {
    const Touched group = touched_by(first, end);
    StepNumber last = end;
    double all = 0;
    for (; last < steps_.size() && steps_[last].section == steps_[first].section && !is_in_the_way(steps_[last], group);
         ++last)
      all += is_early(last) ? 0 : work(steps_[last]);
    double done = 0;
    const auto count = static_cast<double>(end - first);
    StepNumber next = first + 1;
    for (StepNumber s = end; s < last && next < end; ++s) {
      for (; next < end && done >= all * static_cast<double>(next - first) / count; ++next) targets[next] = s;
      done += is_early(s) ? 0 : work(steps_[s]);
    }
    for (; next < end; ++next) targets[next] = last;
  }

  const Lowered& lowered_;
  const std::vector<ProgramStep>& steps_;
  const std::map<std::uint32_t, std::uint32_t>& puts_;
};

}  // namespace

bool is_early_update(const Lowered& lowered, const ProgramStep& step) {
  const LoweredSection& section = lowered.sections[step.section];
  const Op& op = lowered.ops[step.op].op;
  return section.phase == Phase::backward && section.loop < 0 && op.phase == Phase::update && op.kind->has(kPointwise);
}

std::vector<std::size_t> spread_pieces(const Lowered& lowered, std::vector<ProgramStep>& steps,
                                       const std::map<std::uint32_t, std::uint32_t>& puts) {
  const std::vector<StepNumber> targets = PieceSpreader(lowered, steps, puts).run();
  std::vector<StepNumber> order(steps.size()), numbers(steps.size());
  for (StepNumber s = 0; s < steps.size(); ++s) order[s] = s;
  // What is moved stands before the step that it goes in front of.
  std::ranges::stable_sort(order, {}, [&](StepNumber s) { return std::pair(targets[s], targets[s] == s); });
  std::vector<ProgramStep> result;
  result.reserve(steps.size());
  for (const StepNumber s : order) {
    numbers[s] = result.size();
    result.push_back(std::move(steps[s]));
  }
  steps = std::move(result);
  return numbers;
}

}  // namespace baleen
