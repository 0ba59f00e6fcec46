/// \file Where what lies in an offload store between its uses is got and put.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/codegen/host_updates.hpp"
#include "compiler/codegen/passes.hpp"
#include "compiler/codegen/ranges.hpp"
#include "compiler/codegen/spread.hpp"
#include "compiler/codegen/update_pieces.hpp"

namespace baleen {
namespace {

using StepNumber = std::size_t;

/// Updates that may run while what an earlier one made is still being put.
constexpr std::size_t kBehind = 1;

class TransferScheduler {
 public:
  TransferScheduler(Lowered& lowered, std::vector<ProgramStep> steps, KernelStore& kernels, const HostKernels& host,
                    std::uint32_t first_slot)
      : lowered_(lowered),
        steps_(std::move(steps)),
        kernels_(kernels),
        host_(host),
        on_host_(lowered_, steps_, host_),
        first_slot_(first_slot) {}

  Result<ScheduledTransfers> run() {
    collect();
    const std::map<std::uint32_t, Made> made = collect_made();
    if (states_.empty() && made.empty()) return ScheduledTransfers{std::move(steps_), {}, {}};
    on_host_.mark();
    split_reads();
    part_uses(made);
    BALEEN_TRY(split_updates());
    BALEEN_TRY(update_in_place());
    BALEEN_TRY(find_uses());
    for (const State& state : states_) {
      if (state.is_read) get(state);
      if (state.made) put(state);
    }
    if (!states_.empty()) steps_ = weave();
    return ScheduledTransfers{std::move(steps_), std::move(outside_), on_host_.report()};
  }

 private:
  /// What lies in the store, in one buffer that this program has for it.
  struct State {
    LowValue old = kNone, next = kNone;    ///< what is got, what is put
    std::optional<StepNumber> first = {};  ///< that uses the buffer
    bool is_read = false;                  ///< by that one, so the old value is wanted
    std::optional<StepNumber> made = {};   ///< behind which the new value may be put
    StepNumber from = 0;                   ///< it is got no sooner
    Guard guard = Guard::always;           ///< of the get
  };
  /// A value that ops make and that may lie in the store: a sum over micro-batches is made in each of their turns.
  struct Made {
    LowValue value = kNone;
    std::uint32_t ahead = 0;
    bool is_sum = false;
    StepNumber last = 0;  ///< that writes it
  };
  /// What stands before a step, in this order, and behind it. kTurnEnds: a put is over, in the section that ends.
  enum Place { kTurnEnds, kPutOver, kGetBegins, kGetOver, kPutBegins };

  void collect() {
    std::map<std::uint32_t, LowValue> assigned;
    for (const LoweredAssign& assign : lowered_.assigns) assigned[lowered_.root_of(assign.target)] = assign.value;
    for (const LowValue v : lowered_.sources) {
      const Storage& storage = lowered_.storage_of(v);
      if (storage.kind != Storage::Kind::offloaded || storage.bytes == 0) continue;
      const auto value = assigned.find(lowered_.root_of(v));
      states_.push_back({v, value == assigned.end() ? kNone : value->second});
    }
  }

  /// By root. What is an output stays, and what a pipeline schedule has several copies of.
  std::map<std::uint32_t, Made> collect_made() const {
    std::map<std::uint32_t, Made> all;
    for (LowValue v = 0; v < lowered_.values.size(); ++v) {
      const LoweredValue& value = lowered_.values[v];
      if (value.offloaded_ahead == 0 || value.view.storage == kNone) continue;
      const Storage& storage = lowered_.storage_of(v);
      if (storage.kind == Storage::Kind::work && storage.bytes > 0 && lowered_.fills_storage(v))
        all.try_emplace(lowered_.root_of(v), Made{v, value.offloaded_ahead});
    }
    if (all.empty()) return all;
    for (const auto& [name, v] : lowered_.outputs) all.erase(lowered_.root_of(v));
    for (const LoweredOp& op : lowered_.ops)
      if (op.means == LoweringKind::accumulate && lowered_.has_storage(op.op.outputs[0]))
        if (const auto sum = all.find(lowered_.root_of(op.op.outputs[0])); sum != all.end()) sum->second.is_sum = true;
    std::map<std::uint32_t, std::uint32_t> sections;  // of the pipeline that touch it
    for (StepNumber s = 0; s < steps_.size(); ++s)
      for (const auto* list : {&steps_[s].reads, &steps_[s].writes})
        for (const LowValue v : *list) {
          const auto found = all.find(lowered_.root_of(v));
          if (found == all.end()) continue;
          if (list == &steps_[s].writes || steps_[s].wait_for != kNone) found->second.last = s;
          const bool crosses = lowered_.in_pipeline(steps_[s].section) &&
                               sections.try_emplace(found->first, steps_[s].section).first->second != steps_[s].section;
          if (crosses || steps_[s].late) all.erase(found);
        }
    return all;
  }

  /// Of a source that steps read part by part, each part lies in the store as a value of its own does.
  void split_reads() {
    std::vector<UsedRanges::Source> sources;
    for (const State& state : states_) sources.push_back({state.old, state.next});
    for (const LowValue part : UsedRanges(lowered_, steps_).split_reads(sources)) states_.push_back({part, kNone});
  }

  Phase phase_of(StepNumber step) const { return lowered_.sections[steps_[step].section].phase; }
  int loop_of(StepNumber step) const { return lowered_.sections[steps_[step].section].loop; }

  /// Where a state is used, in stretches that have a buffer each.
  struct Uses {
    std::size_t ahead = 0;
    std::vector<std::vector<StepNumber>> parts = {{}};
    std::size_t number = 0;             ///< of the last one among the steps that use anything of the store
    std::set<std::uint32_t> open = {};  ///< calls that use the buffer; kNone: the slot may have the new value
    std::optional<Made> made = {};
  };

  /// What is read in several places is got for each of them, into a buffer of its own: where more than `ahead` other
  /// uses of what lies in the store come between, or where a micro-batch's part begins.
  void part_uses(const std::map<std::uint32_t, Made>& made) {
    std::map<std::uint32_t, Uses> all;  // by the root of the old value
    for (const auto& [root, value] : made) {
      all[root].ahead = value.ahead;
      all[root].made = value;
    }
    std::map<std::uint32_t, std::uint32_t> results;  // from the new value's
    for (const State& state : states_) {
      const std::uint32_t root = lowered_.root_of(state.old);
      all[root].ahead = lowered_.storage_of(state.old).ahead;
      if (state.next != kNone) results[lowered_.root_of(state.next)] = root;
    }
    for (StepNumber s = 0, number = 0; s < steps_.size(); ++s) {
      std::set<std::uint32_t> roots;
      for (const auto* list : {&steps_[s].reads, &steps_[s].writes})
        for (const LowValue v : *list) roots.insert(lowered_.root_of(v));
      std::erase_if(roots, [&](std::uint32_t root) { return !all.contains(root); });
      for (const std::uint32_t root : roots) add_use(root, all[root], s, number);
      number += roots.empty() ? 0 : 1;
      for (const LowValue v : steps_[s].writes)
        if (const auto made = results.find(lowered_.root_of(v)); made != results.end())
          all[made->second].open.insert(kNone);
    }
    for (std::size_t n = 0, count = states_.size(); n < count; ++n)
      part(states_[n].old, all[lowered_.root_of(states_[n].old)]);
    for (const auto& [root, value] : made)
      if (Uses& uses = all[root]; goes_out(uses)) part_made(root, uses);
  }

  /// Whether what is made is used again far from there, and each run or turn makes it in one go.
  bool goes_out(const Uses& uses) const {
    return uses.parts.size() > 1 && std::ranges::all_of(uses.parts.front(), [&](StepNumber s) {
             return uses.made->is_sum ? steps_[s].section == steps_[uses.parts.front().front()].section
                                      : steps_[s].guard == Guard::always;
           });
  }

  /// The first part makes it, and puts it, as a whole or range by range; the others get it.
  void part_made(std::uint32_t root, Uses& uses) {
    const Made made = *uses.made;
    lowered_.storages[root].slot = first_slot_ + static_cast<std::uint32_t>(outside_.size());
    lowered_.storages[root].ahead = made.ahead;
    lowered_.storages[root].piece_bytes = lowered_.values[made.value].offloaded_piece;
    outside_.push_back(
        {lowered_.values[made.value].name.str(), lowered_.storages[root].bytes,
         lowered_.storages[root].role == Role::gradient && phase_of(uses.parts.back().back()) == Phase::update});
    std::vector<StepNumber> from;  // behind the part before
    for (const std::vector<StepNumber>& one : uses.parts) from.push_back(one.back() + 1);
    from.pop_back();
    UsedRanges ranges(lowered_, steps_);
    const bool by_range = !made.is_sum && ranges.makes_ranges(made.value, uses.parts.front());
    if (by_range) {
      for (const LowValue range : ranges.split_made(made.value, uses.parts.front())) states_.push_back({range, range});
      uses.parts.erase(uses.parts.begin());
    }
    const std::size_t others = states_.size();
    states_.push_back({made.value, kNone});
    part(made.value, uses);  // from the last but one to the first
    for (std::size_t n = others, part = from.size(); n < states_.size() && part > 0; ++n)
      states_[n].from = from[--part];
    if (by_range) return;
    State& first = states_.back();
    first.next = first.old;
    if (made.is_sum) first.guard = Guard::not_first;
  }

  void add_use(std::uint32_t root, Uses& uses, StepNumber s, std::size_t number) {
    const ProgramStep& step = steps_[s];
    if (uses.open.empty() && !uses.parts.back().empty() && (!uses.made || s > uses.made->last)) {
      const StepNumber last = uses.parts.back().back();
      const bool in_loop = loop_of(s) >= 0 || loop_of(last) >= 0;
      // Behind a loop a call that it began may end: what comes then is no part of what the loop uses.
      const bool leaves = !uses.made && loop_of(s) < 0 &&
                          std::ranges::any_of(uses.parts.back(), [&](StepNumber other) { return loop_of(other) >= 0; });
      const bool enters =
          leaves || (uses.made ? loop_of(s) != loop_of(last) : in_loop && steps_[last].section != step.section);
      const Storage& storage = lowered_.storages[root];
      const bool in_pieces = storage.piece_bytes > 0 && storage.bytes > kFewPieces * storage.piece_bytes &&
                             is_early_update(lowered_, step) != is_early_update(lowered_, steps_[last]);
      const bool to_host = step.on_host != steps_[last].on_host;  // which may then have it in its slot
      if (number - uses.number > uses.ahead + 1 || enters || in_pieces || to_host) uses.parts.emplace_back();
    }
    uses.parts.back().push_back(s);
    uses.number = number;
    if (step.call) uses.open.insert(step.call_number);
    if (step.wait_for != kNone) uses.open.erase(step.wait_for);
  }

  /// All parts but the last, which may be the one that is assigned, have buffers of their own.
  void part(LowValue old, Uses& uses) {
    const std::uint32_t root = lowered_.root_of(old);
    for (uses.parts.pop_back(); !uses.parts.empty(); uses.parts.pop_back()) {
      const std::uint32_t storage = lowered_.add_storage(Storage(lowered_.storages[root]));
      std::map<LowValue, LowValue> changed;
      for (const StepNumber s : uses.parts.back()) use_storage(lowered_, steps_[s], root, storage, 0, changed);
      LoweredValue other = lowered_.values[old];
      other.view.storage = storage;
      states_.push_back({lowered_.add_value(std::move(other)), kNone});
    }
  }

  /// Elementwise updates handle a piece of what lies in the store at a time; those in the backward pass now and then.
  Status split_updates() {
    std::vector<StoredValue> stored;
    for (const State& state : states_) stored.push_back({state.old, state.next});
    UpdatePieces pieces(lowered_, steps_, kernels_, host_);
    BALEEN_TRY(pieces.split(stored));
    std::vector<State> states;
    for (const UpdatePieces::Part& part : pieces.parts()) {
      states.push_back(states_[part.of]);
      states.back().old = part.value.old;
      states.back().next = part.value.next;
      states.back().from = pieces.new_number(states.back().from);
    }
    std::map<std::uint32_t, std::uint32_t> puts;
    for (const State& state : states)
      if (state.next != kNone) puts[lowered_.root_of(state.next)] = lowered_.storage_of(state.old).slot;
    const std::vector<StepNumber> numbers = spread_pieces(lowered_, steps_, puts);
    for (State& state : states)
      if (state.from > 0) state.from = numbers[state.from - 1] + 1;
    states_ = std::move(states);
    return {};
  }

  /// What runs where its states lie needs no buffers for them.
  Status update_in_place() {
    std::vector<StoredValue> stored;
    for (const State& state : states_) stored.push_back({state.old, state.next});
    BALEEN_TRY(on_host_.place(stored, transfers_));
    std::erase_if(states_, [&](const State& state) { return on_host_.is_in_place(state.old); });
    for (State& state : states_) state.from = on_host_.new_end(state.from);
    return {};
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
        if (step.late) is_sent_late_.insert(root);
      };
      for (const LowValue v : step.reads) touch(v, true);
      for (const LowValue v : step.writes) touch(v, false);
    }
    for (State& state : states_) {
      if (!state.first) state.first = state.made;
      state.is_read |= state.guard != Guard::always;
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
    if (is_sent_late_.contains(lowered_.root_of(state.old)))
      return unsupported(
          "`" + lowered_.values[state.old].name +
          "` is offloaded, and a stage of a pipeline sends it to another one in every micro-batch; leave "
          "it out of what is offloaded");
    if (!state.made || state.old == state.next || (loop_of(*state.first) < 0 && loop_of(*state.made) < 0)) return {};
    return unsupported("`" + lowered_.values[state.old].name +
                       "` is offloaded, and a loop over micro-batches assigns it; leave it out of what is offloaded");
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
    // In a loop no further ahead than the section begins: it may not be the one before that runs before it.
    const auto is_near = [&](StepNumber other) {
      return loop_of(other) == loop_of(*state.first) &&
             (loop_of(other) < 0 || steps_[other].section == steps_[*state.first].section);
    };
    std::size_t from = update;
    while (from > 0 && update - from < ahead && is_near(updates_[from - 1])) --from;
    const StepNumber at = update - from < ahead ? section_begin(updates_[from]) : updates_[from];
    lowered_.storages[lowered_.root_of(state.old)].is_got = true;
    StepNumber begin = std::max(at, state.from);
    for (const HostUpdates::Claim& claim : on_host_.claims(lowered_.storage_of(state.old).slot))
      if (claim.from < *state.first) begin = std::max(begin, claim.until + 1);
    add(begin, kGetBegins, state, false);
    add(*state.first, kGetOver, state, false);
    ++transfers_;
  }

  void put(const State& state) {
    auto over =
        updates_.begin() + static_cast<std::ptrdiff_t>(std::min(update_of(state) + kBehind + 1, updates_.size()));
    const bool in_turn = loop_of(*state.made) >= 0;  // and over at its section's end
    while (over != updates_.end() && (*over <= *state.made || (!in_turn && loop_of(*over) >= 0))) ++over;
    add(*state.made, kPutBegins, state, true);
    StepNumber end = in_turn ? *state.made + 1 : steps_.size();
    while (end < steps_.size() && steps_[end].section == steps_[*state.made].section) ++end;
    for (const HostUpdates::Claim& claim : on_host_.claims(lowered_.storage_of(state.old).slot))
      if (claim.from > *state.made) end = std::min(end, claim.from);
    const StepNumber at = over == updates_.end() ? end : std::min(*over, end);
    add(at, in_turn && at == end ? kTurnEnds : kPutOver, state, true);
    ++transfers_;
  }

  void add(StepNumber at, Place place, const State& state, bool is_put) {
    const bool is_behind = at == steps_.size() || place == kTurnEnds;
    ProgramStep step;
    step.op = steps_[is_behind ? *state.made : at].op;
    step.section =
        is_behind && place != kTurnEnds ? lowered_.closing_section() : steps_[is_behind ? *state.made : at].section;
    step.in_place = false;
    if (!is_put) step.guard = state.guard;
    const LowValue value = is_put ? state.next : state.old;
    (place == kGetBegins ? step.writes : step.reads) = {value};
    const bool is_over = place != kGetBegins && place != kPutBegins;
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
  KernelStore& kernels_;
  const HostKernels host_;
  HostUpdates on_host_;
  std::vector<State> states_;
  std::set<std::uint32_t> is_sent_late_;  ///< roots that a call reads which is over in a later micro-batch
  std::vector<StepNumber> updates_;       ///< the steps that use some state first, ascending
  const std::uint32_t first_slot_;
  std::vector<OutsideSlot> outside_;
  std::uint32_t transfers_ = 0;
  std::multimap<std::pair<StepNumber, Place>, ProgramStep> added_;
};

}  // namespace

Result<ScheduledTransfers> schedule_transfers(Lowered& lowered, std::vector<ProgramStep> steps, KernelStore& kernels,
                                              const HostKernels& host, std::uint32_t first_slot) {
  return TransferScheduler(lowered, std::move(steps), kernels, host, first_slot).run();
}

}  // namespace baleen
