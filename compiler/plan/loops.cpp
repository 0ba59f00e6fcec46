/// \file Finds the loop of every op and orders the ops in sections.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

constexpr int kUnset = std::numeric_limits<int>::max();
constexpr int kOnce = -1;  ///< in place of a loop's number

/// Finds for every op the loop it runs in, or between which loops it runs once.
///
/// Position r of an op that runs once means: before loop r. A value that is accumulated in loop r is there from
/// position r + 1 on.
class LoopScheduler {
 public:
  explicit LoopScheduler(Graph& graph) : graph_(graph), micro_(graph.mesh().find(kMicroAxis)) {}

  Status run() {
    BALEEN_TRY(find_each());
    find_earliest();
    find_latest();
    if (micro_ >= 0) {
      reduce_before_loops();
      BALEEN_TRY(merge_alike());
      mark_copies();
    }
    return split_shared();
  }

  bool in_loop(OpId id) const { return per_micro(graph_.op(id)); }
  int position(OpId id) const { return latest_[id]; }
  int loops() const { return last_ + 1; }

 private:
  bool cut(ValueId v) const {
    const Layout& layout = graph_.value(v).layout;
    return micro_ >= 0 && !layout.empty() && !layout[static_cast<std::size_t>(micro_)].is_replicate();
  }
  bool per_micro(const Op& op) const {
    if (op.inputs.empty() && op.kind->has(kStructural)) return false;
    if (each_.contains(op.id)) return true;
    return is_cut(op);
  }
  bool is_cut(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return cut(v); }) ||
           std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return cut(v); });
  }
  bool accumulates(const Op& op) const { return op.kind->name == "accumulate_micro"; }

  /// What strategies want in every micro-batch, and what is computed from it alone, as far as a loop needs it. What
  /// needs it behind the loops, as the gradient of a loss's own term of a parameter does, runs once, and so does all
  /// before it.
  Status find_each() {
    if (micro_ < 0) return {};
    std::set<OpId> could;
    const auto is_each = [&](ValueId v) { return could.contains(graph_.value(v).producer); };
    const std::vector<OpId> order = graph_.ops();
    for (OpId id : order) {
      const Op& op = graph_.op(id);
      if (is_cut(op)) continue;
      if (op.schedule->every_micro_batch || std::any_of(op.inputs.begin(), op.inputs.end(), is_each)) could.insert(id);
    }
    bool copied = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!could.contains(*it)) continue;
      const std::set<OpId> users = users_of(*it);
      const auto loops = [&](OpId user) { return each_.contains(user) || is_cut(graph_.op(user)); };
      if (std::ranges::none_of(users, loops)) continue;
      each_.insert(*it);
      if (std::ranges::all_of(users, loops)) continue;
      BALEEN_TRY(clone_for(*it, kOnce, [&](OpId user) { return !loops(user); }));
      copied = true;
    }
    return copied ? graph_.order_by_need(order) : Status{};
  }

  std::set<OpId> users_of(OpId id) const {
    std::set<OpId> users;
    for (ValueId v : graph_.op(id).outputs) users.insert(graph_.value(v).users.begin(), graph_.value(v).users.end());
    return users;
  }

  void find_earliest() {
    std::vector<int> there(graph_.value_count(), 0);
    earliest_.assign(graph_.op_count(), 0);
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      int& earliest = earliest_[id];
      for (ValueId v : op.inputs) earliest = std::max(earliest, there[v]);
      if (per_micro(op)) last_ = std::max(last_, earliest);
      for (ValueId v : op.outputs) there[v] = earliest + (accumulates(op) ? 1 : 0);
    }
  }

  void find_latest() {
    latest_.assign(graph_.op_count(), kUnset);
    const std::vector<OpId> order = graph_.ops();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Op& op = graph_.op(*it);
      int latest = kUnset;
      for (ValueId v : op.outputs)
        for (OpId user : graph_.value(v).users) latest = std::min(latest, latest_[user] - (accumulates(op) ? 1 : 0));
      if (latest == kUnset) latest = per_micro(op) ? last_ : last_ + 1;
      latest_[*it] = per_micro(op) ? std::min(latest, last_) : latest;
    }
  }

  /// A number that is reduced from what only ops before a loop read besides is reduced there too, although nobody needs
  /// it so soon: what it is reduced from is not kept through the loop.
  void reduce_before_loops() {
    for (OpId id : graph_.ops()) {
      if (in_loop(id) || graph_.op(id).kind->has(kCollective)) continue;
      std::vector<OpId> chain{id};
      std::optional<ValueId> large = larger_input(id);
      if (!large || elements(graph_.op(id).outputs[0]) > 1) continue;
      while (large && is_alone(*large, chain.back())) {
        chain.push_back(graph_.value(*large).producer);
        large = larger_input(chain.back());
      }
      if (!large) continue;
      const int last = last_use(*large, chain.back());
      const auto is_late = [&](OpId op) { return latest_[op] > last && earliest_[op] <= last; };
      if (last > last_ || !std::ranges::all_of(chain, is_late)) continue;
      for (OpId op : chain) latest_[op] = last;
    }
  }

  std::int64_t elements(ValueId v) const { return element_count(graph_.value(v).shape); }

  /// The one input of an op that is no single number; nothing where it has none or several, or is of every rank.
  std::optional<ValueId> larger_input(OpId id) const {
    std::optional<ValueId> large;
    for (ValueId v : graph_.op(id).inputs) {
      if (elements(v) <= 1) continue;
      if (large) return std::nullopt;
      large = v;
    }
    return large;
  }

  /// Whether a pointwise op that runs once makes it, for `user` alone.
  bool is_alone(ValueId v, OpId user) const {
    const Op& maker = graph_.op(graph_.value(v).producer);
    return maker.kind->has(kPointwise) && !maker.inputs.empty() && maker.outputs.size() == 1 && !in_loop(maker.id) &&
           graph_.value(v).users == Ids{user};
  }

  /// Before which loop others than `user` read `v` last; kUnset where a loop does, or nobody, or it is there anyway.
  int last_use(ValueId v, OpId user) const {
    const Op* maker = graph_.producer(v);
    if (!maker || maker->inputs.empty()) return kUnset;
    int last = -1;
    for (OpId other : graph_.value(v).users)
      if (other != user) last = in_loop(other) ? kUnset : std::max(last, latest_[other]);
    return last < 0 ? kUnset : last;
  }

  /// What two passes compute alike before a loop, of what is there before, is kept for both: it is computed once.
  Status merge_alike() {
    std::map<std::pair<const OpKind*, std::vector<ValueId>>, std::vector<OpId>> seen;
    bool merged = false;
    for (OpId id : graph_.ops()) {
      const Op op = graph_.op(id);
      const bool is_plain = op.kind->has(kPointwise) || op.kind->has(kView);
      if (op.inputs.empty() || in_loop(id) || latest_[id] > last_ || !is_plain) continue;
      std::vector<OpId>& others = seen[{op.kind, {op.inputs.begin(), op.inputs.end()}}];
      const auto same = std::ranges::find_if(others, [&](OpId other) { return is_alike(graph_.op(other), op); });
      if (same == others.end()) {
        others.push_back(id);
        continue;
      }
      for (std::size_t i = 0; i < op.outputs.size(); ++i)
        BALEEN_TRY(graph_.redirect(op.outputs[i], graph_.op(*same).outputs[i]));
      merged = true;
    }
    if (merged) graph_.remove_dead();
    return {};
  }

  bool is_alike(const Op& a, const Op& b) const {
    if (latest_[a.id] != latest_[b.id] || a.schedule->chunk != b.schedule->chunk || !(a.attributes == b.attributes))
      return false;
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      const Value &x = graph_.value(a.outputs[i]), &y = graph_.value(b.outputs[i]);
      if (x.layout != y.layout || x.offloaded_ahead != y.offloaded_ahead) return false;
    }
    return true;
  }

  /// What is computed of a parameter before a loop, element by element, is one more copy of it.
  void mark_copies() {
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.inputs.empty() || in_loop(id) || latest_[id] > last_ || !op.kind->has(kPointwise)) continue;
      for (ValueId v : op.outputs) {
        Value& made = graph_.value(v);
        const auto is_parameter = [&](ValueId x) {
          return graph_.value(x).role == Role::parameter && graph_.value(x).shape == made.shape;
        };
        if (made.role == Role::activation && std::ranges::any_of(op.inputs, is_parameter)) made.role = Role::parameter;
      }
    }
  }

  /// A cut value is there in its own loop only: an op that several loops need is computed in each.
  Status split_shared() {
    std::vector<OpId> order = graph_.ops();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!in_loop(*it) || accumulates(graph_.op(*it))) continue;
      std::set<int> needed;
      for (ValueId v : graph_.op(*it).outputs)
        for (OpId user : graph_.value(v).users) needed.insert(latest_[user]);
      for (int loop : needed)
        if (loop != latest_[*it]) {
          BALEEN_TRY(clone_for(*it, loop, [&](OpId user) { return latest_[user] == loop; }));
          latest_.resize(graph_.op_count(), loop);
        }
    }
    return graph_.order_by_need(order);
  }

  /// A copy for those users that `takes`; in a loop, or one that runs once.
  Status clone_for(OpId id, int loop, const std::function<bool(OpId)>& takes) {
    const Op original = graph_.op(id);
    Attributes attributes = original.attributes;
    // Behind what the original has, which may itself be a copy: equal marks would merge the two.
    std::vector<std::int64_t> mark;
    if (attributes.has("copy")) mark = attributes.integers("copy");
    mark.push_back(loop);
    attributes.set("copy", std::move(mark));
    graph_.context() = {original.phase, original.forward_op, original.name, original.where};
    BALEEN_TRY_ASSIGN(const auto copies, graph_.append(original.kind->name, original.inputs, std::move(attributes)));
    if (loop != kOnce && each_.contains(id)) each_.insert(graph_.value(copies[0]).producer);
    Op& copy = graph_.op(graph_.value(copies[0]).producer);
    copy.tags = original.tags;
    copy.schedule = original.schedule;
    if (loop == kOnce) copy.schedule.edit().every_micro_batch = false;
    if (copy.schedule->bucket) copy.schedule.edit().bucket->loops.push_back(loop);  // copies in one loop run as one
    for (std::size_t i = 0; i < copies.size(); ++i) {
      graph_.value(copies[i]).layout = graph_.value(original.outputs[i]).layout;
      graph_.value(copies[i]).role = graph_.value(original.outputs[i]).role;
      for (OpId user : Ids(graph_.value(original.outputs[i]).users)) {
        if (!takes(user)) continue;
        const auto inputs = graph_.op(user).inputs;
        for (std::size_t k = 0; k < inputs.size(); ++k)
          if (inputs[k] == original.outputs[i]) BALEEN_TRY(graph_.set_input(user, k, copies[i]));
      }
    }
    return {};
  }

  Graph& graph_;
  int micro_;  ///< the axis, or -1
  std::set<OpId> each_;
  std::vector<int> earliest_, latest_;  ///< by op
  int last_ = 0;                        ///< number of the last loop
};

const char* section_name(Phase phase, MicroPart part) {
  return part.pass == MicroPart::Pass::weight_gradients ? "weight_gradients" : phase_name(phase);
}

MicroPart::Pass pass_of(const Op& op) {
  return op.phase == Phase::forward ? MicroPart::Pass::forward : MicroPart::Pass::backward;
}

/// Whether any schedule has such an action.
template <class Holds>
bool any_action(const std::vector<PipelineSchedule>& pipelines, Holds holds) {
  return std::ranges::any_of(pipelines, [&](const auto& order) { return std::ranges::any_of(order.actions, holds); });
}

}  // namespace

Result<ScheduledGraph> schedule_loops(Graph graph, std::int64_t micro_batches,
                                      std::vector<PipelineSchedule> pipelines) {
  LoopScheduler scheduler(graph);
  BALEEN_TRY(scheduler.run());
  using Action = PipelineSchedule::Action;
  const bool weights =
      any_action(pipelines, [](const Action& a) { return a.part.pass == MicroPart::Pass::weight_gradients; });
  const bool chunks = any_action(pipelines, [](const Action& a) { return a.part.chunk > 0; }) ||
                      (!pipelines.empty() && std::ranges::any_of(graph.ops(), [&](OpId id) {
                        return graph.op(id).schedule->chunk.value_or(0) > 0;
                      }));
  std::vector<MicroPart> parts(graph.op_count());
  if (weights || chunks) {
    BALEEN_TRY_ASSIGN(parts, find_parts(
                                 graph, [&](OpId id) { return scheduler.in_loop(id); }, weights));
  } else {
    for (OpId id : graph.ops()) parts[id].pass = pass_of(graph.op(id));
  }

  // Key: position, whether it is the loop (which follows what runs once at that position), phase, then chunks in the
  // order of their pass, and weight gradients behind what else a chunk's backward pass does.
  std::map<std::tuple<int, bool, Phase, int, MicroPart::Pass>, std::vector<OpId>> sections;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.inputs.empty() && op.kind->has(kStructural)) continue;
    const int turn = op.phase == Phase::forward ? parts[id].chunk : -parts[id].chunk;
    sections[{scheduler.position(id), scheduler.in_loop(id), op.phase, turn, parts[id].pass}].push_back(id);
  }
  ScheduledGraph result{std::move(graph), micro_batches, {}, std::move(pipelines)};
  for (auto& [key, ops] : sections) {
    const auto& [position, loops, phase, turn, pass] = key;
    const MicroPart part{pass, std::abs(turn)};
    result.sections.push_back({section_name(phase, part), phase, loops ? position : -1, std::move(ops), part});
  }
  BALEEN_TRY(check_pipeline_circles(result));
  return result;
}

}  // namespace baleen
