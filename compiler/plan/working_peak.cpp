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
    std::map<std::int64_t, std::int64_t> changes;
    for (const auto& [v, life] : lives_) {
      const auto bytes = static_cast<std::int64_t>(bytes_of(v));
      changes[life.first] += bytes;
      changes[life.last + 1] -= bytes;
    }
    std::int64_t live = 0, most = 0;
    for (const auto& [position, change] : changes) most = std::max(most, live += change);
    return static_cast<std::uint64_t>(most);
  }

 private:
  struct Life {
    std::int64_t first = 0, last = 0;
    int loop = -1;  ///< of the first touch
  };

  /// The update is left out: what it holds is not the activations'.
  void number(const Section& section) {
    if (section.phase == Phase::update) return;
    if (loops_.empty() || section.loop < 0 || loops_.back().loop != section.loop)
      loops_.push_back({section.loop, next_, next_});
    for (const OpId id : section.ops) {
      positions_[id] = next_++;
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
    for (const Op* op = graph_.producer(v); op->kind->has(kView) && op->inputs.size() == 1; op = graph_.producer(v))
      v = op->inputs[0];
    return v;
  }

  bool counts(ValueId v) const {
    const Value& value = graph_.value(v);
    switch (value.role) {
      case Role::parameter: return graph_.producer(v)->kind->has(kCollective);
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
  std::map<OpId, std::int64_t> positions_;
  std::map<OpId, std::size_t> ranges_;  ///< which of the loops
  std::map<ValueId, Life> lives_;
};

}  // namespace

std::uint64_t working_peak(const ScheduledGraph& scheduled) { return PeakFinder(scheduled).run(); }

}  // namespace baleen
