/// \file `norm` (layer and root mean square, over the last dimension) and `norm_grad`.
#include "compiler/ops/builder.hpp"
#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

bool is_layer(const Attributes& attributes) { return attributes.text("kind") == "layer"; }

Status check_kind(const std::string& name, const Attributes& attributes) {
  const std::string& kind = attributes.text("kind");
  if (kind == "layer" || kind == "rms") return {};
  return invalid(name + ": `kind` is \"" + kind + "\"; it is \"layer\" or \"rms\"");
}

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("norm", context.attributes,
                              {{"kind", AttributeType::text}, {"epsilon", AttributeType::number}}));
  BALEEN_TRY(check_kind("norm", context.attributes));
  const bool layer = is_layer(context.attributes);
  BALEEN_TRY(check_count(layer ? "norm (layer)" : "norm (rms)", context, 2, layer ? 3 : 2));
  if (!(context.attributes.number("epsilon") >= 0))
    return invalid("norm: `epsilon` is " + std::to_string(context.attributes.number("epsilon")) +
                   "; it must not be negative");
  const char* names[] = {"x", "gamma", "beta"};
  std::vector<Named> operands;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) operands.push_back({names[i], context.inputs[i]});
  BALEEN_TRY(check_floats("norm", operands));
  const Named& x = operands[0];
  BALEEN_TRY(check_least_rank("norm", x, 1));
  for (std::size_t i = 1; i < operands.size(); ++i)
    BALEEN_TRY(check_shape("norm", operands[i], {x.type.shape.back()}, x));
  const ValueType statistic = same_but(without_last(x.type), wide(x.type.dtype));
  return layer ? Types{x.type, statistic, statistic} : Types{x.type, statistic};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  BALEEN_TRY(only_first_result("norm", "statistics", cotangents));
  const bool bias = op.inputs.size() > 2;
  Values inputs{op.inputs[0], op.inputs[1], cotangents[0], op.outputs[1]};
  if (is_layer(op.attributes)) inputs.push_back(op.outputs[2]);
  Builder build(graph);
  Values made = build.many("norm_grad", inputs,
                           {{"kind", op.attributes.text("kind")}, {"bias", Attributes::ints({bias})}}, bias ? 3 : 2);
  if (bias && wanted[2]) made[2] = build.cast(made[2], graph.value(op.inputs[2]).dtype);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!wanted[i]) made[i] = kNone;
  return build.finish(made);
}

Iteration iteration(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank()), rows = all.substr(0, all.size() - 1);
  const std::string last(1, all.back());
  Iteration result;
  result.inputs = {all, last};
  if (op.inputs.size() > 2) result.inputs.push_back(last);
  result.outputs = {all, rows};
  if (is_layer(op.attributes)) result.outputs.push_back(rows);
  result.internal = {{all.back(), rows, is_layer(op.attributes) ? 2 : 1}};
  return result;
}

/// Sum over the last dimension (kept), divided by its extent; of fp32 where x has 16 bits.
ValueId mean_last(Builder& build, ValueId x) {
  Expression e;
  const auto sum = e.input(0);
  const auto scale = e.constant(static_cast<double>(build.shape(x).empty() ? 1 : build.shape(x).back()));
  const ValueId total = build.reduce_last("sum", x, wide(build.dtype(x)));
  return build.pointwise({total}, e, e.binary(BALEEN_X_DIV, sum, scale));
}

/// y = (x - mean) rstd gamma + beta, rstd = (mean of (x - mean)^2 + epsilon)^-1/2; rms: without the mean.
Result<Values> expand(Graph& graph, const Op& op) {
  Builder build(graph);
  const bool layer = is_layer(op.attributes);
  const ValueId x = op.inputs[0];
  const Shape rows = graph.value(op.outputs[1]).shape;
  const std::size_t leading = rows.size();
  ValueId mean = kNone, centred = x;
  if (layer) {
    mean = mean_last(build, x);
    centred = build.binary(BALEEN_X_SUB, x, mean);
  }
  const ValueId variance = mean_last(build, build.binary(BALEEN_X_MUL, centred, centred, wide(build.dtype(x))));
  Expression e;
  const auto shifted = e.binary(BALEEN_X_ADD, e.input(0), e.constant(op.attributes.number("epsilon")));
  const ValueId rstd = build.pointwise({variance}, e, e.unary(BALEEN_X_RSQRT, shifted));
  Expression f;
  Values operands{centred, rstd, build.lead(op.inputs[1], leading)};
  auto y = f.binary(BALEEN_X_MUL, f.binary(BALEEN_X_MUL, f.input(0), f.input(1)), f.input(2));
  if (op.inputs.size() > 2) {
    operands.push_back(build.lead(op.inputs[2], leading));
    y = f.binary(BALEEN_X_ADD, y, f.input(3));
  }
  Values results{build.pointwise(operands, f, y, {}, build.dtype(x)), build.reshape(rstd, rows)};
  if (layer) results.push_back(build.reshape(mean, rows));
  return build.finish(results);
}

Result<Types> infer_grad(const InferContext& context) {
  BALEEN_TRY(check_attributes("norm_grad", context.attributes,
                              {{"kind", AttributeType::text}, {"bias", AttributeType::integer, false}}));
  BALEEN_TRY(check_kind("norm_grad", context.attributes));
  const bool layer = is_layer(context.attributes);
  BALEEN_TRY(check_count("norm_grad", context, layer ? 5 : 4, layer ? 5 : 4));
  const char* names[] = {"x", "gamma", "dy", "rstd", "mean"};
  std::vector<Named> operands;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) operands.push_back({names[i], context.inputs[i]});
  BALEEN_TRY(check_floats("norm_grad", operands));
  const Named& x = operands[0];
  BALEEN_TRY(check_least_rank("norm_grad", x, 1));
  const Shape rows = without_last(x.type).shape;
  BALEEN_TRY(check_shape("norm_grad", operands[1], {x.type.shape.back()}, x));
  BALEEN_TRY(check_shape("norm_grad", operands[2], x.type.shape, x));
  for (std::size_t i = 3; i < operands.size(); ++i) BALEEN_TRY(check_shape("norm_grad", operands[i], rows, x));
  const std::int64_t bias = context.attributes.integer_or("bias", 0);
  if (bias != 0 && !layer) return invalid("norm_grad: `bias` is 1, but a norm of kind \"rms\" has none");
  const ValueType& gamma = context.inputs[1];
  return bias ? Types{x.type, gamma, gamma} : Types{x.type, gamma};
}

Iteration iteration_grad(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank()), rows = all.substr(0, all.size() - 1);
  const std::string last(1, all.back());
  Iteration result;
  result.inputs = {all, last, all, rows};
  if (op.inputs.size() > 4) result.inputs.push_back(rows);
  result.outputs = {all, last};
  if (op.outputs.size() > 2) result.outputs.push_back(last);
  result.linear = {{2}};
  result.internal = {{all.back(), rows, is_layer(op.attributes) ? 2 : 1}};
  return result;
}

/// With n = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - n mean(g n)), without mean(g) for rms;
/// dgamma = sum dy n, dbeta = sum dy over the rows.
Result<Values> expand_grad(Graph& graph, const Op& op) {
  Builder build(graph);
  const bool layer = is_layer(op.attributes);
  const ValueId x = op.inputs[0], dy = op.inputs[2], rstd = build.trail(op.inputs[3]);
  const std::size_t leading = graph.value(op.inputs[3]).rank();
  ValueId centred = x;
  if (layer) centred = build.binary(BALEEN_X_SUB, x, build.trail(op.inputs[4]));
  const ValueId n = build.binary(BALEEN_X_MUL, centred, rstd);
  const baleen_dtype_t sums = wide(build.dtype(x)), weights = graph.value(op.outputs[1]).dtype;
  const ValueId g = build.binary(BALEEN_X_MUL, dy, build.lead(op.inputs[1], leading), sums);
  const ValueId along = mean_last(build, build.binary(BALEEN_X_MUL, g, n));
  Expression e;
  Values operands{g, n, along, rstd};
  auto dx = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, e.input(1), e.input(2)));
  if (layer) {
    operands.push_back(mean_last(build, g));
    dx = e.binary(BALEEN_X_SUB, dx, e.input(4));
  }
  std::vector<std::int64_t> rows;
  for (std::size_t d = 0; d < leading; ++d) rows.push_back(static_cast<std::int64_t>(d));
  Values results{build.pointwise(operands, e, e.binary(BALEEN_X_MUL, dx, e.input(3)), {}, build.dtype(x)),
                 build.reduce("sum", build.binary(BALEEN_X_MUL, dy, n), rows, false, weights)};
  if (op.outputs.size() > 2) results.push_back(build.reduce("sum", dy, rows, false, weights));
  return build.finish(results);
}

}  // namespace

Status register_norm(OpRegistry& registry) {
  OpKind kind;
  kind.name = "norm";
  kind.traits = kPure | kSensitive | kReduction;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost_per_element(8);
  kind.expand = expand;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "norm_grad";
  grad.traits = kPure | kSensitive | kReduction;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = cost_per_element(14);
  grad.expand = expand_grad;
  return registry.add(std::move(grad));
}

}  // namespace baleen::ops
