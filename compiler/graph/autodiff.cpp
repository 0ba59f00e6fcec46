/// \file Reverse-mode differentiation: visits the ops backwards and calls their kinds' gradient rules.
#include "compiler/graph/graph.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

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
    BALEEN_TRY_ASSIGN(const std::vector<ValueId> joined, join_pads(terms));
    BALEEN_TRY_ASSIGN(const ValueId result, sum_of(joined));
    graph_.fill_in_axes(result, graph_.value(value).axes);
    terms = {result};
    return result;
  }

  /// In the order of the terms; of many in several ops, since no device takes any number of operands.
  Result<ValueId> sum_of(const std::vector<ValueId>& terms) {
    constexpr std::size_t kMost = 32;
    ValueId result = terms[0];
    for (std::size_t next = 1; next < terms.size();) {
      std::vector<ValueId> some{result};
      while (next < terms.size() && some.size() < kMost) some.push_back(terms[next++]);
      Expression sum;
      std::uint32_t last = sum.input(0);
      for (std::uint32_t i = 1; i < some.size(); ++i) last = sum.binary(BALEEN_X_ADD, last, sum.input(i));
      BALEEN_TRY_ASSIGN(result, graph_.pointwise(some, sum, last));
    }
    return result;
  }

  /// A part of a dimension of what is summed up, zeros around it.
  struct Piece {
    std::size_t term = 0;
    std::int64_t dim = 0, begin = 0, end = 0, whole = 0;
    OpId pad = kNone;
  };

  std::optional<Piece> piece_of(std::size_t number, ValueId term) const {
    const Op* pad = graph_.producer(term);
    if (!pad || pad->kind->name != "pad" || pad->phase != Phase::backward) return std::nullopt;
    const std::int64_t dim = pad->attributes.integer("dim"),
                       whole = graph_.value(term).shape[static_cast<std::size_t>(dim)];
    return Piece{number, dim,    pad->attributes.integer("before"), whole - pad->attributes.integer("after"),
                 whole,  pad->id};
  }

  /// Terms that are pads of pieces which tile a dimension (the gradients of slices: queries, keys and values) become
  /// the concatenation of the pieces, where the first of them stood. The others stay.
  Result<std::vector<ValueId>> join_pads(const std::vector<ValueId>& terms) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (const auto piece = piece_of(i, terms[i])) pieces.push_back(*piece);
    std::ranges::stable_sort(pieces, {}, [](const Piece& piece) { return std::pair(piece.dim, piece.begin); });
    std::vector<ValueId> result = terms;
    while (true) {
      const std::vector<Piece> row = next_row(pieces);
      if (row.empty()) break;
      std::vector<ValueId> inputs;
      for (const Piece& piece : row) inputs.push_back(graph_.op(piece.pad).inputs[0]);
      BALEEN_TRY_ASSIGN(const ValueId joined,
                        graph_.append1("concat", inputs, {{"dim", Attributes::ints({row[0].dim})}}));
      std::size_t first = terms.size();
      for (const Piece& piece : row) {
        joined_pads_.push_back(piece.pad);
        result[piece.term] = kNone;
        first = std::min(first, piece.term);
      }
      result[first] = joined;
    }
    std::erase(result, kNone);
    return result;
  }

  /// Pieces that follow one another from the beginning of a dimension to its end, which are taken out; none where there
  /// are no more. Sorted by dimension and begin.
  static std::vector<Piece> next_row(std::vector<Piece>& pieces) {
    for (std::size_t start = 0; start < pieces.size(); ++start) {
      if (pieces[start].begin != 0) continue;
      std::vector<std::size_t> row{start};
      for (std::size_t i = start + 1; i < pieces.size() && pieces[row.back()].end < pieces[row.back()].whole; ++i)
        if (pieces[i].dim == pieces[start].dim && pieces[i].begin == pieces[row.back()].end) row.push_back(i);
      if (pieces[row.back()].end < pieces[row.back()].whole) continue;
      std::vector<Piece> taken;
      for (const std::size_t i : row) taken.push_back(pieces[i]);
      for (std::size_t i = row.size(); i-- > 0;) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(row[i]));
      return taken;
    }
    return {};
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
