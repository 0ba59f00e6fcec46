/// \file What an update gets of an offload store is got as early as memory that is free anyway allows.
#include <algorithm>
#include <map>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

using StepNumber = std::size_t;

/// Transfers that may be under way at once because of this.
constexpr std::uint32_t kMostUnderWay = 256;

/// Moves steps in which gets begin. What is live where, and how much is under way, is told by the steps' numbers before
/// anything moves; since a get touches its own buffer alone, other lives keep their order.
class EarlyGets {
 public:
  EarlyGets(const Lowered& lowered, const std::vector<ProgramStep>& steps, const Lifetimes& lifetimes)
      : lowered_(lowered), steps_(steps), lifetimes_(lifetimes) {
    find_slots();
    find_gets();
  }

  bool empty() const { return gets_.empty(); }

  /// Where each get begins when at most `capacity` bytes are live wherever one was moved to, by its step's number.
  std::map<StepNumber, StepNumber> find(std::uint64_t capacity) {
    count_live();
    std::map<StepNumber, StepNumber> moved;
    for (const Get& get : gets_) {
      StepNumber to = get.step;
      while (to > get.limit && live_[to - 1] + get.bytes <= capacity && under_way_[to - 1] < kMostUnderWay) --to;
      for (StepNumber s = to; s < get.step; ++s) {
        live_[s] += get.bytes;
        ++under_way_[s];
      }
      if (to != get.step) moved[get.step] = to;
    }
    return moved;
  }

 private:
  struct Get {
    StepNumber step = 0;
    StepNumber limit = 0;  ///< it begins no sooner
    std::uint64_t bytes = 0;
  };

  bool in_loop(const ProgramStep& step) const { return lowered_.sections[step.section].loop >= 0; }

  bool is_of_update(const ProgramStep& step) const {
    return lowered_.sections[step.section].phase == Phase::update && !in_loop(step);
  }

  std::uint64_t aligned(std::uint64_t bytes) const { return align_up(bytes, lowered_.alignment); }

  /// The steps that have to do with a slot: what it holds may change there, or other bytes of it are used.
  void find_slots() {
    for (StepNumber s = 0; s < steps_.size(); ++s) {
      if (in_loop(steps_[s])) last_loop_ = s + 1;
      const auto touch = [&](std::uint32_t slot) {
        if (slot != kNone && (touched_[slot].empty() || touched_[slot].back() != s)) touched_[slot].push_back(s);
      };
      if (steps_[s].transfer) touch(steps_[s].transfer->slot);
      for (const auto* list : {&steps_[s].reads, &steps_[s].writes})
        for (const LowValue v : *list) {
          if (!lowered_.has_storage(v)) continue;
          touch(lowered_.storages[lowered_.values[v].view.storage].slot);
          touch(lowered_.storage_of(v).slot);
        }
    }
  }

  /// In the order in which they begin, which is that of their uses.
  void find_gets() {
    std::map<std::uint32_t, std::uint64_t> sizes;  // by root
    for (const Lifetimes::Item& item : lifetimes_.items)
      if (item.storage != kNone) sizes[item.storage] = aligned(item.interval.bytes);
    for (StepNumber s = 0; s < steps_.size(); ++s) {
      const ProgramStep& step = steps_[s];
      if (step.beside || (step.transfer && step.transfer->pinned != kNone)) {
        gets_.clear();  // an update on the host's cores has claims on slots that no step tells
        return;
      }
      const bool gets = step.transfer && !step.transfer->is_put && !step.transfer->is_over;
      if (!gets || step.guard != Guard::always || !is_of_update(step)) continue;
      const std::vector<StepNumber>& touched = touched_[step.transfer->slot];
      const auto own = std::ranges::lower_bound(touched, s);
      const StepNumber behind = own == touched.begin() ? 0 : *std::prev(own) + 1;
      gets_.push_back({s, std::max(behind, last_loop_), sizes[lowered_.root_of(step.transfer->value)]});
    }
  }

  /// Of each step.
  void count_live() {
    std::vector<std::int64_t> changes(steps_.size() + 3, 0);
    for (const Lifetimes::Item& item : lifetimes_.items) {
      const auto bytes = static_cast<std::int64_t>(aligned(item.interval.bytes));
      changes[static_cast<std::size_t>(item.interval.first)] += bytes;
      changes[static_cast<std::size_t>(item.interval.last) + 1] -= bytes;
    }
    live_.assign(steps_.size(), 0);
    under_way_.assign(steps_.size(), 0);
    std::int64_t live = changes[0];
    std::uint32_t under_way = 0;
    for (StepNumber s = 0; s < steps_.size(); ++s) {
      live += changes[s + 1];
      live_[s] = static_cast<std::uint64_t>(live);
      if (steps_[s].transfer && steps_[s].transfer->is_over)
        --under_way;
      else if (steps_[s].transfer)
        ++under_way;
      under_way_[s] = under_way;
    }
  }

  const Lowered& lowered_;
  const std::vector<ProgramStep>& steps_;
  const Lifetimes& lifetimes_;
  std::vector<Get> gets_;
  std::map<std::uint32_t, std::vector<StepNumber>> touched_;  ///< by slot, ascending
  StepNumber last_loop_ = 0;                                  ///< behind its last step
  std::vector<std::uint64_t> live_;
  std::vector<std::uint32_t> under_way_;
};

std::vector<Interval> intervals_of(const Lifetimes& lifetimes) {
  std::vector<Interval> intervals;
  for (const Lifetimes::Item& item : lifetimes.items) intervals.push_back(item.interval);
  return intervals;
}

/// The numbers of steps in their new order.
std::vector<StepNumber> order_with(const std::map<StepNumber, StepNumber>& moved, std::size_t count) {
  std::multimap<StepNumber, StepNumber> before;
  for (const auto& [from, to] : moved) before.emplace(to, from);
  std::vector<StepNumber> order;
  auto next = before.begin();
  for (StepNumber s = 0; s < count; ++s) {
    for (; next != before.end() && next->first == s; ++next) order.push_back(next->second);
    if (!moved.contains(s)) order.push_back(s);
  }
  return order;
}

Lifetimes in_order(const Lifetimes& lifetimes, const std::vector<StepNumber>& order) {
  std::vector<std::int64_t> positions(order.size() + 2);
  positions.back() = static_cast<std::int64_t>(order.size()) + 1;
  for (std::size_t i = 0; i < order.size(); ++i) positions[order[i] + 1] = static_cast<std::int64_t>(i) + 1;
  Lifetimes result = lifetimes;
  for (auto* items : {&result.items, &result.pinned})
    for (Lifetimes::Item& item : *items)
      for (std::int64_t* end : {&item.interval.first, &item.interval.last})
        *end = positions[static_cast<std::size_t>(*end)];
  for (std::size_t i = 0; i < order.size(); ++i) result.scratch_of[i] = lifetimes.scratch_of[order[i]];
  return result;
}

}  // namespace

void begin_gets_early(const Lowered& lowered, std::vector<ProgramStep>& steps, Lifetimes& lifetimes,
                      std::optional<std::size_t>& gate) {
  EarlyGets gets(lowered, steps, lifetimes);
  if (gets.empty()) return;
  const MemoryPlan before = plan_memory(intervals_of(lifetimes), lowered.alignment);
  for (const double share : {1.0, 0.9, 0.7, 0.5}) {
    // Less than the peak, so that the peak stays where it is.
    const auto moved = gets.find(static_cast<std::uint64_t>(share * static_cast<double>(before.peak_bytes - 1)));
    if (moved.empty()) return;
    const std::vector<StepNumber> order = order_with(moved, steps.size());
    Lifetimes later = in_order(lifetimes, order);
    if (plan_memory(intervals_of(later), lowered.alignment).arena_bytes > before.arena_bytes) continue;
    for (auto it = moved.rbegin(); it != moved.rend(); ++it) {  // the last first: what stands at `to` may move, too
      steps[it->first].section = steps[it->second].section;
      steps[it->first].op = steps[it->second].op;
    }
    std::vector<ProgramStep> result;
    for (const StepNumber s : order) result.push_back(std::move(steps[s]));
    if (gate) *gate = static_cast<std::size_t>(std::ranges::find(order, *gate) - order.begin());
    steps = std::move(result);
    lifetimes = std::move(later);
    return;
  }
}

}  // namespace baleen
