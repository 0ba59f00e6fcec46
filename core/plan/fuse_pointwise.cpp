/// \file Joins neighbouring pointwise ops of a section, group by group, where this makes no cycle.
#include "core/plan/fuse_pointwise.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

// Beyond these a tile's operands no longer stay in the L1 cache.
constexpr std::size_t kMaxOperands = 20;
constexpr std::size_t kMaxInstructions = 96;

/// Fuses within one section. Groups are sets of ops, named by their first member's index in the section.
class SectionFuser {
 public:
  SectionFuser(Graph& graph, const std::vector<OpId>& ops) : graph_(graph), ops_(ops), group_(ops.size()) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    members_.resize(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      members_[i] = {i};
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

  bool one_dtype(std::size_t i) const {
    const Op& op = graph_.op(ops_[i]);
    const baleen_dtype_t dtype = first_result(i).dtype;
    auto fits = [&](ValueId v) { return !is_floating(graph_.value(v).dtype) || graph_.value(v).dtype == dtype; };
    return (dtype == BALEEN_F32 || dtype == BALEEN_F64) && std::all_of(op.inputs.begin(), op.inputs.end(), fits) &&
           std::all_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return graph_.value(v).dtype == dtype; });
  }

  void try_join(std::size_t i, ValueId input) {
    auto it = index_.find(graph_.value(input).producer);
    if (it == index_.end() || !graph_.op(ops_[it->second]).kind->has(kPointwise)) return;
    const std::size_t a = group_[it->second], b = group_[i];
    if (a == b) return;
    const Value& x = first_result(it->second);
    const Value& y = first_result(i);
    if (x.shape != y.shape || x.dtype != y.dtype || x.layout != y.layout) return;
    if (!one_dtype(it->second) || !one_dtype(i) || !small_enough(a, b)) return;
    if (reaches_around(a, b)) return;
    for (std::size_t m : members_[b]) group_[m] = a;
    std::vector<std::size_t> all;
    std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(), std::back_inserter(all));
    members_[a] = std::move(all);
    members_[b].clear();
  }

  /// What the groups compute themselves is no operand: it stays in the tile.
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
  bool reaches_around(std::size_t a, std::size_t b) const {
    const std::size_t floor = members_[a].front();
    std::vector<char> seen(ops_.size(), 0);
    std::vector<std::size_t> stack;
    auto push_producers = [&](std::size_t g, bool direct) {
      for (std::size_t m : members_[g])
        for (ValueId v : graph_.op(ops_[m]).inputs) {
          auto it = index_.find(graph_.value(v).producer);
          if (it == index_.end()) continue;
          const std::size_t p = group_[it->second];
          if (p == a && !direct) return true;
          if (p == a || p == b || p == g || seen[p] || members_[p].back() < floor) continue;
          seen[p] = 1;
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
        computed[op.outputs[i]] = where[static_cast<std::size_t>(own[i])];
        if (!used_outside(op.outputs[i], g)) continue;
        results.push_back(op.outputs[i]);
        numbers.push_back(computed[op.outputs[i]]);
      }
    }
    return install(g, std::move(fused), std::move(inputs), results, std::move(numbers));
  }

  Result<OpId> install(std::size_t g, Expression fused, std::vector<ValueId> inputs,
                       const std::vector<ValueId>& results, std::vector<std::int64_t> numbers) {
    const Op last = graph_.op(ops_[members_[g].back()]);
    Attributes attributes{{"expression", prune(fused, numbers)}, {"results", numbers}};
    const Value& shape = graph_.value(last.outputs[0]);
    attributes.set("shape", shape.shape);
    attributes.set("dtype", Attributes::ints({shape.dtype}));
    graph_.context() = {last.phase, last.twin, last.name, last.where};
    BALEEN_TRY_ASSIGN(const auto made, append_apart(std::move(inputs), std::move(attributes)));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Value old = graph_.value(results[i]);
      Value& now = graph_.value(made[i]);
      now.name = old.name;
      now.axes = old.axes;
      now.role = old.role;
      now.layout = old.layout;
      BALEEN_TRY(graph_.redirect(results[i], made[i]));
    }
    for (std::size_t m : members_[g]) graph_.erase(ops_[m]);
    return graph_.value(made[0]).producer;
  }

  /// A new op even where an equal one is there: it stands in another section (a chain that two loops compute).
  Result<std::vector<ValueId>> append_apart(std::vector<ValueId> inputs, Attributes attributes) {
    const std::size_t before = graph_.value_count();
    BALEEN_TRY_ASSIGN(auto made, graph_.append("pointwise", inputs, attributes));
    if (made[0] >= before) return made;
    attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(graph_.op_count())}));
    return graph_.append("pointwise", std::move(inputs), std::move(attributes));
  }

  Graph& graph_;
  const std::vector<OpId>& ops_;
  std::vector<std::size_t> group_;
  std::vector<std::vector<std::size_t>> members_;
  std::map<OpId, std::size_t> index_;
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
    BALEEN_TRY_ASSIGN(section.ops, SectionFuser(scheduled.graph, section.ops).run());
  }
  BALEEN_TRY(scheduled.graph.normalise());
  for (Section& section : scheduled.sections) section.ops = by_need(scheduled.graph, section.ops);
  return {};
}

}  // namespace baleen
