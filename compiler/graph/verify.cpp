/// \file Checks every invariant of a graph; run after each pass.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "compiler/graph/graph.hpp"

namespace baleen {
namespace {

std::string describe(const Op& op) {
  std::string text = "op " + std::to_string(op.id) + " (" + (op.kind ? op.kind->name : "no kind");
  if (!op.name.empty()) text += " `" + op.name + "`";
  return text + ")";
}

std::string id_text(ValueId id) { return "%" + std::to_string(id); }

bool is_source(const Op& op) { return op.kind->has(kStructural) && op.inputs.empty(); }

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), made_(graph.value_count(), 0), visited_(graph.op_count(), 0), readers_(graph.value_count(), 0) {}

  Status run() {
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      BALEEN_TRY(check_op(op));
      BALEEN_TRY(check_operands(op));
      BALEEN_TRY(check_results(op));
      BALEEN_TRY(check_types(op));
      BALEEN_TRY(check_assign(op));
      count_reader(op);
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id)
      if (made_[id]) BALEEN_TRY(check_value(id));
    for (const GraphOutput& output : graph_.outputs())
      if (output.value >= graph_.value_count() || !made_[output.value])
        return internal("output `" + output.name + "` is " + id_text(output.value) + ", which no live op makes");
    return {};
  }

 private:
  Error fail(const Op& op, const std::string& what) const { return internal(describe(op) + ": " + what, op.where); }

  /// Of each operand once. One that the operand does not list counts for more than all, so the numbers differ.
  void count_reader(const Op& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(i), op.inputs[i]) !=
          op.inputs.begin() + static_cast<std::ptrdiff_t>(i))
        continue;
      const Ids& users = graph_.value(op.inputs[i]).users;
      readers_[op.inputs[i]] += std::binary_search(users.begin(), users.end(), op.id) ? 1 : users.size() + 1;
    }
  }

  Status check_op(const Op& op) {
    if (!op.kind) return fail(op, "it has no kind");
    if (graph_.registry().find(op.kind->name) != op.kind) return fail(op, "its kind is not of the graph's registry");
    if (std::exchange(visited_[op.id], 1)) return fail(op, "it stands twice in the order");
    if (op.forward_op != kNone && op.forward_op >= graph_.op_count())
      return fail(op, "its forward op " + std::to_string(op.forward_op) + " does not exist");
    if (is_source(op) && (!op.attributes.has("name") || !sources_[op.kind].insert(op.attributes.text("name")).second))
      return fail(op, "a source needs a name of its own");
    return {};
  }

  Status check_operands(const Op& op) {
    for (ValueId input : op.inputs) {
      if (input >= graph_.value_count()) return fail(op, "operand " + id_text(input) + " does not exist");
      if (!made_[input]) {
        const Op* producer = graph_.producer(input);
        const bool dead = producer && !producer->live;
        return fail(op, "operand " + id_text(input) + (dead ? " is of a dead op" : " is made only after it"));
      }
    }
    return {};
  }

  Status check_results(const Op& op) {
    for (std::uint32_t i = 0; i < op.outputs.size(); ++i) {
      const ValueId id = op.outputs[i];
      if (id >= graph_.value_count()) return fail(op, "result " + id_text(id) + " does not exist");
      const Value& value = graph_.value(id);
      if (value.producer != op.id || value.result != i)
        return fail(op, "result " + id_text(id) + " says that it is result " + std::to_string(value.result) +
                            " of op " + std::to_string(value.producer));
      made_[id] = 1;
    }
    return {};
  }

  Status check_types(const Op& op) {
    if (is_source(op)) return op.outputs.size() == 1 ? Status() : Status(fail(op, "a source has one result"));
    const std::uint64_t hash = typing_hash(graph_, op);
    if (op.agreed == hash) return {};
    std::vector<ValueType> inputs;
    for (ValueId input : op.inputs) inputs.push_back(graph_.type(input));
    auto types = op.kind->infer({op.attributes, std::move(inputs)});
    if (!types) return fail(op, types.error().message);
    if (types->size() != op.outputs.size())
      return fail(op, "it has " + std::to_string(op.outputs.size()) + " results; its rule gives " +
                          std::to_string(types->size()));
    for (std::size_t i = 0; i < types->size(); ++i) {
      const Value& value = graph_.value(op.outputs[i]);
      if (value.dtype != (*types)[i].dtype || value.shape != (*types)[i].shape)
        return fail(op, "result " + id_text(value.id) + " is " + to_string(value.shape) + "; its rule gives " +
                            to_string((*types)[i].shape) + " (or the dtypes differ)");
    }
    op.agreed = hash;
    return {};
  }

  /// An op with a side effect and no result sets its first operand, a parameter or a state, at most once.
  Status check_assign(const Op& op) {
    if (!op.kind->has(kStructural) || !op.kind->has(kSideEffect) || op.inputs.empty()) return {};
    const Value& target = graph_.value(op.inputs[0]);
    if (target.role != Role::parameter && target.role != Role::state)
      return fail(op, "the target " + id_text(target.id) + " is neither a parameter nor a state");
    if (!assigned_.insert(target.id).second) return fail(op, "`" + target.name + "` is assigned twice");
    return {};
  }

  Status check_value(ValueId id) {
    const Value& value = graph_.value(id);
    const Op& producer = graph_.op(value.producer);
    const bool ascend =
        std::adjacent_find(value.users.begin(), value.users.end(), std::greater_equal<>()) == value.users.end();
    if (!ascend || readers_[id] != value.users.size())
      return fail(producer,
                  "the users of result " + id_text(id) + " are not the ops that read it, each once, ascending");
    if (value.axes->size() != value.rank())
      return fail(producer, "result " + id_text(id) + " has " + std::to_string(value.axes->size()) +
                                " axis names for " + std::to_string(value.rank()) + " dimensions");
    if (value.layout.empty()) return {};
    if (value.layout.size() != graph_.mesh().axes.size())
      return fail(producer, "the layout of result " + id_text(id) + " has " + std::to_string(value.layout.size()) +
                                " placements for " + std::to_string(graph_.mesh().axes.size()) + " mesh axes");
    for (const Placement& p : value.layout) {
      const bool dimension = p.kind == Placement::Kind::shard || p.kind == Placement::Kind::shard_balanced;
      if (dimension && (p.argument < 0 || static_cast<std::size_t>(p.argument) >= value.rank()))
        return fail(producer, "the layout of result " + id_text(id) + " cuts dimension " + std::to_string(p.argument));
    }
    return {};
  }

  const Graph& graph_;
  std::vector<char> made_;                                                 ///< by value: has its producer been visited?
  std::vector<char> visited_;                                              ///< by op
  std::map<const OpKind*, std::unordered_set<std::string_view>> sources_;  ///< their names, by kind
  std::set<ValueId> assigned_;
  std::vector<std::size_t> readers_;  ///< by value: ops that read it
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace baleen
