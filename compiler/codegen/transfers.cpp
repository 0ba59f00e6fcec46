/// \file Where states that an offload store keeps are got and put.
#include <algorithm>
#include <map>
#include <optional>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

using StepNumber = std::size_t;

/// Updates that may run while what an earlier one made is still being put.
constexpr std::size_t kBehind = 1;

class TransferScheduler {
 public:
  TransferScheduler(Lowered& lowered, std::vector<ProgramStep> steps) : lowered_(lowered), steps_(std::move(steps)) {}

  Result<std::vector<ProgramStep>> run() {
    collect();
    BALEEN_TRY(find_uses());
    if (states_.empty()) return std::move(steps_);
    for (const State& state : states_) {
      if (state.is_read) get(state);
      if (state.made) put(state);
    }
    return weave();
  }

 private:
  /// A state that lies in the store, where this program uses it.
  struct State {
    LowValue old = kNone, next = kNone;  ///< what is got, what is put
    std::optional<StepNumber> first;     ///< that uses the buffer
    bool is_read = false;                ///< by that one, so the old value is wanted
    std::optional<StepNumber> made;      ///< behind which the new value may be put
  };
  /// What stands before a step, in this order, and behind it.
  enum Place { kPutOver, kGetBegins, kGetOver, kPutBegins };

  void collect() {
    std::map<std::uint32_t, LowValue> assigned;
    for (const LoweredAssign& assign : lowered_.assigns) assigned[lowered_.root_of(assign.target)] = assign.value;
    for (const LowValue v : lowered_.sources) {
      const Storage& storage = lowered_.storage_of(v);
      if (storage.kind != Storage::Kind::offloaded || storage.bytes == 0) continue;
      const auto value = assigned.find(lowered_.root_of(v));
      states_.push_back({v, value == assigned.end() ? kNone : value->second, {}, false, {}});
    }
  }

  Status find_uses() {
    std::map<std::uint32_t, State*> buffers, results;
    for (State& state : states_) {
      buffers[lowered_.root_of(state.old)] = &state;
      if (state.next != kNone) results[lowered_.root_of(state.next)] = &state;
    }
    for (StepNumber s = 0; s < steps_.size(); ++s) {
      const ProgramStep& step = steps_[s];
      const auto touch = [&](LowValue v, bool reads) {
        const std::uint32_t root = lowered_.root_of(v);
        if (const auto used = buffers.find(root); used != buffers.end() && !used->second->first) {
          used->second->first = s;
          used->second->is_read = reads;
        }
        const auto made = results.find(root);
        if (made != results.end() && (!reads || step.wait_for != kNone)) made->second->made = s;
      };
      for (const LowValue v : step.reads) touch(v, true);
      for (const LowValue v : step.writes) touch(v, false);
    }
    for (State& state : states_) {
      if (!state.first) state.first = state.made;
      // The slot has the old value until it is got.
      if (state.is_read && state.made) state.made = std::max(*state.made, *state.first);
    }
    std::erase_if(states_, [](const State& state) { return !state.first; });
    for (const State& state : states_) BALEEN_TRY(check(state));
    std::ranges::stable_sort(states_, {}, [](const State& state) { return *state.first; });
    for (const State& state : states_)
      if (updates_.empty() || updates_.back() != *state.first) updates_.push_back(*state.first);
    return {};
  }

  Status check(const State& state) const {
    for (const StepNumber s : {*state.first, state.made.value_or(*state.first)})
      if (lowered_.sections[steps_[s].section].loop >= 0)
        return unsupported("state `" + lowered_.values[state.old].name +
                           "` is offloaded, and a loop over micro-batches uses it; leave it out of what is offloaded");
    return {};
  }

  /// Of the update that uses it first.
  std::size_t update_of(const State& state) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(updates_, *state.first) - updates_.begin());
  }

  StepNumber section_begin(StepNumber step) const {
    while (step > 0 && steps_[step - 1].section == steps_[step].section) --step;
    return step;
  }

  void get(const State& state) {
    const std::size_t update = update_of(state), ahead = lowered_.storage_of(state.old).ahead;
    const StepNumber begin = update < ahead ? section_begin(updates_.front()) : updates_[update - ahead];
    add(begin, kGetBegins, state, false);
    add(*state.first, kGetOver, state, false);
    ++transfers_;
  }

  void put(const State& state) {
    const auto later = [&](StepNumber update) { return update > *state.made; };
    auto over = std::ranges::find_if(updates_, later);
    const auto behind =
        updates_.begin() + static_cast<std::ptrdiff_t>(std::min(update_of(state) + kBehind + 1, updates_.size()));
    if (over < behind) over = behind;
    add(*state.made, kPutBegins, state, true);
    add(over == updates_.end() ? steps_.size() : *over, kPutOver, state, true);
    ++transfers_;
  }

  void add(StepNumber at, Place place, const State& state, bool is_put) {
    const bool is_end = at == steps_.size();
    ProgramStep step;
    step.op = steps_[is_end ? *state.made : at].op;
    step.section = is_end ? lowered_.closing_section() : steps_[at].section;
    step.in_place = false;
    const LowValue value = is_put ? state.next : state.old;
    (place == kGetBegins ? step.writes : step.reads) = {value};
    const bool is_over = place == kGetOver || place == kPutOver;
    step.transfer = {transfers_, lowered_.storage_of(state.old).slot, state.old, value, is_put, is_over};
    added_.emplace(std::pair(at, place), std::move(step));
  }

  std::vector<ProgramStep> weave() {
    std::vector<ProgramStep> result;
    result.reserve(steps_.size() + added_.size());
    auto next = added_.begin();
    for (StepNumber s = 0; s <= steps_.size(); ++s) {
      for (; next != added_.end() && next->first < std::pair(s, kPutBegins); ++next)
        result.push_back(std::move(next->second));
      if (s < steps_.size()) result.push_back(std::move(steps_[s]));
    }
    return result;
  }

  Lowered& lowered_;
  std::vector<ProgramStep> steps_;
  std::vector<State> states_;
  std::vector<StepNumber> updates_;  ///< the steps that use some state first, ascending
  std::uint32_t transfers_ = 0;
  std::multimap<std::pair<StepNumber, Place>, ProgramStep> added_;
};

}  // namespace

Result<std::vector<ProgramStep>> schedule_transfers(Lowered& lowered, std::vector<ProgramStep> steps) {
  return TransferScheduler(lowered, std::move(steps)).run();
}

}  // namespace baleen
