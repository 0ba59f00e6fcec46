/// \file Ops that were cut along a letter which they reduce themselves (a norm's width, a loss' vocabulary): put as
/// their expansions, whose small sums and maxima become collectives.
#include <algorithm>

#include "baleen/dtype.hpp"
#include "compiler/placement/op_letters.hpp"
#include "compiler/placement/passes.hpp"

namespace baleen {
namespace {

class InternalLowerer {
 public:
  explicit InternalLowerer(Graph& graph) : graph_(graph) {}

  Status run() {
    const std::vector<OpId> order = graph_.ops();
    bool changed = false;
    for (OpId id : order) {
      if (!graph_.op(id).live || !reduces_a_cut(graph_.op(id))) continue;
      BALEEN_TRY(lower(id));
      changed = true;
    }
    if (!changed) return {};
    BALEEN_TRY(graph_.order_by_need(order));
    graph_.remove_dead();
    return {};
  }

 private:
  const Layout& layout(ValueId v) const { return graph_.value(v).layout; }

  /// Whether some input is cut along a letter that the op reduces inside.
  bool reduces_a_cut(const Op& op) const {
    if (!op.kind->iteration || op.inputs.empty() || !op.schedule->owner.empty()) return false;
    const Iteration& iteration = iteration_of(graph_, op);
    for (const auto& internal : iteration.internal)
      for (std::size_t i = 0; i < op.inputs.size(); ++i)
        if (const auto dim = iteration.inputs[i].find(internal.letter);
            dim != std::string::npos && !split_order(layout(op.inputs[i]), static_cast<int>(dim)).empty())
          return true;
    return false;
  }

  Status lower(OpId id) {
    const Op op = graph_.op(id);
    graph_.context() = {op.phase, op.forward_op, op.name, op.where};
    if (is_maximum(op)) return lower_maximum(op);
    if (!op.kind->expand)
      return unsupported(op.name + ": `" + op.kind->name +
                             "` is cut along a dimension that it reduces, and has no expansion " +
                             "into ops that could be; keep that dimension whole",
                         op.where);
    const std::size_t before = graph_.op_count();
    BALEEN_TRY_ASSIGN(const std::vector<ValueId> results, op.kind->expand(graph_, op));
    for (OpId made = static_cast<OpId>(before); made < graph_.op_count(); ++made)
      if (layout(graph_.op(made).outputs[0]).empty()) BALEEN_TRY(follow(made));
    for (std::size_t i = 0; i < results.size(); ++i) {
      BALEEN_TRY_ASSIGN(const ValueId result, converted(now(results[i]), layout(op.outputs[i])));
      BALEEN_TRY(replace(op.outputs[i], result));
    }
    return {};
  }

  Status replace(ValueId old, ValueId result, OpId except = kNone) {
    replaced_[old] = result;
    return graph_.redirect(old, result, except);
  }
  /// The value that replaces `v` by now: an op of an expansion may itself have been expanded.
  ValueId now(ValueId v) const {
    auto it = replaced_.find(v);
    return it == replaced_.end() ? v : now(it->second);
  }

  /// The maximum of a part, then that of the parts.
  Status lower_maximum(const Op& op) {
    const ValueId y = op.outputs[0];
    const Layout whole = layout(y);
    Layout parts = whole;
    const std::string letters = iteration_of(graph_, op).outputs[0];
    const std::string input = iteration_of(graph_, op).inputs[0];
    for (std::size_t d = 0; d < input.size(); ++d)
      if (letters.find(input[d]) == std::string::npos)
        for (int axis : split_order(layout(op.inputs[0]), static_cast<int>(d)))
          parts[static_cast<std::size_t>(axis)] = Placement::partial_max();
    graph_.value(y).layout = parts;
    BALEEN_TRY_ASSIGN(const ValueId result, converted(y, whole));
    OpId first = graph_.value(result).producer;  // of the steps, one for each axis: it alone reads what the op makes
    while (graph_.op(first).inputs[0] != y) first = graph_.value(graph_.op(first).inputs[0]).producer;
    return replace(y, result, first);
  }

  /// Places an op of an expansion: it is cut as its inputs are, and sums and maxima over a cut are partial until they
  /// are used.
  Status follow(OpId id) {
    const OpLetters letters = letters_of(graph_, graph_.op(id));
    const std::size_t axes = graph_.mesh().axes.size();
    std::vector<Layout> outputs(graph_.op(id).outputs.size(), Layout(axes));
    for (std::size_t axis = 0; axis < axes; ++axis) BALEEN_TRY(follow(id, letters, axis, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      graph_.value(graph_.op(id).outputs[i]).layout = canonical(outputs[i]);
    return reduces_a_cut(graph_.op(id)) ? lower(id) : Status();
  }

  /// Where one of its inputs is at a coordinate of the axis, all of it is there.
  const Placement* coordinate(OpId id, std::size_t axis) const {
    for (const ValueId v : graph_.op(id).inputs)
      if (layout(v)[axis].is_at()) return &layout(v)[axis];
    return nullptr;
  }

  Status follow(OpId id, const OpLetters& letters, std::size_t axis, std::vector<Layout>& outputs) {
    if (const Placement* found = coordinate(id, axis)) {
      const Placement here = *found;
      for (std::size_t i = 0; i < graph_.op(id).inputs.size(); ++i) BALEEN_TRY(read(id, i, axis, here));
      for (Layout& output : outputs) output[axis] = here;
      return {};
    }
    Placement cut;
    char letter = 0;
    for (std::size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
      const Placement& p = layout(graph_.op(id).inputs[i])[axis];
      if (!p.cut()) continue;
      letter = letters.iteration->inputs[i][static_cast<std::size_t>(p.argument)];
      cut = p;
    }
    if (letter == 0 && passes_partial(graph_.op(id), letters, axis)) {
      for (Layout& output : outputs) output[axis] = Placement::partial();
      return {};
    }
    for (std::size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
      const auto dim = letter == 0 ? std::string::npos : letters.iteration->inputs[i].find(letter);
      BALEEN_TRY(read(id, i, axis, dim == std::string::npos ? Placement::replicate() : placed(cut, dim)));
    }
    if (letter == 0) return {};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto dim = letters.iteration->outputs[i].find(letter);
      const bool internal = std::any_of(letters.iteration->internal.begin(), letters.iteration->internal.end(),
                                        [&](const auto& item) { return item.letter == letter; });
      if (dim != std::string::npos)
        outputs[i][axis] = placed(cut, dim);
      else if (!internal)
        outputs[i][axis] = Placement::partial();
    }
    return {};
  }

  static Placement placed(Placement cut, std::size_t dim) {
    cut.argument = static_cast<int>(dim);
    return cut;
  }

  bool passes_partial(const Op& op, const OpLetters& letters, std::size_t axis) const {
    std::vector<std::uint32_t> partial;
    for (std::uint32_t i = 0; i < op.inputs.size(); ++i)
      if (layout(op.inputs[i])[axis] == Placement::partial()) partial.push_back(i);
    return std::find(letters.iteration->linear.begin(), letters.iteration->linear.end(), partial) !=
           letters.iteration->linear.end();
  }

  Status read(OpId id, std::size_t input, std::size_t axis, const Placement& wanted) {
    const ValueId v = graph_.op(id).inputs[input];
    if (layout(v)[axis].same_kind(wanted)) return {};
    BALEEN_TRY_ASSIGN(const ValueId copy, converted(v, with_placement(layout(v), static_cast<int>(axis), wanted)));
    return graph_.set_input(id, input, copy);
  }

  Result<ValueId> converted(ValueId v, const Layout& wanted) {
    const Value& value = graph_.value(v);
    const auto steps = conversion(value.layout, wanted, value.shape, dtype_size(value.dtype), graph_.mesh());
    for (const Step& step : steps) {
      BALEEN_TRY_ASSIGN(v, append_step(graph_, v, step, false));
    }
    return v;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> replaced_;
};

}  // namespace

Status lower_internal_reductions(Graph& graph) { return InternalLowerer(graph).run(); }

}  // namespace baleen
