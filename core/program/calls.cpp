/// \file Collectives as calls of the transport: their arguments, their order, where they begin and where they are over.
#include <algorithm>
#include <map>
#include <set>

#include "core/program/passes.hpp"

namespace baleen {
CollectiveCall call_of(const Lowered& lowered, const LoweredOp& op) {
  CollectiveCall call;
  const Wire& wire = *op.wire;
  call.op = wire.op;
  call.reduction = wire.reduction;
  call.root = wire.root;
  for (int axis : wire.axes) call.axes.push_back(lowered.mesh.axes[static_cast<std::size_t>(axis)].name);
  call.destinations = wire.destinations;
  call.where = op.op.where.empty() ? op.op.name : op.op.where + " (" + op.op.name + ")";
  if (auto tag = op.op.tags.find("bucket"); tag != op.op.tags.end()) call.bucket = tag->second;
  const LowValue x = op.op.inputs.empty() ? kNone : op.op.inputs[0];
  const LowValue y = op.op.outputs.empty() ? kNone : op.op.outputs[0];
  call.dtype = lowered.values[x == kNone ? y : x].dtype;
  call.entries = {{x, y, wire.count, wire.block, wire.sends, wire.receives}};
  return call;
}

namespace {

/// Which collective ops run as one call, in the order in which the calls begin: that of the ops, so that it is the same
/// on all ranks whatever kernels they have. A bucket stands where its last member stands, or where a member's result is
/// first needed.
class CallOrder {
 public:
  explicit CallOrder(const Lowered& lowered) : lowered_(lowered) {
    for (const LoweredSection& section : lowered.sections)
      for (LowOp op : section.ops)
        if (const auto bucket = bucket_of(op)) ++open_[*bucket];
  }

  std::vector<std::vector<LowOp>> run() {
    for (const LoweredSection& section : lowered_.sections)
      for (LowOp number : section.ops) visit(number);
    return std::move(calls_);
  }

 private:
  std::optional<std::string> bucket_of(LowOp number) const {
    const LoweredOp& op = lowered_.ops[number];
    if (op.means != Means::collective) return std::nullopt;
    const auto tag = op.op.tags.find("bucket");
    return tag == op.op.tags.end() ? std::nullopt : std::optional(tag->second);
  }

  void visit(LowOp number) {
    for (LowValue v : lowered_.ops[number].op.inputs)
      if (auto made = bucket_making_.find(v); made != bucket_making_.end()) close(made->second);
    if (lowered_.ops[number].means != Means::collective) return;
    const auto bucket = bucket_of(number);
    if (!bucket) {
      calls_.push_back({number});
      return;
    }
    waiting_[*bucket].push_back(number);
    for (LowValue v : lowered_.ops[number].op.outputs) bucket_making_[v] = *bucket;
    if (--open_[*bucket] == 0) close(*bucket);
  }

  void close(const std::string& bucket) {
    if (auto members = std::exchange(waiting_[bucket], {}); !members.empty()) calls_.push_back(std::move(members));
  }

  const Lowered& lowered_;
  std::map<std::string, std::size_t> open_;  ///< members still to come
  std::map<std::string, std::vector<LowOp>> waiting_;
  std::map<LowValue, std::string> bucket_making_;
  std::vector<std::vector<LowOp>> calls_;
};

/// Weaves the calls into the steps.
class CallScheduler {
 public:
  CallScheduler(Lowered& lowered, std::vector<ProgramStep> steps)
      : lowered_(lowered), steps_(std::move(steps)), users_(lowered.users()) {}

  Result<std::vector<ProgramStep>> run() {
    collect();
    for (ProgramStep& step : steps_) {
      if (step.call) continue;
      enter(step.section);
      for (LowValue v : step.reads) BALEEN_TRY(finish(v, step.section));
      const std::vector<LowValue> writes = step.writes;
      result_.push_back(std::move(step));
      made(writes);
      begin_ready();
    }
    for (std::uint32_t section = section_; section < lowered_.sections.size(); ++section) enter(section);
    if (next_ != calls_.size()) return internal("a collective never begins");
    for (std::uint32_t number = 0; number < calls_.size(); ++number)
      if (!calls_[number].over) finish_call(number, lowered_.closing_section());
    return std::move(result_);
  }

 private:
  struct Call {
    std::vector<std::size_t> members;  ///< in steps_
    std::set<LowValue> missing;        ///< what its inputs still wait for
    std::vector<LowValue> reads, writes;
    OpId op = kNone;
    int loop = -1;  ///< in which it begins
    bool each_micro = false;
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
    for (LowValue input : only_begun ? std::vector{op.inputs[0]} : op.inputs) sources_of(input, found);
  }

  void collect() {
    std::map<OpId, std::size_t> step_of;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      written_.insert(steps_[s].writes.begin(), steps_[s].writes.end());
      if (steps_[s].call) step_of[steps_[s].op] = s;
    }
    for (const std::vector<LowOp>& ops : CallOrder(lowered_).run()) {
      Call call;
      for (LowOp op : ops) {
        const ProgramStep& step = steps_[step_of.at(op)];
        call.members.push_back(step_of.at(op));
        for (LowValue v : step.reads) sources_of(v, call.missing);
        for (LowValue v : step.writes) maker_[v] = static_cast<std::uint32_t>(calls_.size());
        call.reads.insert(call.reads.end(), step.reads.begin(), step.reads.end());
        call.writes.insert(call.writes.end(), step.writes.begin(), step.writes.end());
      }
      for (LowValue v : call.missing) wanting_[v].push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.push_back(std::move(call));
    }
  }

  /// What begins in each micro-batch is over in it.
  void enter(std::uint32_t section) {
    if (section != section_ && loop_of(section) != loop_of(section_))
      for (std::uint32_t number = 0; number < next_; ++number)
        if (!calls_[number].over && calls_[number].each_micro) finish_call(number, section_);
    section_ = section;
    entering_ = true;
    begin_ready();
    entering_ = false;
  }

  void made(const std::vector<LowValue>& values) {
    for (LowValue v : values)
      for (std::uint32_t call : wanting_[v]) calls_[call].missing.erase(v);
  }

  /// The next calls, as long as all that they read is made. A call of each micro-batch begins in its own loop, though a
  /// rank that only receives could begin it before.
  void begin_ready() {
    while (next_ < calls_.size() && inputs_made(calls_[next_]) && in_place(calls_[next_])) begin(next_++);
  }

  bool in_place(const Call& call) const {
    const int own = loop_of(steps_[call.members[0]].section);
    return own < 0 || own == loop_of(section_);
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
    const int own = loop_of(start.section);
    start.section = section_;
    for (LowValue v : std::set(call.missing))
      if (maker_.contains(v)) finish_call(maker_.at(v), start.section);
    start.reads = call.reads;
    start.writes = call.writes;
    for (const CallEntry& entry : start.call->entries) share(*start.call, entry);
    call.loop = loop_of(start.section);
    call.op = start.op;
    call.each_micro = own >= 0;
    if (call.loop >= 0 && own < 0)  // it begins in a loop that its op does not stand in
      start.guard = entering_ ? Guard::first : Guard::last;
    start.call_number = number;
    result_.push_back(std::move(start));
  }

  /// An all-reduce whose input nobody else reads works in place.
  void share(const CollectiveCall& call, const CallEntry& entry) {
    if (call.op != BALEEN_ALL_REDUCE) return;
    const std::uint32_t from = lowered_.root_of(entry.output), to = lowered_.root_of(entry.input);
    const LoweredValue& x = lowered_.values[entry.input];
    const bool alone = users_[entry.input].size() == 1 && !x.is_output && written_.contains(entry.input) &&
                       lowered_.storages[to].kind == Storage::Kind::work && lowered_.fills_storage(entry.input) &&
                       lowered_.storages[from].kind == Storage::Kind::work &&
                       lowered_.storages[from].bytes == lowered_.storages[to].bytes;
    if (alone && from != to) lowered_.storages[from].merged_into = to;
  }

  /// Sees to it that `v` is there before a reader in `section`.
  Status finish(LowValue v, std::uint32_t section) {
    std::set<LowValue> sources;
    sources_of(v, sources);
    for (LowValue source : sources) {
      const auto maker = maker_.find(source);
      if (maker == maker_.end()) continue;
      if (maker->second >= next_)
        return internal("the collective of `" + lowered_.values[source].name + "` is needed before it can begin");
      finish_call(maker->second, section);
    }
    return {};
  }

  void finish_call(std::uint32_t number, std::uint32_t section) {
    Call& call = calls_[number];
    if (call.over) return;
    call.over = true;
    ProgramStep wait;
    wait.op = call.op;
    wait.section = section;
    wait.in_place = false;
    wait.reads = call.reads;
    wait.reads.insert(wait.reads.end(), call.writes.begin(), call.writes.end());
    wait.wait_for = number;
    if (loop_of(section) >= 0 && loop_of(section) != call.loop) wait.guard = Guard::first;
    result_.push_back(std::move(wait));
    made(call.writes);
  }

  Lowered& lowered_;
  std::vector<ProgramStep> steps_, result_;
  std::vector<std::vector<LowOp>> users_;
  std::set<LowValue> written_;  ///< by steps
  std::vector<Call> calls_;
  std::uint32_t next_ = 0;                                  ///< the first that has not begun
  std::uint32_t section_ = 0;                               ///< in which the next step stands
  bool entering_ = false;                                   ///< it is the first of its section
  std::map<LowValue, std::uint32_t> maker_;                 ///< calls by their results
  std::map<LowValue, std::vector<std::uint32_t>> wanting_;  ///< calls by what their inputs wait for
};

}  // namespace

Result<std::vector<ProgramStep>> schedule_calls(Lowered& lowered, std::vector<ProgramStep> steps) {
  if (std::none_of(steps.begin(), steps.end(), [](const ProgramStep& s) { return s.call.has_value(); })) return steps;
  return CallScheduler(lowered, std::move(steps)).run();
}

}  // namespace baleen
