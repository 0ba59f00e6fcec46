/// \file The kinds without a kernel: sources, `assign`, and `accumulate_micro`.
#include "compiler/ops/families.hpp"
#include "compiler/ops/rules.hpp"

namespace baleen::ops {
namespace {

/// Sources have the type that the graph's own functions are given.
OpKind source(const std::string& name) {
  OpKind kind;
  kind.name = name;
  kind.traits = kStructural;
  kind.infer = [name](const InferContext&) -> Result<Types> {
    return invalid(name + ": a source is declared with its name and type, not appended");
  };
  kind.cost = cost_per_element(0);
  return kind;
}

Result<Types> infer_assign(const InferContext& context) {
  BALEEN_TRY(check_attributes("assign", context.attributes, {}));
  BALEEN_TRY(check_count("assign", context, 2, 2));
  const ValueType &target = context.inputs[0], &value = context.inputs[1];
  if (target.dtype != value.dtype || target.shape != value.shape)
    return invalid("assign: the target is " + type_text(target) + " and the value " + type_text(value));
  return Types{};
}

Result<Types> infer_accumulate_micro(const InferContext& context) {
  BALEEN_TRY(check_attributes("accumulate_micro", context.attributes, {}));
  BALEEN_TRY(check_count("accumulate_micro", context, 1, 1));
  BALEEN_TRY(check_floats("accumulate_micro", {{"the input", context.inputs[0]}}));
  return Types{context.inputs[0]};
}

/// All operands run together.
Iteration elementwise(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  Iteration result;
  result.inputs.assign(op.inputs.size(), all);
  result.outputs.assign(op.outputs.size(), all);
  return result;
}

}  // namespace

Status register_structural(OpRegistry& registry) {
  for (const char* name : {"parameter", "input", "state", "scalar"}) BALEEN_TRY(registry.add(source(name)));

  OpKind assign;
  assign.name = "assign";
  assign.traits = kStructural | kSideEffect;
  assign.infer = infer_assign;
  assign.iteration = elementwise;
  assign.cost = cost_per_element(0);
  BALEEN_TRY(registry.add(std::move(assign)));

  OpKind accumulate;
  accumulate.name = "accumulate_micro";
  accumulate.traits = kStructural | kPure;
  accumulate.infer = infer_accumulate_micro;
  accumulate.iteration = [](const Graph& graph, const Op& op) {
    Iteration result = elementwise(graph, op);
    result.linear = {{0}};
    return result;
  };
  accumulate.cost = cost_per_element(1);
  return registry.add(std::move(accumulate));
}

}  // namespace baleen::ops
