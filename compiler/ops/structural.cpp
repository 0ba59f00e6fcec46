/// \file The kinds without a kernel: sources, `assign`, and `accumulate_micro`.
#include "compiler/ops/rules.hpp"

namespace baleen::ops {
namespace {

Result<Types> infer_assign(const InferContext& context) {
  BALEEN_TRY(check_attributes("assign", context.attributes, {}));
  BALEEN_TRY(check_count("assign", context, 2, 2));
  const ValueType &target = context.inputs[0], &value = context.inputs[1];
  if (target.dtype != value.dtype || target.shape != value.shape)
    return invalid("assign: the target is " + type_text(target) + " and the value " + type_text(value));
  return Types{};
}

Result<Types> infer_accumulate_micro(const InferContext& context) {
  BALEEN_TRY(check_attributes("accumulate_micro", context.attributes, {{"reduction", AttributeType::text, false}}));
  BALEEN_TRY(check_count("accumulate_micro", context, 1, 1));
  if (context.attributes.has("reduction") && context.attributes.text("reduction") != "max")
    return invalid("accumulate_micro: `reduction` is \"" + context.attributes.text("reduction") +
                   "\"; it is \"max\" or left out");
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
  for (const char* name : {"parameter", "input", "state", "scalar"})
    BALEEN_TRY(registry.add({.name = name,
                             .traits = kStructural,
                             .infer = [name](const InferContext&) -> Result<Types> {
                               return invalid(std::string(name) +
                                              ": a source is declared with its name and type, not appended");
                             },
                             .cost = cost_per_element(0)}));
  BALEEN_TRY(registry.add({.name = "assign",
                           .traits = kStructural | kSideEffect,
                           .infer = infer_assign,
                           .iteration = elementwise,
                           .cost = cost_per_element(0)}));
  const auto linear = [](const Graph& graph, const Op& op) {
    Iteration result = elementwise(graph, op);
    if (!op.attributes.has("reduction")) result.linear = {{0}};
    return result;
  };
  return registry.add({.name = "accumulate_micro",
                       .traits = kStructural | kPure,
                       .infer = infer_accumulate_micro,
                       .iteration = linear,
                       .cost = cost_per_element(1)});
}

}  // namespace baleen::ops
