/// \file `copy` and `accumulate`.
#include "compiler/ops/builder.hpp"

namespace baleen::ops {
namespace {

Result<Types> infer_copy(const InferContext& context) {
  BALEEN_TRY(check_attributes("copy", context.attributes, {}));
  BALEEN_TRY(check_count("copy", context, 1, 1));
  return Types{context.inputs[0]};
}

Result<Types> infer_accumulate(const InferContext& context) {
  BALEEN_TRY(check_attributes("accumulate", context.attributes, {}));
  BALEEN_TRY(check_count("accumulate", context, 2, 2));
  const Named acc{"acc", context.inputs[0]}, x{"x", context.inputs[1]};
  BALEEN_TRY(check_floats("accumulate", {acc, x}));
  BALEEN_TRY(check_shape("accumulate", x, acc.type.shape, acc));
  return Types{acc.type};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  Builder build(graph);
  Values result(op.inputs.size(), kNone);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (wanted[i]) result[i] = build.cast(cotangents[0], graph.value(op.inputs[i]).dtype);
  return build.finish(result);
}

Iteration iteration(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.outputs[0]).rank());
  Iteration result;
  result.inputs.assign(op.inputs.size(), all);
  result.outputs = {all};
  result.linear = op.inputs.size() == 1 ? std::vector<std::vector<std::uint32_t>>{{0}}
                                        : std::vector<std::vector<std::uint32_t>>{{0, 1}};
  return result;
}

Result<Values> expand_accumulate(Graph& graph, const Op& op) {
  Builder build(graph);
  return build.finish({build.binary(BALEEN_X_ADD, op.inputs[0], op.inputs[1], graph.value(op.outputs[0]).dtype)});
}

}  // namespace

Status register_move(OpRegistry& registry) {
  BALEEN_TRY(registry.add({.name = "copy",
                           .traits = kPure | kCheap,
                           .infer = infer_copy,
                           .gradient = gradient,
                           .iteration = iteration,
                           .cost = cost_per_element(0)}));
  return registry.add({.name = "accumulate",
                       .traits = kPure | kCheap,
                       .infer = infer_accumulate,
                       .gradient = gradient,
                       .iteration = iteration,
                       .cost = cost_per_element(1),
                       .expand = expand_accumulate});
}

}  // namespace baleen::ops
