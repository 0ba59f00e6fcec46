/// \file verify_layouts: every op against its iteration rule, axis by axis.
#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/layout/piece.hpp"
#include "compiler/placement/local_spread.hpp"
#include "compiler/placement/op_letters.hpp"
#include "compiler/placement/passes.hpp"

namespace baleen {
namespace {

bool is_conversion(const Op& op) { return op.kind->has(kStructural) && op.attributes.has("from"); }

class LayoutChecker {
 public:
  LayoutChecker(const Graph& graph, std::optional<Error>* stated)
      : graph_(graph), stated_(stated), mesh_(real_axes(graph.mesh())), local_(graph.value_count(), 0), spread_(graph) {
    if (mesh_.axes.size() == graph.mesh().axes.size()) return;
    on_ranks_.resize(graph.value_count());
    for (OpId id : graph.ops())
      for (ValueId v : graph.op(id).outputs) on_ranks_[v] = on_real_axes(graph.value(v).layout);
  }

  Status run() {
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const bool region = is_region(op);
      for (ValueId v : op.outputs) {
        local_[v] = region && op.kind->name != "from_local";
        if (!local_[v]) BALEEN_TRY(check_value(op, v));
      }
      if (region) {
        BALEEN_TRY(check_region(op));
        if (op.kind->name != "from_local") spread_.visit(op);
      } else if (is_conversion(op)) {
        BALEEN_TRY(check_conversion(op));
      } else if (!op.inputs.empty() && op.schedule->owner.empty()) {
        BALEEN_TRY(check_op(op));
      }
    }
    return check_outputs();
  }

 private:
  /// Micro-batches are one rank's own, and `shard_micro` sees to them.
  static Mesh real_axes(Mesh mesh) {
    std::erase_if(mesh.axes, is_virtual);
    return mesh;
  }
  Layout on_real_axes(Layout layout) const {
    layout.resize(std::min(layout.size(), mesh_.axes.size()));
    return canonical(std::move(layout));
  }
  const Layout& layout(ValueId v) const { return on_ranks_.empty() ? graph_.value(v).layout : on_ranks_[v]; }
  const Placement& on(ValueId v, std::size_t axis) const { return layout(v)[axis]; }

  Error fail(const Op& op, const std::string& what) const {
    return internal("op " + std::to_string(op.id) + " (" + op.kind->name +
                        (op.name.empty() ? "" : " `" + op.name + "`") + "): " + what,
                    op.where);
  }

  /// Opens a region, closes one, or stands inside.
  bool is_region(const Op& op) const {
    const std::string& kind = op.kind->name;
    return kind == "to_local" || kind == "from_local" || kind == "axis_index" ||
           std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return local_[v] != 0; });
  }

  Status check_value(const Op& op, ValueId v) const {
    if (Status status = check(layout(v), graph_.value(v).shape, mesh_); !status)
      return fail(op, "result %" + std::to_string(v) + ": " + status.error().message);
    return {};
  }

  /// Whether `local` has room for each rank's piece of `x`: pieces are blocks of dimensions, or flat.
  bool holds_pieces(const Shape& local, const Value& x) const {
    const Shape most = local_shape(x.shape, layout(x.id), mesh_);
    return std::equal(most.begin(), most.end(), local.begin(), local.end(), std::less_equal<>());
  }

  Status check_region(const Op& op) {
    if (op.kind->name == "to_local") {
      const Value &x = graph_.value(op.inputs[0]), &y = graph_.value(op.outputs[0]);
      if (local_[x.id] || !holds_pieces(y.shape, x))
        return fail(op, "a piece of " + to_string(x.shape) + " in " + to_string(layout(x.id)) + " is " +
                            to_string(local_shape(x.shape, layout(x.id), mesh_)) + ", and does not fit " +
                            to_string(y.shape));
      return {};
    }
    if (op.kind->name == "from_local") {
      const Value &x = graph_.value(op.inputs[0]), &y = graph_.value(op.outputs[0]);
      const std::string lies = to_string(layout(y.id));
      if (!local_[x.id] || op.attributes.text("layout") != lies || !holds_pieces(x.shape, y))
        return fail(op, to_string(x.shape) + " is no piece of " + to_string(y.shape) + " in " + lies);
      const std::string wrong = spread_.contradiction(op);
      if (!wrong.empty() && !stated_) return fail(op, wrong);
      if (!wrong.empty() && !*stated_) *stated_ = fail(op, wrong);
      return {};
    }
    if (op.kind->has(kCollective))
      if (const std::string unmet = spread_.unmet(op); !unmet.empty()) return fail(op, unmet);
    if (op.kind->has(kSideEffect) && op.kind->has(kStructural))
      return fail(op,
                  "it keeps a value of a local region, which may differ from rank to rank; close it with from_local");
    for (ValueId v : op.inputs)
      if (!local_[v] && !is_whole(layout(v)))
        return fail(op, "it is in a local region and reads %" + std::to_string(v) + ", which lies as " +
                            to_string(layout(v)) + "; open it with to_local");
    return {};
  }

  Status check_outputs() const {
    for (const GraphOutput& output : graph_.outputs())
      for (std::size_t axis = 0; axis < layout(output.value).size(); ++axis)
        if (const Placement& lies = on(output.value, axis); !lies.is_replicate())
          return internal("output `" + output.name + "`: along `" + mesh_.axes[axis].name + "` it lies as " +
                          to_string(lies) + ", and what a graph gives is whole on every rank");
    return {};
  }

  /// Which of a conversion's axes it says something else of than what is so; all, where that is of no single one.
  static std::vector<std::size_t> untrue(const Op& op, const Layout& before, const Layout& after) {
    const auto from = parse_layout(op.attributes.text("from")), to = parse_layout(op.attributes.text("to"));
    std::vector<std::size_t> all(before.size()), some;
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const std::size_t i : all)
      if (from && to && (!before[i].same_kind((*from)[i]) || !after[i].same_kind((*to)[i]))) some.push_back(i);
    return some.empty() ? all : some;
  }

  Status check_conversion(const Op& op) const {
    const Layout &from = layout(op.inputs[0]), &to = layout(op.outputs[0]);
    const auto& axes = op.attributes.integers("axes");
    Layout before, after, between = from;
    for (std::int64_t axis : axes) {
      if (axis >= static_cast<std::int64_t>(from.size()))
        return fail(op, "the mesh has no axis " + std::to_string(axis));
      before.push_back(from[static_cast<std::size_t>(axis)]);
      after.push_back(to[static_cast<std::size_t>(axis)]);
    }
    if (axes.size() == 1) between = with_placement(from, static_cast<int>(axes[0]), after[0]);
    if (axes.size() > 1) between = with_order(from, *after[0].cut(), split_order(to, *after[0].cut()));
    if (to_string(before) == op.attributes.text("from") && to_string(after) == op.attributes.text("to") &&
        between == to)
      return {};
    std::string names;
    for (std::size_t i : untrue(op, before, after))
      names += (names.empty() ? "`" : ", `") + mesh_.axes[static_cast<std::size_t>(axes[i])].name + "`";
    // What an earlier step left undone is found here, where the layouts meet.
    std::string unsaid;
    for (std::size_t axis = 0; axis < from.size() && axis < to.size(); ++axis)
      if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) == axes.end() && !from[axis].same_kind(to[axis]))
        unsaid += "; along `" + mesh_.axes[axis].name + "` it turns " + to_string(from[axis]) + " into " +
                  to_string(to[axis]) + " and does not say so";
    return fail(op, "along " + names + " it turns " + to_string(from) + " into " + to_string(to) + " and says from " +
                        op.attributes.text("from") + " to " + op.attributes.text("to") + unsaid);
  }

  Status check_op(const Op& op) const {
    for (ValueId v : op.inputs)
      if (layout(v).size() != mesh_.axes.size()) return fail(op, "operand %" + std::to_string(v) + " has no layout");
    if (op.kind->has(kStructural) && op.kind->has(kSideEffect)) {
      if (layout(op.inputs[0]) == layout(op.inputs[1])) return {};
      return fail(op, "the target lies as " + to_string(layout(op.inputs[0])) + " and the value as " +
                          to_string(layout(op.inputs[1])));
    }
    const OpLetters letters = letters_of(graph_, op);
    for (std::size_t axis = 0; axis < mesh_.axes.size(); ++axis)
      if (!fits(op, letters, axis))
        return fail(op, "along `" + mesh_.axes[axis].name + "` it cannot make " + placements(op.outputs, axis) +
                            " of " + placements(op.inputs, axis));
    return check_nesting(op, letters);
  }

  std::string placements(const Ids& values, std::size_t axis) const {
    std::string text;
    for (ValueId v : values) text += (text.empty() ? "" : " ") + to_string(on(v, axis));
    return text;
  }

  bool fits(const Op& op, const OpLetters& letters, std::size_t axis) const {
    const ValueId first = op.inputs[0];
    auto all = [&](auto&& good) {
      return std::all_of(op.inputs.begin(), op.inputs.end(), good) &&
             std::all_of(op.outputs.begin(), op.outputs.end(), good);
    };
    if (all([&](ValueId v) { return on(v, axis).is_replicate(); })) return true;
    if (on(first, axis).is_at()) return all([&](ValueId v) { return on(v, axis) == on(first, axis); });
    if (passes_partial(op, letters, axis) || passes_maxima(op, axis) || is_flat(op, letters, axis)) return true;
    return std::any_of(letters.letters.begin(), letters.letters.end(),
                       [&](const Letter& letter) { return shards(op, letters, letter.name, axis); });
  }

  bool passes_partial(const Op& op, const OpLetters& letters, std::size_t axis) const {
    std::vector<std::uint32_t> partial;
    for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
      if (on(op.inputs[i], axis).is_partial())
        partial.push_back(i);
      else if (!on(op.inputs[i], axis).is_replicate())
        return false;
    }
    const auto& sets = letters.iteration->linear;
    auto same = [&](std::vector<std::uint32_t> set) {
      std::sort(set.begin(), set.end());
      return set == partial;
    };
    return std::any_of(sets.begin(), sets.end(), same) &&
           std::all_of(op.outputs.begin(), op.outputs.end(),
                       [&](ValueId v) { return on(v, axis) == Placement::partial(); });
  }

  /// The largest over micro-batches of a rank's maxima is a maximum of a part still.
  bool passes_maxima(const Op& op, std::size_t axis) const {
    return op.kind->name == "accumulate_micro" && op.attributes.has("reduction") &&
           on(op.inputs[0], axis) == Placement::partial_max() && on(op.outputs[0], axis) == Placement::partial_max();
  }

  bool is_flat(const Op& op, const OpLetters& letters, std::size_t axis) const {
    auto lies = [&](ValueId v, const Placement& scalar) {
      return on(v, axis).same_kind(graph_.value(v).rank() == 0 ? scalar : Placement::flat());
    };
    return letters.is_elementwise() &&
           std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](ValueId v) { return lies(v, Placement::replicate()); }) &&
           std::all_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return lies(v, Placement::partial()); });
  }

  /// Whether the axis shards just this letter, in plain blocks or in balanced chunks.
  bool shards(const Op& op, const OpLetters& letters, char letter, std::size_t axis) const {
    const auto& internal = letters.iteration->internal;
    const bool whole = std::any_of(internal.begin(), internal.end(), [&](const auto& i) { return i.letter == letter; });
    auto all_lie = [&](const auto& ids, const auto& operands, const Placement& cut, const Placement& without) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto dim = operands[i].find(letter);
        const Placement own{cut.kind, static_cast<int>(dim), 0};
        if (!on(ids[i], axis).same_kind(dim == std::string::npos ? without : own)) return false;
      }
      return true;
    };
    auto cut_so = [&](const Placement& cut) {
      auto makes = [&](const Placement& without) {
        return all_lie(op.outputs, letters.iteration->outputs, cut, without);
      };
      return all_lie(op.inputs, letters.iteration->inputs, cut, Placement::replicate()) &&
             (whole ? makes(Placement::replicate()) || (is_maximum(op) && makes(Placement::partial_max()))
                    : makes(Placement::partial()));
    };
    return cut_so(Placement::shard(0)) || cut_so(Placement::balanced(0));
  }

  /// All operands that hold a letter nest its splits alike.
  Status check_nesting(const Op& op, const OpLetters& letters) const {
    for (const Letter& letter : letters.letters) {
      std::optional<std::vector<int>> order;
      for (const auto& [ids, operands] :
           {std::pair{&op.inputs, &letters.iteration->inputs}, std::pair{&op.outputs, &letters.iteration->outputs}})
        for (std::size_t i = 0; i < ids->size(); ++i) {
          const auto dim = (*operands)[i].find(letter.name);
          if (dim == std::string::npos) continue;
          const auto own = split_order(layout((*ids)[i]), static_cast<int>(dim));
          if (order && *order != own)
            return fail(op, "its operands nest the splits of " + OpLetters::describe(letter) + " in different orders");
          order = own;
        }
    }
    return {};
  }

  const Graph& graph_;
  std::optional<Error>* const stated_;
  const Mesh mesh_;               ///< without the axis of micro-batches
  std::vector<Layout> on_ranks_;  ///< by value; empty where no axis is left out
  std::vector<char> local_;       ///< by value: has a local shape, and no layout
  LocalSpread spread_;
};

}  // namespace

Status verify_layouts(const Graph& graph, std::optional<Error>* stated) { return LayoutChecker(graph, stated).run(); }

}  // namespace baleen
