/// \file From a scheduled graph to ops on local values.
#include <algorithm>

#include "baleen/dtype.hpp"
#include "core/layout/conversion.hpp"
#include "core/layout/piece.hpp"
#include "core/program/expand.hpp"
#include "core/program/passes.hpp"
#include "core/program/region_view.hpp"

namespace baleen {
namespace {

/// Lowers a whole scheduled graph.
class Lowerer {
 public:
  Lowerer(const ScheduledGraph& scheduled, const Device& device, const PersistentLayout& persistent,
          const Coordinates& at)
      : scheduled_(scheduled),
        graph_(scheduled.graph),
        persistent_(persistent),
        emitter_(result_, device),
        map_(graph_.value_count(), kNone) {
    result_.mesh = graph_.mesh();
    result_.at = at;
    result_.at.resize(result_.mesh.axes.size(), 0);
  }

  Result<Lowered> run() {
    result_.registry = &graph_.registry();
    result_.micro_batches = scheduled_.micro_batches;
    for (OpId id : graph_.ops())
      if (const Op& op = graph_.op(id); op.inputs.empty() && op.kind->has(kStructural)) BALEEN_TRY(add_source(op));
    for (const Section& section : scheduled_.sections) {
      result_.sections.push_back({section.name, section.loop, {}});
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
    return std::move(result_);
  }

 private:
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
    for (ValueId& v : lowered.inputs) {
      if (map_[v] == kNone)
        return internal(op.name + " (" + op.kind->name + ") stands before an op that it needs", op.where);
      v = map_[v];
    }
    if (op.kind->has(kStructural) && op.kind->has(kSideEffect)) {
      result_.assigns.push_back({lowered.inputs[0], lowered.inputs[1], section, op.name});
      return {};
    }
    if (op.kind->has(kStructural) && op.attributes.has("from") && !op.kind->has(kCollective))
      return add_free(op, lowered.inputs[0], section);
    if (op.tags.contains("owner"))
      return unsupported(op.name + " (" + op.kind->name + ") took an offer of strategy `" + op.tags.at("owner") +
                             "`, which did not lower it",
                         op.where);
    std::vector<ResultSpec> specs;
    for (ValueId v : op.outputs) specs.push_back(spec(v));
    BALEEN_TRY_ASSIGN(const auto values, emitter_.emit(std::move(lowered), specs, section));
    for (std::size_t i = 0; i < values.size(); ++i) map_[op.outputs[i]] = values[i];
    return {};
  }

  /// A conversion between layouts without traffic.
  Status add_free(const Op& op, LowValue from, std::uint32_t section) {
    const Layout to = *parse_layout(op.attributes.text("to"));
    if (to.size() != 1 || op.kind->name == std::string(to_string(Collective::take_at)))
      return unsupported(op.name + ": `" + op.kind->name + "` is not carried out yet", op.where);
    if (op.kind->name == std::string(to_string(Collective::take_shard))) return take_shard(op, from, to[0], section);
    const std::int64_t axis = op.attributes.integers("axes")[0];
    const bool keeps = result_.at[static_cast<std::size_t>(axis)] == 0;
    Op made;
    made.kind = result_.registry->find(keeps ? "copy" : "pointwise");
    made.name = op.name;
    made.where = op.where;
    if (keeps) {
      made.inputs = {from};
    } else {
      Expression zero;
      const auto result = zero.constant(0);
      made.attributes.set("expression", std::move(zero));
      made.attributes.set("results", Attributes::ints({static_cast<std::int64_t>(result)}));
      made.attributes.set("shape", std::vector<std::int64_t>(result_.values[from].shape));
      made.attributes.set("dtype", Attributes::ints({result_.values[from].dtype}));
    }
    return emit_for(op, std::move(made), section);
  }

  /// The rank's block of a value that it has whole, as a view.
  Status take_shard(const Op& op, LowValue from, const Placement& to, std::uint32_t section) {
    const Value& y = graph_.value(op.outputs[0]);
    const Piece before = piece_of(y.shape, result_.values[from].layout.empty()
                                               ? Layout(result_.mesh.axes.size())
                                               : result_.values[from].layout, result_.mesh, result_.at);
    const Piece after = piece_of(y.shape, y.layout, result_.mesh, result_.at);
    const auto dim = to.cut();
    if (!dim || *dim == kFlat || to.kind != Placement::Kind::shard)
      return unsupported(op.name + ": `take_shard` to " + to_string(to) + " is not carried out yet", op.where);
    const auto d = static_cast<std::size_t>(*dim);
    Op made;
    made.kind = result_.registry->find("slice");
    made.name = op.name;
    made.where = op.where;
    made.inputs = {from};
    const std::int64_t start = after.dims[d].empty() ? 0 : after.dims[d].front().begin - before.dims[d].front().begin;
    made.attributes.set("dim", Attributes::ints({*dim}));
    made.attributes.set("start", Attributes::ints({start}));
    made.attributes.set("length", Attributes::ints({length(after.dims[d])}));
    return emit_for(op, std::move(made), section);
  }

  Status emit_for(const Op& op, Op made, std::uint32_t section) {
    BALEEN_TRY_ASSIGN(const auto values, emitter_.emit(std::move(made), {spec(op.outputs[0])}, section));
    map_[op.outputs[0]] = values[0];
    return {};
  }

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const PersistentLayout& persistent_;
  Lowered result_;
  OpEmitter emitter_;
  std::vector<LowValue> map_;
};

}  // namespace

Result<Lowered> lower(const ScheduledGraph& scheduled, const Device& device, const PersistentLayout& persistent,
                      const Coordinates& at) {
  return Lowerer(scheduled, device, persistent, at).run();
}

}  // namespace baleen
