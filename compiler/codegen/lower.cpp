/// \file From a scheduled graph to ops on local values.
#include <algorithm>

#include "baleen/dtype.hpp"
#include "compiler/codegen/exchange.hpp"
#include "compiler/codegen/passes.hpp"
#include "compiler/codegen/region_view.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {
namespace {

/// Lowers a whole scheduled graph.
class Lowerer {
 public:
  Lowerer(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
          const Coordinates& at)
      : scheduled_(scheduled),
        graph_(scheduled.graph),
        persistent_(persistent),
        emitter_(result_, target),
        map_(graph_.value_count(), kNone),
        elsewhere_(graph_.value_count(), 0) {
    result_.mesh = graph_.mesh();
    result_.alignment = target.alignment();
    result_.at = at;
    result_.at.resize(result_.mesh.axes.size(), 0);
  }

  Result<Lowered> run() {
    result_.registry = &graph_.registry();
    result_.micro_batches = scheduled_.micro_batches;

    for (OpId id : graph_.ops())
      if (const Op& op = graph_.op(id); op.inputs.empty() && op.kind->has(kStructural)) BALEEN_TRY(add_source(op));
    for (const Section& section : scheduled_.sections) {
      result_.sections.push_back({section.name, section.phase, section.loop, {}, section.part});
      for (OpId id : section.ops) BALEEN_TRY(add_op(graph_.op(id)));
    }
    for (const GraphOutput& output : graph_.outputs()) {
      const LowValue value = map_[output.value];
      if (value == kNone) return internal("output `" + output.name + "` is computed in no section");
      if (!result_.values[value].layout.empty())
        return internal("output `" + output.name + "` is not whole: " + to_string(result_.values[value].layout));
      result_.values[value].is_output = true;
      result_.outputs.emplace_back(output.name, value);
    }
    for (ValueId v = 0; v < map_.size(); ++v)
      if (map_[v] != kNone) {
        result_.values[map_[v]].offloaded_ahead = graph_.value(v).offloaded_ahead;
        result_.values[map_[v]].offloaded_piece = graph_.value(v).offloaded_piece;
      }
    drop_unread();
    return std::move(result_);
  }

 private:
  /// Drops ops whose results nobody reads, such as zeros in place of values that other ranks hold.
  void drop_unread() {
    std::vector<char> read(result_.values.size(), 0);
    for (const auto& [name, value] : result_.outputs) read[value] = 1;
    for (const LoweredAssign& assign : result_.assigns) read[assign.target] = read[assign.value] = 1;
    for (auto section = result_.sections.rbegin(); section != result_.sections.rend(); ++section) {
      std::vector<LowOp> kept;
      for (auto it = section->ops.rbegin(); it != section->ops.rend(); ++it) {
        const LoweredOp& op = result_.ops[*it];
        const auto is_read = [&](LowValue v) { return read[v] != 0; };
        if (op.means != LoweringKind::collective && std::none_of(op.op.outputs.begin(), op.op.outputs.end(), is_read))
          continue;
        for (LowValue v : op.op.inputs) read[v] = 1;
        kept.push_back(*it);
      }
      section->ops.assign(kept.rbegin(), kept.rend());
    }
  }

  ResultSpec spec(ValueId id) const {
    const Value& value = graph_.value(id);
    return {value.name, graph_.type(id), is_whole(value.layout) ? Layout{} : value.layout, value.role};
  }

  Status add_source(const Op& op) {
    const ValueId id = op.outputs[0];
    const Value& value = graph_.value(id);
    if (value.role == Role::parameter || value.role == Role::state) {
      const PersistentBuffer* buffer = persistent_.find(op.attributes.text("name"));
      if (!buffer || buffer->spec.type.dtype != value.dtype || buffer->spec.type.shape != value.shape)
        return internal(op.kind->name + " `" + value.name + "` is not among the persistent tensors with this type",
                        op.where);
    }
    BALEEN_TRY_ASSIGN(map_[id], emitter_.add_value(spec(id), op.where));
    result_.sources.push_back(map_[id]);
    return {};
  }

  Status add_op(const Op& op) {
    const auto section = static_cast<std::uint32_t>(result_.sections.size() - 1);
    Op lowered = op;
    lowered.outputs.clear();
    if (is_elsewhere(op)) return leave_out(op, section);
    for (ValueId& v : lowered.inputs) {
      if (map_[v] == kNone) return internal(title_of(op) + " stands before an op that it needs", op.where);
      v = map_[v];
    }
    if (op.kind->has(kStructural) && op.kind->has(kSideEffect)) {
      if (result_.elements(lowered.inputs[0]) > 0)
        result_.assigns.push_back({lowered.inputs[0], lowered.inputs[1], section, op.name});
      return {};
    }
    if (op.kind->has(kCollective) || (op.kind->has(kStructural) && op.attributes.has("from")))
      return add_exchange(op, lowered.inputs[0], section);
    if (op.kind->name == "to_local" || op.kind->name == "from_local") return add_border(op, lowered.inputs[0], section);
    if (op.kind->name == "axis_index") return add_index(op, section);
    if (op.kind->name == "pick") return add_pick(op, lowered.inputs, section);
    if (!op.schedule->owner.empty())
      return unsupported(
          title_of(op) + " took an offer of strategy `" + op.schedule->owner + "`, which did not lower it", op.where);
    std::vector<ResultSpec> specs;
    for (ValueId v : op.outputs) specs.push_back(spec(v));
    BALEEN_TRY_ASSIGN(const auto values, emitter_.emit(std::move(lowered), specs, section));
    for (std::size_t i = 0; i < values.size(); ++i) map_[op.outputs[i]] = values[i];
    return {};
  }

  /// Whether it stands in a local region of what lies at another coordinate.
  bool is_elsewhere(const Op& op) const {
    const auto opened = [&](ValueId v) { return op.kind->name == "to_local" && !result_.values[map_[v]].held; };
    return std::any_of(op.inputs.begin(), op.inputs.end(),
                       [&](ValueId v) { return elsewhere_[v] || (map_[v] != kNone && opened(v)); });
  }

  /// This rank takes no part in the region, nor in its calls.
  Status leave_out(const Op& op, std::uint32_t section) {
    for (ValueId v : op.outputs) elsewhere_[v] = op.kind->name != "from_local";
    if (elsewhere_[op.outputs[0]]) return {};
    BALEEN_TRY_ASSIGN(map_[op.outputs[0]], Packer(result_, emitter_, op, section).zeros(spec(op.outputs[0])));
    return {};
  }

  Layout layout_of(LowValue v) const {
    const Layout& layout = result_.values[v].layout;
    return layout.empty() ? Layout(result_.mesh.axes.size()) : layout;
  }

  /// A conversion between layouts, or a collective of a local region.
  Status add_exchange(const Op& op, LowValue x, std::uint32_t section) {
    Exchange exchange(result_, emitter_, op, section);
    const ResultSpec to = spec(op.outputs[0]);
    if (!op.attributes.has("from")) {
      BALEEN_TRY_ASSIGN(map_[op.outputs[0]], exchange.in_region(x, to));
      return {};
    }
    const CollectiveOp collective = *collective_named(op.kind->name);
    const std::size_t before = result_.ops.size();
    BALEEN_TRY_ASSIGN(map_[op.outputs[0]], exchange.convert(collective, x, layout_of(x), to));
    for (std::size_t made = before; made < result_.ops.size(); ++made) result_.ops[made].exchanged = op.id;
    return {};
  }

  /// From here on the elements have another shape: one that is alike on all ranks, with zeros where this one's piece
  /// ends, or that of the piece.
  Status add_border(const Op& op, LowValue x, std::uint32_t section) {
    Packer packer(result_, emitter_, op, section);
    const ResultSpec to = spec(op.outputs[0]);
    Shape wanted = to.type.shape;
    if (!to.layout.empty()) wanted = local_shape(wanted, to.layout, result_.mesh, result_.at);
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      const std::int64_t missing = wanted[d] - packer.shape(x)[d];
      if (missing > 0) {
        Shape shape = packer.shape(x);
        shape[d] = missing;
        BALEEN_TRY_ASSIGN(const LowValue zeros, packer.zeros(result_.values[x].dtype, shape));
        BALEEN_TRY_ASSIGN(x, packer.concat({x, zeros}, d));
      } else {
        BALEEN_TRY_ASSIGN(x, packer.slice(x, d, {0, wanted[d]}));
      }
    }
    BALEEN_TRY_ASSIGN(map_[op.outputs[0]], packer.finish(x, to));
    return {};
  }

  Status add_pick(const Op& op, const std::vector<LowValue>& inputs, std::uint32_t section) {
    const auto own = static_cast<std::size_t>(result_.at[static_cast<std::size_t>(op.attributes.integers("axes")[0])]);
    if (own >= inputs.size())
      return internal(op.name + " (pick): there is nothing for coordinate " + std::to_string(own), op.where);
    Packer packer(result_, emitter_, op, section);
    BALEEN_TRY_ASSIGN(map_[op.outputs[0]], packer.finish(inputs[own], spec(op.outputs[0])));
    return {};
  }

  Status add_index(const Op& op, std::uint32_t section) {
    const auto axis = static_cast<std::size_t>(op.attributes.integers("axes")[0]);
    Packer packer(result_, emitter_, op, section);
    BALEEN_TRY_ASSIGN(map_[op.outputs[0]], packer.constant(static_cast<double>(result_.at[axis]), spec(op.outputs[0])));
    return {};
  }

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const PersistentLayout& persistent_;
  Lowered result_;
  OpEmitter emitter_;
  std::vector<LowValue> map_;
  std::vector<char> elsewhere_;  ///< by value: of a region that this rank takes no part in
};

}  // namespace

Result<Lowered> lower(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
                      const Coordinates& at) {
  return Lowerer(scheduled, target, persistent, at).run();
}

}  // namespace baleen
