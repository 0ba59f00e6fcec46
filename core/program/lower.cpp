/// \file From a scheduled graph to ops on local values.
#include <algorithm>

#include "baleen/dtype.hpp"
#include "core/program/expand.hpp"
#include "core/program/passes.hpp"
#include "core/program/region_view.hpp"

namespace baleen {
namespace {

/// Lowers a whole scheduled graph.
class Lowerer {
 public:
  Lowerer(const ScheduledGraph& scheduled, const Device& device, const PersistentLayout& persistent)
      : scheduled_(scheduled),
        graph_(scheduled.graph),
        persistent_(persistent),
        emitter_(result_, device),
        map_(graph_.value_count(), kNone) {}

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
      if (result_.values[value].micro.dim >= 0)
        return internal("output `" + output.name + "` is cut into micro-batches");
      result_.values[value].is_output = true;
      result_.outputs.emplace_back(output.name, value);
    }
    return std::move(result_);
  }

 private:
  MicroPlacement micro_of(const Value& value) const {
    const int axis = graph_.mesh().find(kMicroAxis);
    if (axis < 0 || value.layout.empty()) return {};
    const Placement& p = value.layout[static_cast<std::size_t>(axis)];
    return {p.is_shard() ? p.argument : -1, p.is_partial()};
  }

  ResultSpec spec(ValueId id) const {
    const Value& value = graph_.value(id);
    return {value.name, graph_.type(id), micro_of(value), value.role};
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
    std::vector<ResultSpec> specs;
    for (ValueId v : op.outputs) specs.push_back(spec(v));
    BALEEN_TRY_ASSIGN(const auto values, emitter_.emit(std::move(lowered), specs, section));
    for (std::size_t i = 0; i < values.size(); ++i) map_[op.outputs[i]] = values[i];
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

Result<Lowered> lower(const ScheduledGraph& scheduled, const Device& device, const PersistentLayout& persistent) {
  return Lowerer(scheduled, device, persistent).run();
}

}  // namespace baleen
