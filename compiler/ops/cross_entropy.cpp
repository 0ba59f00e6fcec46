/// \file `cross_entropy` of logits against class ids, and `cross_entropy_grad`.
#include "compiler/ops/families.hpp"
#include "compiler/ops/fuse_projection.hpp"
#include "compiler/ops/loss.hpp"

namespace baleen::ops {

Status check_loss_attributes(const std::string& kind, const Attributes& attributes, std::vector<AttributeRule> more) {
  more.push_back({"ignore_index", AttributeType::integer, false});
  more.push_back({"smoothing", AttributeType::number, false});
  BALEEN_TRY(check_attributes(kind, attributes, more));
  const double smoothing = attributes.number_or("smoothing", 0);
  if (smoothing >= 0 && smoothing < 1) return {};
  return invalid(kind + ": `smoothing` is " + std::to_string(smoothing) + "; it must be at least 0 and less than 1");
}

Attributes loss_attributes(const Attributes& attributes) {
  Attributes result;
  for (const auto& [name, attribute] : attributes)
    if (name == "ignore_index" || name == "smoothing") result.set(name, attribute);
  return result;
}

Status check_loss_rows(const std::string& kind, const Named& x, const std::vector<Named>& operands) {
  const Shape rows = without_last(x.type).shape;
  for (const Named& operand : operands) BALEEN_TRY(check_shape(kind, operand, rows, x));
  return check_ids(kind, operands[0]);
}

ValueType loss_row(const ValueType& x) { return same_but(without_last(x), wide(x.dtype)); }

int loss_statistics(const Attributes& attributes) { return attributes.number_or("smoothing", 0) > 0 ? 4 : 3; }

namespace {

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_loss_attributes("cross_entropy", context.attributes));
  BALEEN_TRY(check_count("cross_entropy", context, 2, 2));
  const Named x{"x", context.inputs[0]}, target{"target", context.inputs[1]};
  BALEEN_TRY(check_floats("cross_entropy", {x}));
  BALEEN_TRY(check_least_rank("cross_entropy", x, 1));
  BALEEN_TRY(check_loss_rows("cross_entropy", x, {target}));
  const ValueType row = loss_row(x.type);
  return Types{row, row};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  BALEEN_TRY(only_first_result("cross_entropy", "lse", cotangents));
  Builder build(graph);
  const ValueId dx =
      build.one("cross_entropy_grad", {op.inputs[0], op.inputs[1], op.outputs[1], cotangents[0]}, op.attributes);
  return build.finish({dx, kNone});
}

Iteration iteration(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank()), rows = all.substr(0, all.size() - 1);
  return {{all, rows}, {rows, rows}, {}, {{all.back(), rows, loss_statistics(op.attributes)}}};
}

/// 0 where the target is `ignore_index`, else `value`.
std::uint32_t unless_ignored(Expression& e, const Attributes& attributes, std::uint32_t target, std::uint32_t value) {
  if (!attributes.has("ignore_index")) return value;
  const auto ignored =
      e.binary(BALEEN_X_EQ, target, e.constant(static_cast<double>(attributes.integer("ignore_index"))));
  return e.select(ignored, e.constant(0), value);
}

/// lse = m + log sum exp(x - m); loss = lse - (1 - s) x[target] - s mean(x).
Result<Values> expand(Graph& graph, const Op& op) {
  Builder build(graph);
  const ValueId x = op.inputs[0], target = build.trail(op.inputs[1]);
  const baleen_dtype_t sums = graph.value(op.outputs[0]).dtype;
  const Shape whole = graph.value(x).shape, rows = graph.value(op.outputs[0]).shape;
  const auto last = static_cast<std::uint32_t>(whole.size()) - 1;
  const double smoothing = op.attributes.number_or("smoothing", 0);
  const ValueId largest = build.reduce_last("max", x);
  Expression power;
  const auto shifted = power.binary(BALEEN_X_SUB, power.input(0), power.input(1));
  const ValueId powers = build.pointwise({x, largest}, power, power.unary(BALEEN_X_EXP, shifted), {}, sums);
  Expression log;
  const auto sum = log.unary(BALEEN_X_LOG, log.input(0));
  const ValueId lse =
      build.pointwise({build.reduce_last("sum", powers), largest}, log, log.binary(BALEEN_X_ADD, sum, log.input(1)));
  Expression pick;
  const auto hit = pick.binary(BALEEN_X_EQ, pick.input(1), pick.index(last));
  const auto picked = pick.select(hit, pick.input(0), pick.constant(0));
  const ValueId chosen = build.reduce_last("sum", build.pointwise({x, target}, pick, picked, {}, sums));
  Expression e;
  Values operands{lse, chosen, target};
  auto loss = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, e.constant(1 - smoothing), e.input(1)));
  if (smoothing > 0) {
    operands.push_back(build.reduce_last("sum", x, sums));
    const auto share = e.constant(smoothing / static_cast<double>(whole.back()));
    loss = e.binary(BALEEN_X_SUB, loss, e.binary(BALEEN_X_MUL, share, e.input(3)));
  }
  loss = unless_ignored(e, op.attributes, e.input(2), loss);
  return build.finish({build.reshape(build.pointwise(operands, e, loss), rows), build.reshape(lse, rows)});
}

Result<Types> infer_grad(const InferContext& context) {
  BALEEN_TRY(check_loss_attributes("cross_entropy_grad", context.attributes));
  BALEEN_TRY(check_count("cross_entropy_grad", context, 4, 4));
  const Named x{"x", context.inputs[0]}, target{"target", context.inputs[1]}, lse{"lse", context.inputs[2]},
      dloss{"dloss", context.inputs[3]};
  BALEEN_TRY(check_floats("cross_entropy_grad", {x, lse, dloss}));
  BALEEN_TRY(check_least_rank("cross_entropy_grad", x, 1));
  BALEEN_TRY(check_loss_rows("cross_entropy_grad", x, {target, lse, dloss}));
  return Types{x.type};
}

Iteration iteration_grad(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank()), rows = all.substr(0, all.size() - 1);
  return {{all, rows, rows, rows}, {all}, {{3}}, {}};
}

/// dloss (exp(x - lse) - (1 - s) [v = target] - s / V).
Result<Values> expand_grad(Graph& graph, const Op& op) {
  Builder build(graph);
  const Shape whole = graph.value(op.inputs[0]).shape;
  const double smoothing = op.attributes.number_or("smoothing", 0);
  Expression e;
  const auto x = e.input(0), target = e.input(1), lse = e.input(2), dloss = e.input(3);
  const auto hit = e.binary(BALEEN_X_EQ, target, e.index(static_cast<std::uint32_t>(whole.size()) - 1));
  auto slope = e.unary(BALEEN_X_EXP, e.binary(BALEEN_X_SUB, x, lse));
  slope = e.binary(BALEEN_X_SUB, slope, e.select(hit, e.constant(1 - smoothing), e.constant(0)));
  if (smoothing > 0) slope = e.binary(BALEEN_X_SUB, slope, e.constant(smoothing / static_cast<double>(whole.back())));
  const auto dx = unless_ignored(e, op.attributes, target, e.binary(BALEEN_X_MUL, dloss, slope));
  return build.finish(
      {build.pointwise({op.inputs[0], build.trail(op.inputs[1]), build.trail(op.inputs[2]), build.trail(op.inputs[3])},
                       e, dx, {}, graph.value(op.outputs[0]).dtype)});
}

}  // namespace

Status register_cross_entropy(OpRegistry& registry) {
  OpKind kind;
  kind.name = "cross_entropy";
  kind.traits = kPure | kSensitive | kReduction;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost_per_element(5);
  kind.expand = expand;
  kind.fuse = fuse_projection;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "cross_entropy_grad";
  grad.traits = kPure | kSensitive;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = cost_per_element(4);
  grad.expand = expand_grad;
  return registry.add(std::move(grad));
}

}  // namespace baleen::ops
