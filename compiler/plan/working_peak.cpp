/// \file Reckons what a graph holds at once from its order alone, as codegen's lifetimes do from its programs.
#include <algorithm>
#include <map>

#include "baleen/dtype.hpp"
#include "compiler/layout/piece.hpp"
#include "compiler/placement/passes.hpp"
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// Offsets in arenas are multiples of some such number.
constexpr std::uint64_t kRounding = 64;

/// The positions of the ops of neighbouring sections that are one loop.
struct LoopRange {
  int loop = -1;
  std::int64_t first = 0, last = 0;
};

class PeakFinder {
 public:
  explicit PeakFinder(const ScheduledGraph& scheduled) : graph_(scheduled.graph) {
    for (const Section& section : scheduled.sections) number(section);
  }

  std::uint64_t run() {
    for (const auto& [id, range] : ranges_) {
      for (const ValueId v : graph_.op(id).inputs) touch(v, id);
      for (const ValueId v : graph_.op(id).outputs) touch(v, id);
    }
    lengthen_calls();
    for (const GraphOutput& output : graph_.outputs()) keep(output.value);
    for (const OpId id : updates_)
      for (const ValueId v : graph_.op(id).inputs) keep(v);
    std::map<std::int64_t, double> changes;  // which no sum of bytes leaves
    for (const auto& [v, life] : lives_) {
      const auto bytes = static_cast<double>(bytes_of(v));
      changes[life.first] += bytes;
      changes[life.last + 1] -= bytes;
    }
    double live = 0, most = 0;
    for (const auto& [position, change] : changes) most = std::max(most, live += change);
    return static_cast<std::uint64_t>(std::min(most, 0x1p63));
  }

 private:
  struct Life {
    std::int64_t first = 0, last = 0;
    int loop = -1;  ///< of the first touch
  };

  /// The update is left out: what it holds is not the activations'.
  void number(const Section& section) {
    if (section.phase == Phase::update) {
      updates_.insert(updates_.end(), section.ops.begin(), section.ops.end());
      return;
    }
    if (loops_.empty() || section.loop < 0 || loops_.back().loop != section.loop)
      loops_.push_back({section.loop, next_, next_});
    for (const OpId id : section.ops) {
      positions_[id] = next_;
      in_order_.emplace_back(next_++, id);
      ranges_[id] = loops_.size() - 1;
    }
    loops_.back().last = std::max(loops_.back().first, next_ - 1);
  }

  /// What is used inside and outside of a loop lives through all of it.
  void touch(ValueId v, OpId op) {
    v = root(v);
    if (!counts(v)) return;
    const LoopRange& range = loops_[ranges_.at(op)];
    const std::int64_t position = positions_.at(op);
    const bool is_input = graph_.value(v).role == Role::input;
    const auto [it, is_new] =
        lives_.try_emplace(v, Life{is_input ? 0 : position, position, is_input ? -1 : range.loop});
    Life& life = it->second;
    const bool through = range.loop >= 0 && (life.loop != range.loop);
    if (!is_new && life.loop >= 0 && life.loop != range.loop) through_first(life);
    life.first = std::min(life.first, through ? range.first : position);
    life.last = std::max(life.last, through ? range.last : position);
  }

  /// Collectives begin in the order of their ops, each as soon as its operands are made, and are over where a result is
  /// first read or another one says so: results are there from the one moment on, operands until the other.
  void lengthen_calls() {
    std::map<ValueId, std::int64_t> read;
    std::map<OpId, std::int64_t> over;
    std::map<OpSchedule::Bucket, std::vector<OpId>> buckets;
    std::vector<std::vector<OpId>> calls;
    for (const auto& [position, id] : in_order_) {
      const Op& op = graph_.op(id);
      if (!op.kind->has(kCollective)) {
        for (const ValueId v : op.inputs) read.try_emplace(root(v), position);
        continue;
      }
      for (const OpId other : op.schedule->must_complete_before) over.try_emplace(other, position);
      for (const ValueId v : op.inputs) read.try_emplace(root(v), position);
      if (op.schedule->bucket)
        buckets[*op.schedule->bucket].push_back(id);
      else
        calls.push_back({id});
    }
    for (auto& [number, ops] : buckets) calls.push_back(std::move(ops));
    std::ranges::sort(calls, {}, [&](const std::vector<OpId>& ops) { return positions_.at(ops.back()); });
    std::int64_t begin = 0;
    for (const std::vector<OpId>& ops : calls) {
      begin = std::max(begin, ready(ops));
      std::int64_t end = next_;
      for (const OpId id : ops) {
        if (const auto found = over.find(id); found != over.end()) end = std::min(end, found->second);
        for (const ValueId v : graph_.op(id).outputs)
          if (const auto found = read.find(root(v)); !may_only_send(id) && found != read.end())
            end = std::min(end, found->second);
      }
      for (const OpId id : ops) lengthen(id, begin, end);
    }
  }

  /// Whether some rank gives its operand away and reads no result: it waits for nothing.
  bool may_only_send(OpId id) const {
    const std::string& kind = graph_.op(id).kind->name;
    return kind == "broadcast" || kind == "reduce_to" || kind == "send";
  }

  /// Where the operands are made, or where the call stands if it is to begin there.
  std::int64_t ready(const std::vector<OpId>& ops) const {
    std::int64_t at = 0;
    for (const OpId id : ops) {
      if (graph_.op(id).schedule->begins_here) at = std::max(at, positions_.at(id));
      for (const ValueId v : graph_.op(id).inputs)
        if (const auto found = positions_.find(graph_.value(root(v)).producer); found != positions_.end())
          at = std::max(at, found->second);
    }
    return at;
  }

  /// Within the loop that it stands in.
  void lengthen(OpId id, std::int64_t begin, std::int64_t end) {
    const LoopRange& range = loops_[ranges_.at(id)];
    if (range.loop >= 0) begin = std::max(begin, range.first), end = std::min(end, range.last);
    for (const ValueId v : graph_.op(id).outputs)
      if (const auto found = lives_.find(root(v)); found != lives_.end())
        found->second.first = std::min(found->second.first, begin);
    for (const ValueId v : graph_.op(id).inputs)
      if (const auto found = lives_.find(root(v)); found != lives_.end())
        found->second.last = std::max(found->second.last, end);
  }

  /// Until the end: the update reads it, or the host. What the host writes is there from the beginning.
  void keep(ValueId v) {
    v = root(v);
    if (graph_.value(v).role == Role::scalar) lives_.try_emplace(v, Life{0, next_, -1});
    if (const auto found = lives_.find(v); found != lives_.end()) {
      if (found->second.loop >= 0) through_first(found->second);
      found->second.last = next_;
    }
  }

  void through_first(Life& life) const {
    for (const LoopRange& range : loops_)
      if (range.loop == life.loop) {
        life.first = std::min(life.first, range.first);
        life.last = std::max(life.last, range.last);
      }
    life.loop = -1;
  }

  /// The value whose bytes a view shows.
  ValueId root(ValueId v) const {
    const auto shows = [](const Op& op) {
      return op.kind->name == "after" || (op.kind->has(kView) && op.inputs.size() == 1);
    };
    for (const Op* op = graph_.producer(v); shows(*op); op = graph_.producer(v)) v = op->inputs[0];
    return v;
  }

  bool counts(ValueId v) const {
    const Value& value = graph_.value(v);
    switch (value.role) {
      case Role::parameter:  // a compute copy that is gathered once is the model's too
      case Role::state:
      case Role::scalar:
      case Role::gradient: return false;
      default: return true;
    }
  }

  /// An input is there for all micro-batches at once.
  std::uint64_t bytes_of(ValueId v) const {
    const Value& value = graph_.value(v);
    Layout layout = value.layout;
    const int micro = graph_.mesh().find(kMicroAxis);
    if (micro >= 0 && value.role == Role::input && !layout.empty())
      layout[static_cast<std::size_t>(micro)] = Placement::replicate();
    const Shape local = layout.empty() ? value.shape : local_shape(value.shape, layout, graph_.mesh());
    const std::uint64_t bytes = static_cast<std::uint64_t>(element_count(local)) * dtype_size(value.dtype);
    return (bytes + kRounding - 1) / kRounding * kRounding;
  }

  const Graph& graph_;
  std::int64_t next_ = 1;
  std::vector<LoopRange> loops_;
  std::vector<std::pair<std::int64_t, OpId>> in_order_;
  std::map<OpId, std::int64_t> positions_;
  std::map<OpId, std::size_t> ranges_;  ///< which of the loops
  std::vector<OpId> updates_;
  std::map<ValueId, Life> lives_;
};

}  // namespace

std::uint64_t working_peak(const ScheduledGraph& scheduled) { return PeakFinder(scheduled).run(); }

}  // namespace baleen
