/// \file Joins neighbouring pointwise ops of a section, group by group, where this makes no cycle.
#include "compiler/plan/passes.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "baleen/dtype.hpp"
#include "baleen/expression_edit.hpp"

namespace baleen {
namespace {

// Beyond these a tile's operands no longer stay in the L1 cache.
constexpr std::size_t kMaxOperands = 20;
constexpr std::size_t kMaxInstructions = 96;

/// Fuses within one section. Groups are sets of ops, named by their first member's index in the section.
class SectionFuser {
 public:
  SectionFuser(Graph& graph, const std::vector<OpId>& ops)
      : graph_(graph), ops_(ops), group_(ops.size()), seen_(ops.size(), 0) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    members_.resize(ops.size());
    reach_.resize(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      members_[i] = {i};
      reach_[i] = i;
      index_[ops[i]] = i;
    }
  }

  Result<std::vector<OpId>> run() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!graph_.op(ops_[i]).kind->has(kPointwise)) continue;
      for (ValueId v : graph_.op(ops_[i]).inputs) try_join(i, v);
    }
    std::map<std::size_t, OpId> replaced;
    for (std::size_t g = 0; g < ops_.size(); ++g)
      if (members_[g].size() > 1) {
        BALEEN_TRY_ASSIGN(replaced[g], replace(g));
      }
    std::vector<OpId> result;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      auto it = replaced.find(group_[i]);
      if (it == replaced.end())
        result.push_back(ops_[i]);
      else if (members_[group_[i]].back() == i)
        result.push_back(it->second);
    }
    return result;
  }

 private:
  const Value& first_result(std::size_t i) const { return graph_.value(graph_.op(ops_[i]).outputs[0]); }

  /// All floating results, and fp64 beside fp64 alone: an expression is computed in one precision.
  bool computes_in(bool fp64, std::size_t i) const {
    const Op& op = graph_.op(ops_[i]);
    auto fits = [&](ValueId v) { return (graph_.value(v).dtype == BALEEN_F64) == fp64; };
    auto floating = [&](ValueId v) { return is_floating(graph_.value(v).dtype); };
    return std::all_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return floating(v) && fits(v); }) &&
           std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return !floating(v) || fits(v); });
  }

  void try_join(std::size_t i, ValueId input) {
    auto it = index_.find(graph_.value(input).producer);
    if (it == index_.end() || !graph_.op(ops_[it->second]).kind->has(kPointwise)) return;
    const std::size_t a = group_[it->second], b = group_[i];
    if (a == b) return;
    const Value& x = first_result(it->second);
    const Value& y = first_result(i);
    if (x.shape != y.shape || x.layout != y.layout) return;
    const bool fp64 = x.dtype == BALEEN_F64;
    if (!computes_in(fp64, it->second) || !computes_in(fp64, i) || !small_enough(a, b)) return;
    if (is_recomputed(a) != is_recomputed(b) && ends_contraction(a) && ends_contraction(b)) return;
    if (reaches_around(a, b)) return;
    for (std::size_t m : members_[b]) group_[m] = a;
    std::vector<std::size_t> all;
    std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(), std::back_inserter(all));
    members_[a] = std::move(all);
    members_[b].clear();
    reach_[a] = std::max(reach_[a], reach_[b]);
    raise_readers(a);
  }

  bool is_recomputed(std::size_t g) const {
    return std::ranges::all_of(members_[g], [&](std::size_t m) { return graph_.op(ops_[m]).schedule->recomputed; });
  }

  /// Whether it reads what a contraction makes for it alone, whose last step it can be. What runs again keeps its own,
  /// as in the forward pass, and so does the gradient that reads it.
  bool ends_contraction(std::size_t g) const {
    const auto ends = [&](ValueId v) {
      const OpId producer = graph_.value(v).producer;
      return index_.contains(producer) && graph_.op(producer).kind->has(kContraction) && !used_outside(v, g);
    };
    return std::ranges::any_of(members_[g],
                               [&](std::size_t m) { return std::ranges::any_of(graph_.op(ops_[m]).inputs, ends); });
  }

  /// Groups that read a group come after all that it comes after.
  void raise_readers(std::size_t raised) {
    std::vector<std::size_t> stack{raised};
    while (!stack.empty()) {
      const std::size_t g = stack.back();
      stack.pop_back();
      for (std::size_t m : members_[g])
        for (ValueId v : graph_.op(ops_[m]).outputs)
          for (OpId user : graph_.value(v).users) {
            const auto it = index_.find(user);
            if (it == index_.end() || reach_[group_[it->second]] >= reach_[g]) continue;
            reach_[group_[it->second]] = reach_[g];
            stack.push_back(group_[it->second]);
          }
    }
  }

  /// Values that the groups compute themselves are no operands: they stay in the tile.
  bool small_enough(std::size_t a, std::size_t b) const {
    std::size_t instructions = 0;
    std::set<ValueId> operands;
    for (std::size_t g : {a, b})
      for (std::size_t m : members_[g]) {
        const Op& op = graph_.op(ops_[m]);
        instructions += op.attributes.expression("expression").code.size();
        for (ValueId v : op.inputs) {
          const auto it = index_.find(graph_.value(v).producer);
          if (it == index_.end() || (group_[it->second] != a && group_[it->second] != b)) operands.insert(v);
        }
      }
    return operands.size() <= kMaxOperands && instructions <= kMaxInstructions;
  }

  /// Is there a path from group a to group b through a third op of this section? (Sections are ordered, so no path
  /// leaves it.)
  bool reaches_around(std::size_t a, std::size_t b) {
    const std::size_t floor = members_[a].front();
    ++search_;
    std::vector<std::size_t> stack;
    auto push_producers = [&](std::size_t g, bool direct) {
      for (std::size_t m : members_[g])
        for (ValueId v : graph_.op(ops_[m]).inputs) {
          auto it = index_.find(graph_.value(v).producer);
          if (it == index_.end()) continue;
          const std::size_t p = group_[it->second];
          if (p == a && !direct) return true;
          if (p == a || p == b || p == g || seen_[p] == search_ || reach_[p] < floor) continue;
          seen_[p] = search_;
          stack.push_back(p);
        }
      return false;
    };
    push_producers(b, true);
    while (!stack.empty()) {
      const std::size_t g = stack.back();
      stack.pop_back();
      if (push_producers(g, false)) return true;
    }
    return false;
  }

  bool used_outside(ValueId v, std::size_t g) const {
    for (const GraphOutput& output : graph_.outputs())
      if (output.value == v) return true;
    return std::any_of(graph_.value(v).users.begin(), graph_.value(v).users.end(), [&](OpId user) {
      auto it = index_.find(user);
      return it == index_.end() || group_[it->second] != g;
    });
  }

  Result<OpId> replace(std::size_t g) {
    Expression fused;
    std::vector<ValueId> inputs, results;
    std::vector<std::int64_t> numbers;
    std::map<ValueId, std::uint32_t> computed;
    for (std::size_t m : members_[g]) {
      const Op& op = graph_.op(ops_[m]);
      std::vector<std::uint32_t> operands;
      for (ValueId v : op.inputs) {
        if (auto it = computed.find(v); it != computed.end()) {
          operands.push_back(it->second);
          continue;
        }
        auto at = std::find(inputs.begin(), inputs.end(), v);
        if (at == inputs.end()) at = inputs.insert(inputs.end(), v);
        operands.push_back(fused.input(static_cast<std::uint32_t>(at - inputs.begin())));
      }
      const auto where = inline_into(fused, op.attributes.expression("expression"), operands);
      const auto& own = op.attributes.integers("results");
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        computed[op.outputs[i]] = as_stored(fused, where[static_cast<std::size_t>(own[i])], op.outputs[i]);
        if (!used_outside(op.outputs[i], g)) continue;
        results.push_back(op.outputs[i]);
        numbers.push_back(computed[op.outputs[i]]);
      }
    }
    return install(g, fused, inputs, results, std::move(numbers));
  }

  /// The instruction's number as it would be read back from memory: rounded, if the value has 16 bits.
  std::uint32_t as_stored(Expression& fused, std::uint32_t instruction, ValueId v) const {
    const baleen_dtype_t dtype = graph_.value(v).dtype;
    if (dtype == BALEEN_F32 || dtype == BALEEN_F64) return instruction;
    return fused.append({BALEEN_X_ROUND, instruction, static_cast<std::uint32_t>(dtype), 0, 0});
  }

  Result<OpId> install(std::size_t g, const Expression& fused, const std::vector<ValueId>& inputs,
                       const std::vector<ValueId>& results, std::vector<std::int64_t> numbers) {
    const Op last = graph_.op(ops_[members_[g].back()]);
    Attributes attributes{{"expression", prune(fused, numbers)}, {"results", numbers}};
    attributes.set("shape", graph_.value(last.outputs[0]).shape);
    std::vector<std::int64_t> dtypes;
    for (ValueId v : results) dtypes.push_back(graph_.value(v).dtype);
    const bool alike = std::all_of(dtypes.begin(), dtypes.end(), [&](std::int64_t d) { return d == dtypes[0]; });
    attributes.set("dtype", alike ? Attributes::ints({dtypes[0]}) : Attributes::ints(dtypes));
    graph_.context() = {last.phase, last.forward_op, last.name, last.where};
    BALEEN_TRY_ASSIGN(const auto made, append_apart(inputs, std::move(attributes)));
    for (std::size_t i = 0; i < results.size(); ++i) BALEEN_TRY(graph_.replace(results[i], made[i]));
    const OpId fused_op = graph_.value(made[0]).producer;
    if (is_recomputed(g)) graph_.op(fused_op).schedule.edit().recomputed = true;
    for (std::size_t m : members_[g]) graph_.erase(ops_[m]);
    return fused_op;
  }

  /// A new op even where an equal one is there: it stands in another section (a chain that two loops compute).
  Result<std::vector<ValueId>> append_apart(const std::vector<ValueId>& inputs, Attributes attributes) {
    const std::size_t before = graph_.value_count();
    BALEEN_TRY_ASSIGN(auto made, graph_.append("pointwise", inputs, attributes));
    if (made[0] >= before) return made;
    attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(graph_.op_count())}));
    return graph_.append("pointwise", inputs, std::move(attributes));
  }

  Graph& graph_;
  const std::vector<OpId>& ops_;
  std::vector<std::size_t> group_;
  std::vector<std::vector<std::size_t>> members_;
  /// By group: what it needs, through whatever groups, has no higher index. Its own last member's is not enough: a
  /// group that it reads may have taken in later ops.
  std::vector<std::size_t> reach_;
  std::size_t search_ = 0;
  std::vector<std::size_t> seen_;  ///< by group: the last search that met it
  std::unordered_map<OpId, std::size_t> index_;
};

/// Gives each reader a copy of an op that makes 32 bits of 16 (a gradient, widened for its norm and for the update), so
/// that it is computed where it is read and never stored.
class Widenings {
 public:
  Widenings(Graph& graph, std::vector<OpId>& ops) : graph_(graph), ops_(ops), own_(ops.begin(), ops.end()) {}

  Status run() {
    std::vector<OpId> result;
    for (OpId id : std::vector(ops_)) {
      result.push_back(id);
      if (widens(graph_.op(id))) BALEEN_TRY(copy_for_readers(id, result));
    }
    ops_ = std::move(result);
    return {};
  }

 private:
  bool widens(const Op& op) const {
    if (!op.kind->has(kPointwise) || op.outputs.size() != 1 || op.attributes.expression("expression").uses_random())
      return false;
    const Value& y = graph_.value(op.outputs[0]);
    const bool from_half = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
      const Value& x = graph_.value(v);
      return is_floating(x.dtype) && dtype_size(x.dtype) == 2 && x.shape == y.shape;
    });
    const bool read_here = std::all_of(y.users.begin(), y.users.end(), [&](OpId user) {
      return own_.contains(user) && graph_.op(user).kind->has(kPointwise);
    });
    const auto& outputs = graph_.outputs();
    const bool output = std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.value == y.id; });
    return y.dtype == BALEEN_F32 && from_half && read_here && !output;
  }

  Status copy_for_readers(OpId id, std::vector<OpId>& result) {
    const Op original = graph_.op(id);
    const Ids users = graph_.value(original.outputs[0]).users;
    for (std::size_t i = 1; i < users.size(); ++i) {
      Attributes attributes = original.attributes;
      attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(graph_.op_count())}));
      graph_.context() = {original.phase, original.forward_op, original.name, original.where};
      BALEEN_TRY_ASSIGN(const ValueId copy,
                        graph_.append1(original.kind->name, original.inputs, std::move(attributes)));
      graph_.value(copy).layout = graph_.value(original.outputs[0]).layout;
      graph_.value(copy).role = graph_.value(original.outputs[0]).role;
      const Ids inputs = graph_.op(users[i]).inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k)
        if (inputs[k] == original.outputs[0]) BALEEN_TRY(graph_.set_input(users[i], k, copy));
      result.push_back(graph_.value(copy).producer);
    }
    return {};
  }

  Graph& graph_;
  std::vector<OpId>& ops_;
  std::set<OpId> own_;
};

/// The ops of a section as they stand, but where one stands before what it reads, that comes first: a joined op, which
/// took the place of its last part, moves to its first reader. Others keep their places, on which the beginnings of
/// collectives rest.
std::vector<OpId> by_need(const Graph& graph, const std::vector<OpId>& ops) {
  std::map<OpId, char> state;  // 0: to come, 1: its operands are on the stack, 2: listed
  for (OpId id : ops) state[id] = 0;
  std::vector<OpId> order, stack;
  for (OpId root : ops) {
    stack.push_back(root);
    while (!stack.empty()) {
      const OpId id = stack.back();
      if (state[id] != 0) {
        stack.pop_back();
        if (state[id] == 1) order.push_back(id);
        state[id] = 2;
        continue;
      }
      state[id] = 1;
      for (ValueId v : graph.op(id).inputs)
        if (auto producer = state.find(graph.value(v).producer); producer != state.end() && producer->second == 0)
          stack.push_back(producer->first);
    }
  }
  return order;
}

}  // namespace

Status fuse_pointwise(ScheduledGraph& scheduled) {
  for (Section& section : scheduled.sections) {
    BALEEN_TRY(Widenings(scheduled.graph, section.ops).run());
    BALEEN_TRY_ASSIGN(section.ops, SectionFuser(scheduled.graph, section.ops).run());
  }
  BALEEN_TRY(scheduled.graph.normalise());
  for (Section& section : scheduled.sections) section.ops = by_need(scheduled.graph, section.ops);
  return {};
}

}  // namespace baleen
