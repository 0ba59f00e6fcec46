/// \file Reverse-mode differentiation: visits the ops backwards and calls their kinds' gradient rules.
#include "compiler/graph/graph.hpp"

#include <algorithm>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

std::string describe(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return std::string(dtype_name(value.dtype)) + " " + to_string(value.shape);
}

/// Puts the graph's context back when it goes.
class KeepContext {
 public:
  explicit KeepContext(Graph& graph) : graph_(graph), saved_(graph.context()) {}
  ~KeepContext() { graph_.context() = saved_; }
  KeepContext(const KeepContext&) = delete;
  KeepContext& operator=(const KeepContext&) = delete;

 private:
  Graph& graph_;
  Graph::Context saved_;
};

class Backward {
 public:
  explicit Backward(Graph& graph) : graph_(graph), terms_(graph.value_count()), active_(graph.value_count(), 0) {}

  Result<std::vector<ValueId>> run(ValueId loss, ValueId seed, const std::vector<ValueId>& targets) {
    const std::vector<OpId> forward = graph_.ops();
    activate(forward, targets);
    terms_[loss].push_back(seed);
    for (auto it = forward.rbegin(); it != forward.rend(); ++it) BALEEN_TRY(visit(*it));
    std::vector<ValueId> gradients;
    for (ValueId target : targets) {
      BALEEN_TRY_ASSIGN(const ValueId gradient, total(target));
      if (gradient != kNone && graph_.value(gradient).role == Role::activation)
        graph_.value(gradient).role = Role::gradient;
      gradients.push_back(gradient);
    }
    drop_joined_pads(gradients);
    return gradients;
  }

 private:
  /// Marks the values that depend on a target: only these need cotangents.
  void activate(const std::vector<OpId>& forward, const std::vector<ValueId>& targets) {
    for (ValueId target : targets) active_[target] = 1;
    for (OpId id : forward) {
      const Op& op = graph_.op(id);
      const bool reached = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return active_[v] != 0; });
      for (ValueId output : op.outputs)
        if (reached && is_floating(graph_.value(output).dtype)) active_[output] = 1;
    }
  }

  /// New ops belong to `forward`; a sum of cotangents has no forward op, since it takes part in no one op's layout.
  void enter(const Op* forward, bool belongs) {
    Graph::Context& context = graph_.context();
    context = {Phase::backward, belongs && forward ? forward->id : kNone, "", forward ? forward->where : ""};
    if (forward && !forward->name.empty()) context.name = forward->name + ".grad";
  }

  Status visit(OpId id) {
    const Op op = graph_.op(id);  // a copy: the graph grows while the rule reads it
    std::vector<bool> wanted;
    for (ValueId input : op.inputs) wanted.push_back(active_[input] != 0);
    const bool flows = std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return !terms_[v].empty(); });
    if (!flows || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return {};
    if (!op.kind->gradient)
      return unsupported(op.name + ": the loss depends on this " + op.kind->name + ", which has no gradient", op.where);
    std::vector<ValueId> cotangents;
    for (ValueId output : op.outputs) {
      BALEEN_TRY_ASSIGN(const ValueId sum, total(output));
      cotangents.push_back(sum);
    }
    enter(&op, true);
    auto made = op.kind->gradient(graph_, op, cotangents, wanted);
    if (!made) {
      Error error = std::move(made).error();
      if (error.where.empty()) error.where = op.where;
      return error;
    }
    return hand_on(op, *made, wanted);
  }

  Status hand_on(const Op& op, const std::vector<ValueId>& gradients, const std::vector<bool>& wanted) {
    const std::string rule = "the gradient rule of " + op.kind->name +
                             (op.kind->schema ? " (plugin `" + op.kind->schema->plugin + "`)" : "");
    if (gradients.size() != op.inputs.size())
      return internal(rule + " gave " + std::to_string(gradients.size()) + " cotangents for " +
                      std::to_string(op.inputs.size()) + " inputs");
    for (std::size_t i = op.inputs.size(); i-- > 0;) {  // terms are kept last use first
      if (gradients[i] == kNone || !wanted[i]) continue;
      const Value& input = graph_.value(op.inputs[i]);
      Value& gradient = graph_.value(gradients[i]);
      if (gradient.dtype != input.dtype || gradient.shape != input.shape)
        return internal(rule + " gave " + describe(graph_, gradients[i]) + " for input " + std::to_string(i) + ", " +
                        describe(graph_, op.inputs[i]));
      if (gradients[i] >= terms_.size()) graph_.fill_in_axes(gradients[i], input.axes);
      terms_[op.inputs[i]].push_back(gradients[i]);
    }
    return {};
  }

  /// The cotangent of a value, all of whose uses have been visited: one term, their concatenation, or their sum.
  Result<ValueId> total(ValueId value) {
    std::vector<ValueId>& terms = terms_[value];
    if (terms.empty()) return kNone;
    if (terms.size() == 1) return terms[0];
    std::reverse(terms.begin(), terms.end());
    enter(graph_.producer(value), false);
    BALEEN_TRY_ASSIGN(ValueId result, join_pads(terms));
    if (result == kNone) {
      Expression sum;
      std::uint32_t last = sum.input(0);
      for (std::uint32_t i = 1; i < terms.size(); ++i) last = sum.binary(BALEEN_X_ADD, last, sum.input(i));
      BALEEN_TRY_ASSIGN(result, graph_.pointwise(terms, sum, last));
    }
    graph_.fill_in_axes(result, graph_.value(value).axes);
    terms = {result};
    return result;
  }

  /// Where the terms are pads of pieces that tile one dimension (the gradients of slices: queries, keys and values),
  /// their sum is the concatenation of the pieces. kNone where they are not.
  Result<ValueId> join_pads(const std::vector<ValueId>& terms) {
    struct Piece {
      std::int64_t begin, end;
      OpId pad;
    };
    std::vector<Piece> pieces;
    std::int64_t dim = -1, whole = 0;
    for (ValueId term : terms) {
      const Op* pad = graph_.producer(term);
      if (!pad || pad->kind->name != "pad" || pad->phase != Phase::backward) return kNone;
      const std::int64_t along = pad->attributes.integer("dim");
      if (dim >= 0 && along != dim) return kNone;
      dim = along;
      whole = graph_.value(term).shape[static_cast<std::size_t>(dim)];
      pieces.push_back({pad->attributes.integer("before"), whole - pad->attributes.integer("after"), pad->id});
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    std::int64_t end = 0;
    std::vector<ValueId> inputs;
    for (const Piece& piece : pieces) {
      if (piece.begin != end) return kNone;
      end = piece.end;
      inputs.push_back(graph_.op(piece.pad).inputs[0]);
    }
    if (end != whole) return kNone;
    BALEEN_TRY_ASSIGN(const ValueId joined, graph_.append1("concat", inputs, {{"dim", Attributes::ints({dim})}}));
    for (const Piece& piece : pieces) joined_pads_.push_back(piece.pad);
    return joined;
  }

  /// At the end only, since one pad may be a term of two values.
  void drop_joined_pads(const std::vector<ValueId>& gradients) {
    const std::set<ValueId> returned(gradients.begin(), gradients.end());
    for (OpId pad : joined_pads_) {
      const ValueId result = graph_.op(pad).outputs[0];
      if (graph_.value(result).users.empty() && !returned.contains(result)) graph_.erase(pad);
    }
  }

  Graph& graph_;
  std::vector<OpId> joined_pads_;
  std::vector<std::vector<ValueId>> terms_;  ///< by forward value: cotangents of its uses, the last use first
  std::vector<char> active_;                 ///< by forward value: does it depend on a target?
};

}  // namespace

Result<std::vector<ValueId>> differentiate(Graph& graph, ValueId loss, ValueId seed,
                                           const std::vector<ValueId>& targets) {
  if (graph.value(loss).rank() != 0)
    return invalid("the loss must be a scalar; it is " + describe(graph, loss), graph.context().where);
  if (graph.value(seed).rank() != 0 || graph.value(seed).dtype != graph.value(loss).dtype)
    return internal("the seed is " + describe(graph, seed) + " and the loss " + describe(graph, loss));
  const KeepContext keep(graph);
  return Backward(graph).run(loss, seed, targets);
}

}  // namespace baleen
