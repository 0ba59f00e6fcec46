/// \file `top_k`: the largest elements of the last dimension.
#include "compiler/ops/builder.hpp"
#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("top_k", context.attributes, {{"k", AttributeType::integer}}));
  BALEEN_TRY(check_count("top_k", context, 1, 1));
  const Named x{"the input", context.inputs[0]};
  BALEEN_TRY(check_floats("top_k", {x}));
  BALEEN_TRY(check_least_rank("top_k", x, 1));
  const std::int64_t k = context.attributes.integer("k");
  if (k < 1 || k > x.type.shape.back())
    return invalid("top_k: `k` is " + std::to_string(k) + "; the last dimension of " + to_string(x.type.shape) +
                   " allows 1 to " + std::to_string(x.type.shape.back()));
  ValueType values = x.type;
  values.shape.back() = k;
  if (!values.axes.empty()) values.axes.back() = "";
  return Types{values, same_but(values, BALEEN_I32)};
}

/// dx[v] = sum over k of dvalues[k] [ids[k] = v].
Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  if (cotangents[0] == kNone) return Values{kNone};
  const Shape x = graph.value(op.inputs[0]).shape;
  if (x.size() + 1 > BALEEN_MAX_RANK)
    return unsupported("top_k: the gradient of an input of shape " + to_string(x) + " needs one dimension more than " +
                       std::to_string(BALEEN_MAX_RANK));
  Shape whole = x;
  whole.insert(whole.end() - 1, op.attributes.integer("k"));
  const auto last = static_cast<std::uint32_t>(x.size());
  Builder build(graph);
  Expression e;
  const auto hit = e.binary(BALEEN_X_EQ, e.input(0), e.index(last));
  const auto part = e.select(hit, e.input(1), e.constant(0));
  const ValueId spread = build.pointwise({build.trail(op.outputs[1]), build.trail(cotangents[0])}, e, part, whole);
  return build.finish({build.reduce("sum", spread, {static_cast<std::int64_t>(last) - 1}, false)});
}

Iteration iteration(const Graph& graph, const Op& op) {
  std::string rows = letters(graph.value(op.inputs[0]).rank());
  rows.back() = '.';
  return {{rows}, {rows, rows}, {}, {}};
}

}  // namespace

Status register_top_k(OpRegistry& registry) {
  OpKind kind;
  kind.name = "top_k";
  kind.traits = kPure;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost_per_element(1);
  return registry.add(std::move(kind));
}

}  // namespace baleen::ops
