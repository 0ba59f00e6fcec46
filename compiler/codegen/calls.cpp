/// \file Where calls of the transport begin and where they are over.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// Weaves the calls into the steps.
class CallScheduler {
 public:
  CallScheduler(Lowered& lowered, std::vector<ProgramStep> steps)
      : lowered_(lowered), steps_(std::move(steps)), users_(lowered.users()) {
    for (const LoweredAssign& assign : lowered.assigns) assigned_.insert(assign.value);
  }

  Result<std::vector<ProgramStep>> run() {
    collect();
    begin_ready();
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      ProgramStep& step = steps_[s];
      if (step.call) continue;
      enter(step);
      begin_ready();
      if (!added_.insert(s).second) continue;
      for (LowValue v : step.reads) BALEEN_TRY(finish(v));
      for (LowValue v : step.writes) BALEEN_TRY(finish_readers(v));
      const std::vector<LowValue> writes = step.writes;
      result_.push_back(std::move(step));
      made(writes);
      begin_ready();
    }
    enter_section(static_cast<std::uint32_t>(lowered_.sections.size()) - 1);
    leave_section();
    if (next_ != calls_.size()) return internal("a collective never begins");
    section_ = lowered_.closing_section();
    finish_sent();
    for (std::uint32_t number = 0; number < calls_.size(); ++number) finish_call(number);
    number_by_turns();
    return std::move(result_);
  }

 private:
  struct Call {
    std::vector<std::size_t> members;  ///< in steps_
    std::set<LowValue> missing;        ///< what its inputs still wait for
    std::vector<LowValue> reads, writes;
    std::vector<OpId> overs;  ///< collectives of the graph that are over when this begins
    OpId op = kNone;
    std::size_t place = 0;                 ///< of its last op in the order of ops
    std::optional<std::size_t> turn = {};  ///< to be prepared, where that is not the order of beginning
    bool sends = false;                    ///< to one rank, not along a group
    bool across = false;                   ///< along the axis of a pipeline
    bool waits = false;                    ///< begins in its place, no sooner
    std::uint32_t section = 0;             ///< of its ops
    int own_loop = -1;                     ///< in which its ops stand
    int ready_loop = -1;                   ///< in which the last of its inputs is made
    std::size_t ready_turn = 0;            ///< of a pipeline schedule: when the last of its inputs is made for good
    int loop = -1;                         ///< in which it begins
    Guard guard = Guard::always;           ///< of its beginning
    bool over = false;
  };

  int loop_of(std::uint32_t section) const { return lowered_.sections[section].loop; }

  /// The values whose bytes `v` shows: what some step writes.
  void sources_of(LowValue v, std::set<LowValue>& found) const {
    if (written_.contains(v)) {
      found.insert(v);
      return;
    }
    const LowOp producer = lowered_.values[v].producer;
    if (producer == kNone) return;
    const Op& op = lowered_.ops[producer].op;
    const bool only_begun = op.attributes.has("begun") && op.attributes.integer("begun") != 0;
    for (LowValue input : only_begun ? Ids{op.inputs[0]} : op.inputs) sources_of(input, found);
  }

  void collect() {
    std::map<OpId, std::size_t> step_of;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      written_.insert(steps_[s].writes.begin(), steps_[s].writes.end());
      if (steps_[s].call) step_of[steps_[s].op] = s;
    }
    std::size_t place = 0;
    for (const LoweredSection& section : lowered_.sections)
      for (LowOp op : section.ops) place_[op] = ++place;
    for (const std::vector<LowOp>& ops : order_calls(lowered_)) {
      Call call;
      for (LowOp op : ops) {
        call.place = std::max(call.place, place_.at(op));
        call_of_[lowered_.ops[op].op.id] = static_cast<std::uint32_t>(calls_.size());
        const std::vector<OpId>& overs = lowered_.ops[op].op.schedule->must_complete_before;
        call.overs.insert(call.overs.end(), overs.begin(), overs.end());
        call.waits |= lowered_.ops[op].op.schedule->begins_here;
        call.turn = lowered_.ops[op].turn;
        call.section = lowered_.ops[op].section;
        call.own_loop = loop_of(call.section);
        const ProgramStep& step = steps_[step_of.at(op)];
        call.members.push_back(step_of.at(op));
        call.sends |= step.call->op == BALEEN_SEND;
        call.across |= std::ranges::count(step.call->axes, lowered_.pipeline.axis) > 0;
        for (LowValue v : step.reads) {
          std::set<LowValue> sources;
          sources_of(v, sources);
          if (sources.empty() && lowered_.storage_of(v).is_stored())
            readers_[lowered_.root_of(v)].push_back(static_cast<std::uint32_t>(calls_.size()));
          call.missing.insert(sources.begin(), sources.end());
        }
        for (LowValue v : step.writes) maker_[v] = static_cast<std::uint32_t>(calls_.size());
        call.reads.insert(call.reads.end(), step.reads.begin(), step.reads.end());
        call.writes.insert(call.writes.end(), step.writes.begin(), step.writes.end());
      }
      if (call.sends) sent_turn_ = std::max(sent_turn_, last_turn(call.section));
      for (LowValue v : call.missing) wanting_[v].push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.push_back(std::move(call));
    }
    find_sums();
  }

  /// Sums over micro-batches of what calls make.
  void find_sums() {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].call || lowered_.ops[steps_[s].op].means != LoweringKind::accumulate) continue;
      std::set<LowValue> sources;
      sources_of(steps_[s].reads[0], sources);
      const auto maker = sources.size() == 1 ? maker_.find(*sources.begin()) : maker_.end();
      if (maker != maker_.end()) sums_[maker->second].push_back(s);
    }
  }

  /// The next step is `step`.
  void enter(const ProgramStep& step) {
    enter_section(step.section);
    if (auto place = place_.find(step.op); place != place_.end()) reached_ = std::max(reached_, place->second);
  }

  /// Some of those before it may have nothing but calls.
  void enter_section(std::uint32_t section) {
    while (section_ < section) {
      leave_section();
      if (loop_of(section_ + 1) != loop_of(section_)) late_in_loop_ = false;
      ++section_;
      if (loop_of(section_) != loop_of(section_ - 1)) finish_sent();
      section_begin_ = result_.size();
      if (section_ < section) begin_section();
    }
  }

  void begin_section() {
    for (LowOp op : lowered_.sections[section_].ops) reached_ = std::max(reached_, place_.at(op));
    begin_ready();
  }

  /// A call that starts in a micro-batch is waited for in the same one. Exception: if a strategy reordered the
  /// micro-batches, a call that only sends is waited for when its memory is needed for another micro-batch, and behind
  /// the loop. Its receiver may first wait for something that this rank has yet to do.
  void leave_section() {
    begin_section();
    const int next = section_ + 1 < lowered_.sections.size() ? loop_of(section_ + 1) : -1;
    if (next == loop_of(section_) && (!lowered_.in_pipeline(section_) || lowered_.sections[section_].ahead)) return;
    for (std::uint32_t number : std::exchange(open_in_loop_, {})) {
      if (lowered_.in_pipeline(section_) && calls_[number].writes.empty() && !shares_fetched(calls_[number]))
        finish_late(number);
      else
        finish_call(number);
    }
  }

  /// What is fetched from an offload store is there for its section alone. Who shares it with ranks of its own stage
  /// need not wait for long: these do the same at the same time.
  bool shares_fetched(const Call& call) const {
    return !call.sends && std::ranges::any_of(call.reads, [&](LowValue v) {
      return lowered_.storage_of(v).kind == Storage::Kind::offloaded;
    });
  }

  void finish_late(std::uint32_t number) {
    ProgramStep wait = wait_of(number);
    wait.late = true;
    result_.insert(result_.begin() + static_cast<std::ptrdiff_t>(section_begin_), std::move(wait));
    sent_.push_back(number);
  }

  /// The loop is over, and with it what was sent there.
  void finish_sent() {
    for (const std::uint32_t number : std::exchange(sent_, {})) {
      calls_[number].over = true;
      ProgramStep wait = wait_of(number);
      wait.guard = loop_of(section_) >= 0 ? Guard::first : Guard::always;
      wait.late = true;
      result_.push_back(std::move(wait));
    }
  }

  void made(const std::vector<LowValue>& values) {
    for (LowValue v : values)
      for (std::uint32_t call : wanting_[v]) {
        calls_[call].missing.erase(v);
        calls_[call].ready_loop = loop_of(section_);
        calls_[call].ready_turn = std::max(calls_[call].ready_turn, last_turn(section_));
      }
  }

  /// The next calls, as long as all that they read is made and their place is come.
  void begin_ready() {
    while (next_ < calls_.size() && inputs_made(calls_[next_]) && in_place(calls_[next_])) begin(next_++);
  }

  /// A call of a loop begins in it, any other as soon as it can if it may.
  bool in_place(const Call& call) const {
    if (call.waits && reached_ < call.place) return false;
    if (lowered_.pipeline.loop >= 0 && call.own_loop == lowered_.pipeline.loop) return section_ == call.section;
    return may_visit(call) && (call.own_loop < 0 || loop_of(section_) == call.own_loop);
  }

  /// A pipeline schedule may run this section for the last time before an earlier one: what is added up there, and
  /// calls that begin there, would come too late for a call that begins here. Nor may a call along the axis hold up
  /// what this rank has yet to send: others come to that call when they have it.
  bool may_visit(const Call& call) const {
    if (!lowered_.in_pipeline(section_) || call.own_loop >= 0) return true;
    const std::size_t sent_turn = call.across ? sent_turn_ : 0;
    return last_turn(section_) >= std::max({call.ready_turn, visited_turn_, sent_turn});
  }

  /// The number, from 1, of the last action of a pipeline schedule that runs a section; 0: none does.
  std::size_t last_turn(std::uint32_t section) const {
    if (!lowered_.in_pipeline(section)) return 0;
    const auto& actions = lowered_.pipeline.actions;
    for (std::size_t turn = actions.size(); turn > 0; --turn)
      if (actions[turn - 1].section == section) return turn;
    return 0;
  }

  /// An input that an earlier call makes is made when that call has begun: it is waited for right before.
  bool inputs_made(const Call& call) const {
    return std::all_of(call.missing.begin(), call.missing.end(), [&](LowValue v) {
      const auto maker = maker_.find(v);
      return maker != maker_.end() && maker->second < next_;
    });
  }

  void begin(std::uint32_t number) {
    Call& call = calls_[number];
    ProgramStep start = std::move(steps_[call.members[0]]);
    for (std::size_t i = 1; i < call.members.size(); ++i)
      start.call->entries.push_back(steps_[call.members[i]].call->entries[0]);
    start.section = section_;
    for (const OpId op : call.overs)
      if (const auto other = call_of_.find(op); other != call_of_.end() && other->second < number)
        finish_call(other->second);
    for (LowValue v : std::set(call.missing))
      if (maker_.contains(v)) finish_call(maker_.at(v));
    start.reads = call.reads;
    start.writes = call.writes;
    for (const auto& entry : start.call->entries) share(*start.call, entry);
    call.loop = loop_of(section_);
    call.op = start.op;
    const bool visits = call.loop >= 0 && call.loop != call.own_loop;  // a loop that its op does not stand in
    // In the last micro-batch, unless nothing of the loop stands before it: ranks must begin their calls in one order.
    late_in_loop_ |= call.loop >= 0 && (!visits || call.ready_loop == call.loop);
    if (visits) start.guard = late_in_loop_ ? Guard::last : Guard::first;
    if (visits) visited_turn_ = std::max(visited_turn_, last_turn(section_));
    call.guard = start.guard;
    start.call_number = number;
    result_.push_back(std::move(start));
    if (call.loop >= 0 && !visits) open_in_loop_.push_back(number);
  }

  /// What a step writes that `v` shows all of, and nobody else reads; kNone where there is no such value.
  LowValue alone(LowValue v) const {
    while (users_[v].size() == 1 && !lowered_.values[v].is_output && !assigned_.contains(v) &&
           lowered_.fills_storage(v)) {
      if (written_.contains(v)) return v;
      const LowOp producer = lowered_.values[v].producer;
      if (producer == kNone || lowered_.ops[producer].means != LoweringKind::view) break;
      if (lowered_.ops[producer].op.inputs.size() != 1) break;
      v = lowered_.ops[producer].op.inputs[0];
    }
    return kNone;
  }

  /// An all-reduce whose input nobody else reads works in place.
  void share(const LoweredCall& call, const EntryOf<LowValue>& entry) {
    if (call.op != BALEEN_ALL_REDUCE || entry.output == kNone) return;
    const std::uint32_t from = lowered_.root_of(entry.output), to = lowered_.root_of(entry.input);
    const bool fits = lowered_.storages[to].kind == Storage::Kind::work &&
                      lowered_.storages[from].kind == Storage::Kind::work &&
                      lowered_.storages[from].bytes == lowered_.storages[to].bytes;
    if (fits && from != to && alone(entry.input) != kNone) lowered_.storages[from].merged_into = to;
  }

  /// Sees to it that `v` is there before a reader.
  Status finish(LowValue v) {
    std::set<LowValue> sources;
    sources_of(v, sources);
    for (LowValue source : sources) {
      if (const auto maker = maker_.find(source); maker != maker_.end())
        BALEEN_TRY(begin_and_finish(maker->second, source));
    }
    return {};
  }

  /// Sees to it that what reads the old value of a parameter or state is over before `v` is written in its place.
  Status finish_readers(LowValue v) {
    const auto readers = readers_.find(lowered_.root_of(v));
    if (readers == readers_.end()) return {};
    for (const std::uint32_t call : readers->second) BALEEN_TRY(begin_and_finish(call, v));
    readers_.erase(readers);
    return {};
  }

  Status begin_and_finish(std::uint32_t call, LowValue value) {
    while (call >= next_) {
      if (!inputs_made(calls_[next_]) || !may_visit(calls_[next_]))
        return internal("the collective of `" + lowered_.values[value].name + "` is needed before call " +
                        std::to_string(next_ + 1) + " of " + std::to_string(calls_.size()) + " can begin");
      begin(next_++);
    }
    finish_call(call);
    return {};
  }

  void finish_call(std::uint32_t number) {
    Call& call = calls_[number];
    if (call.over) return;
    call.over = true;
    ProgramStep wait = wait_of(number);
    if (loop_of(section_) >= 0) wait.guard = loop_of(section_) == call.loop ? call.guard : Guard::first;
    result_.push_back(std::move(wait));
    made(call.writes);
    add_up(number);
  }

  /// What a call has made is added up as soon as it is over, and is not held until the loop's turn ends.
  void add_up(std::uint32_t number) {
    for (const std::size_t s : sums_[number]) {
      if (steps_[s].section != section_ || !added_.insert(s).second) continue;
      const std::vector<LowValue> writes = steps_[s].writes;
      result_.push_back(std::move(steps_[s]));
      made(writes);
    }
  }

  /// Where calls begin elsewhere than on other ranks: prepared they are in the order of all.
  void number_by_turns() {
    if (std::ranges::none_of(calls_, [](const Call& call) { return call.turn.has_value(); })) return;
    std::vector<std::uint32_t> by_turn(calls_.size()), numbers(calls_.size());
    std::iota(by_turn.begin(), by_turn.end(), 0u);
    std::ranges::stable_sort(by_turn, {}, [&](std::uint32_t call) { return calls_[call].turn.value_or(call); });
    for (std::uint32_t place = 0; place < by_turn.size(); ++place) numbers[by_turn[place]] = place;
    for (ProgramStep& step : result_) {
      if (step.call_number != kNone) step.call_number = numbers[step.call_number];
      if (step.wait_for != kNone) step.wait_for = numbers[step.wait_for];
    }
  }

  ProgramStep wait_of(std::uint32_t number) const {
    const Call& call = calls_[number];
    ProgramStep wait;
    wait.op = call.op;
    wait.section = section_;
    wait.in_place = false;
    wait.reads = call.reads;
    wait.reads.insert(wait.reads.end(), call.writes.begin(), call.writes.end());
    wait.wait_for = number;
    return wait;
  }

  Lowered& lowered_;
  std::vector<ProgramStep> steps_, result_;
  std::vector<std::vector<LowOp>> users_;
  std::set<LowValue> assigned_;            ///< to parameters and states
  std::set<LowValue> written_;             ///< by steps
  std::map<OpId, std::uint32_t> call_of_;  ///< by the collective's number in the graph
  std::map<LowOp, std::size_t> place_;     ///< in the order of ops
  std::uint32_t section_ = 0;              ///< where steps are appended
  std::size_t reached_ = 0;                ///< the place of the step that comes next
  bool late_in_loop_ = false;              ///< a call has begun in the loop that runs beyond its first micro-batch
  std::size_t visited_turn_ = 0;           ///< the latest `last_turn` of a section that a call visits
  std::size_t sent_turn_ = 0;              ///< the latest `last_turn` of a section that sends to another coordinate
  std::size_t section_begin_ = 0;          ///< the first step of the section, in result_
  std::vector<std::uint32_t> open_in_loop_;
  std::vector<std::uint32_t> sent_;  ///< calls that are waited for late
  std::vector<Call> calls_;
  std::map<std::uint32_t, std::vector<std::size_t>> sums_;       ///< steps that add up what a call makes, by its number
  std::set<std::size_t> added_;                                  ///< steps that are in result_, but for calls
  std::uint32_t next_ = 0;                                       ///< the first that has not begun
  std::map<LowValue, std::uint32_t> maker_;                      ///< calls by their results
  std::map<std::uint32_t, std::vector<std::uint32_t>> readers_;  ///< calls that read the old value of a storage
  std::map<LowValue, std::vector<std::uint32_t>> wanting_;       ///< calls by what their inputs wait for
};

}  // namespace

Result<std::vector<ProgramStep>> schedule_calls(Lowered& lowered, std::vector<ProgramStep> steps) {
  if (std::none_of(steps.begin(), steps.end(), [](const ProgramStep& s) { return s.call.has_value(); })) return steps;
  return CallScheduler(lowered, std::move(steps)).run();
}

}  // namespace baleen
