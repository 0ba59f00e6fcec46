/// \file `linear_cross_entropy`: a projection and its cross entropy in one, so that the logits are never all held.
#include <algorithm>

#include "compiler/ops/families.hpp"
#include "compiler/ops/loss.hpp"

namespace baleen::ops {
namespace {

bool transposed(const Attributes& attributes) { return attributes.integer_or("transposed", 0) != 0; }

Status check_projection(const std::string& kind, const Attributes& attributes, const Named& x, const Named& w) {
  BALEEN_TRY(check_floats(kind, {x, w}));
  BALEEN_TRY(check_least_rank(kind, x, 1));
  BALEEN_TRY(check_rank(kind, w, 2));
  const std::int64_t depth = w.type.shape[transposed(attributes) ? 1 : 0];
  if (depth == x.type.shape.back()) return {};
  return invalid(kind + ": the last dimension of x " + to_string(x.type.shape) + " is " +
                 std::to_string(x.type.shape.back()) + ", but w " + to_string(w.type.shape) + " takes " +
                 std::to_string(depth) + (transposed(attributes) ? " (it is transposed)" : ""));
}

Result<Types> infer(const InferContext& context) {
  const std::string name = "linear_cross_entropy";
  BALEEN_TRY(check_loss_attributes(name, context.attributes, {{"transposed", AttributeType::integer, false}}));
  BALEEN_TRY(check_count(name, context, 3, 3));
  const Named x{"x", context.inputs[0]}, w{"w", context.inputs[1]}, target{"target", context.inputs[2]};
  BALEEN_TRY(check_projection(name, context.attributes, x, w));
  BALEEN_TRY(check_loss_rows(name, x, {target}));
  const ValueType row = loss_row(x.type);
  return Types{row, row};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  BALEEN_TRY(only_first_result("linear_cross_entropy", "lse", cotangents));
  Builder build(graph);
  Values made = build.many("linear_cross_entropy_grad",
                           {op.inputs[0], op.inputs[1], op.inputs[2], op.outputs[1], cotangents[0]}, op.attributes, 2);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!wanted[i]) made[i] = kNone;
  made.push_back(kNone);
  return build.finish(made);
}

struct Letters {
  std::string rows, x, w;
  char vocabulary;
};

/// The depth may not be cut: half a logit is no logit.
Letters letters_of(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  Letters result;
  result.rows = all.substr(0, all.size() - 1);
  result.x = result.rows + '.';
  result.vocabulary = all.back();
  result.w = transposed(op.attributes) ? std::string{result.vocabulary, '.'} : std::string{'.', result.vocabulary};
  return result;
}

Iteration iteration(const Graph& graph, const Op& op) {
  const Letters l = letters_of(graph, op);
  return {{l.x, l.w, l.rows}, {l.rows, l.rows}, {}, {{l.vocabulary, l.rows, loss_statistics(op.attributes)}}};
}

/// Letters for the matmuls of the expansions: rows 'a'…, then 'y' for the depth and 'z' for the vocabulary.
struct Specs {
  std::string x, w, logits;
};

Specs specs_of(const Graph& graph, const Op& op) {
  const std::string rows = letters(graph.value(op.inputs[0]).rank() - 1);
  return {rows + 'y', transposed(op.attributes) ? "zy" : "yz", rows + 'z'};
}

/// Logits that are never all held are not rounded.
baleen_dtype_t logits_dtype(const Graph& graph, const Op& op) { return wide(graph.value(op.inputs[0]).dtype); }

Result<Values> expand(Graph& graph, const Op& op) {
  Builder build(graph);
  const Specs s = specs_of(graph, op);
  const ValueId logits =
      build.matmul(s.x + "," + s.w + "->" + s.logits, op.inputs[0], op.inputs[1], logits_dtype(graph, op));
  return build.finish(build.many("cross_entropy", {logits, op.inputs[2]}, loss_attributes(op.attributes), 2));
}

/// 2 for the products of one matmul, 6 for those of three.
std::function<Cost(const Graph&, const Op&)> cost(double per_product) {
  return [per_product](const Graph& graph, const Op& op) {
    const Shape &x = graph.value(op.inputs[0]).shape, &w = graph.value(op.inputs[1]).shape;
    const double rows =
        static_cast<double>(element_count(x)) / static_cast<double>(std::max<std::int64_t>(1, x.back()));
    return cost_of(graph, op, per_product * rows * static_cast<double>(element_count(w)));
  };
}

Result<Types> infer_grad(const InferContext& context) {
  const std::string name = "linear_cross_entropy_grad";
  BALEEN_TRY(
      check_loss_attributes(name, context.attributes, {{"transposed", AttributeType::integer, false}, dtype_rule()}));
  BALEEN_TRY(check_count(name, context, 5, 5));
  const Named x{"x", context.inputs[0]}, w{"w", context.inputs[1]}, target{"target", context.inputs[2]},
      lse{"lse", context.inputs[3]}, dloss{"dloss", context.inputs[4]};
  BALEEN_TRY(check_projection(name, context.attributes, x, w));
  BALEEN_TRY(check_floats(name, {x, lse, dloss}));
  BALEEN_TRY(check_loss_rows(name, x, {target, lse, dloss}));
  BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype(name, context.attributes, w.type.dtype));
  return Types{x.type, same_but(w.type, dtype)};
}

Iteration iteration_grad(const Graph& graph, const Op& op) {
  const Letters l = letters_of(graph, op);
  return {{l.x, l.w, l.rows, l.rows, l.rows}, {l.x, l.w}, {{4}}, {}};
}

Result<Values> expand_grad(Graph& graph, const Op& op) {
  Builder build(graph);
  const Specs s = specs_of(graph, op);
  const ValueId x = op.inputs[0], w = op.inputs[1];
  const ValueId logits = build.matmul(s.x + "," + s.w + "->" + s.logits, x, w, logits_dtype(graph, op));
  const ValueId d = build.one("cross_entropy_grad", {logits, op.inputs[2], op.inputs[3], op.inputs[4]},
                              loss_attributes(op.attributes));
  return build.finish({build.matmul(s.logits + "," + s.w + "->" + s.x, d, w, graph.value(x).dtype),
                       build.matmul(s.x + "," + s.logits + "->" + s.w, x, d, graph.value(op.outputs[1]).dtype)});
}

const char* const kJoint = "linear_cross_entropy_and_grad";

Result<Types> infer_joint(const InferContext& context) {
  const std::string name = kJoint;
  BALEEN_TRY(
      check_loss_attributes(name, context.attributes, {{"transposed", AttributeType::integer, false}, dtype_rule()}));
  BALEEN_TRY(check_count(name, context, 4, 4));
  const Named x{"x", context.inputs[0]}, w{"w", context.inputs[1]}, target{"target", context.inputs[2]},
      dloss{"dloss", context.inputs[3]};
  BALEEN_TRY(check_projection(name, context.attributes, x, w));
  BALEEN_TRY(check_floats(name, {x, dloss}));
  BALEEN_TRY(check_loss_rows(name, x, {target, dloss}));
  BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype(name, context.attributes, w.type.dtype));
  const ValueType row = loss_row(x.type);
  return Types{row, row, x.type, same_but(w.type, dtype)};
}

/// The vocabulary dimension ('.') cannot be sharded: the loss of a row needs the logits of all classes.
Iteration iteration_joint(const Graph& graph, const Op& op) {
  const Letters l = letters_of(graph, op);
  return {{l.x, "..", l.rows, l.rows}, {l.rows, l.rows, l.x, ".."}, {}, {}};
}

Result<Values> expand_joint(Graph& graph, const Op& op) {
  Builder build(graph);
  Attributes attributes = op.attributes;
  attributes.erase("dtype");  // of dw
  const Values loss = build.many("linear_cross_entropy", {op.inputs[0], op.inputs[1], op.inputs[2]}, attributes, 2);
  const Values grad = build.many("linear_cross_entropy_grad",
                                 {op.inputs[0], op.inputs[1], op.inputs[2], loss[1], op.inputs[3]}, op.attributes, 2);
  return build.finish({loss[0], loss[1], grad[0], grad[1]});
}

/// Only the gradient of a loss reads the loss's lse, and it has the loss's attributes. So both can be one op.
Join join_grad(const Graph& graph, const Op& op) {
  const Op* loss = graph.producer(op.inputs[3]);
  if (!loss || loss->kind->name != "linear_cross_entropy" || loss->outputs[1] != op.inputs[3] ||
      !std::equal(loss->inputs.begin(), loss->inputs.end(), op.inputs.begin()))
    return {};
  return {loss->id,
          kJoint,
          {op.inputs[0], op.inputs[1], op.inputs[2], op.inputs[4]},
          op.attributes,
          {loss->outputs[0], loss->outputs[1], op.outputs[0], op.outputs[1]}};
}

}  // namespace

Status register_linear_cross_entropy(OpRegistry& registry) {
  OpKind kind;
  kind.name = "linear_cross_entropy";
  kind.traits = kPure | kSensitive;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost(2);
  kind.expand = expand;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "linear_cross_entropy_grad";
  grad.traits = kPure | kSensitive | kTyped;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = cost(6);
  grad.expand = expand_grad;
  grad.join = join_grad;
  BALEEN_TRY(registry.add(std::move(grad)));

  OpKind joint;
  joint.name = kJoint;
  joint.traits = kPure | kSensitive;
  joint.infer = infer_joint;
  joint.iteration = iteration_joint;
  joint.cost = cost(6);
  joint.expand = expand_joint;
  return registry.add(std::move(joint));
}

}  // namespace baleen::ops
