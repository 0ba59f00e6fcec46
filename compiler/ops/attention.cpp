/// \file `attention` and `attention_grad`.
#include "compiler/ops/attention.hpp"

#include <algorithm>

#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

/// q, k, v and, where given, the ids: those of `attention`, with which `attention_grad`'s begin.
Status check_operands(const std::string& kind, const InferContext& context, bool ids) {
  BALEEN_TRY(check_attributes(kind, context.attributes,
                              {{"causal", AttributeType::integer, false}, {"scale", AttributeType::number}}));
  const Named q{"q", context.inputs[0]}, k{"k", context.inputs[1]}, v{"v", context.inputs[2]};
  BALEEN_TRY(check_floats(kind, {q, k, v}));
  BALEEN_TRY(check_rank(kind, q, 4));
  BALEEN_TRY(check_rank(kind, k, 4));
  const Shape &queries = q.type.shape, &keys = k.type.shape;
  for (const auto& [dim, name] : {std::pair<std::size_t, const char*>{0, "batch"}, {3, "width"}})
    if (queries[dim] != keys[dim])
      return invalid(kind + ": the " + name + " (dimension " + std::to_string(dim) + ") is " +
                     std::to_string(queries[dim]) + " in q " + to_string(queries) + " and " +
                     std::to_string(keys[dim]) + " in k " + to_string(keys));
  if (keys[2] == 0 || queries[2] % keys[2] != 0)
    return invalid(kind + ": the heads of q " + to_string(queries) + ", " + std::to_string(queries[2]) +
                   ", are no multiple of those of k " + to_string(keys) + ", " + std::to_string(keys[2]));
  BALEEN_TRY(check_shape(kind, v, keys, k));
  if (!ids) return {};
  const Named ids_q{"ids_q", context.inputs[3]}, ids_k{"ids_k", context.inputs[4]};
  BALEEN_TRY(check_ids(kind, ids_q));
  BALEEN_TRY(check_ids(kind, ids_k));
  BALEEN_TRY(check_shape(kind, ids_q, {queries[0], queries[1]}, q));
  return check_shape(kind, ids_k, {keys[0], keys[1]}, k);
}

ValueType statistics(const ValueType& q) {
  return {wide(q.dtype), {q.shape[0], q.shape[2], q.shape[1]}, {axis(q, 0), axis(q, 2), axis(q, 1)}};
}

Result<Types> infer(const InferContext& context) {
  const std::size_t count = context.inputs.size();
  if (count != 3 && count != 5)
    return invalid("attention takes q, k, v and either both of ids_q, ids_k or none; it was given " +
                   std::to_string(count) + " inputs");
  BALEEN_TRY(check_operands("attention", context, count == 5));
  return Types{context.inputs[0], statistics(context.inputs[0])};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  BALEEN_TRY(only_first_result("attention", "lse", cotangents));
  Values inputs = op.inputs;
  inputs.insert(inputs.end(), {op.outputs[0], op.outputs[1], cotangents[0]});
  Builder build(graph);
  Values made = build.many("attention_grad", inputs, op.attributes, 3);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!wanted[i]) made[i] = kNone;
  made.resize(op.inputs.size(), kNone);
  return build.finish(made);
}

/// Letters of the queries and of what belongs to them, [batch, seq, heads, width] and [batch, heads, seq]. A causal
/// mask counts queries from the last one on, so kernels must see them all; without one, queries may be cut.
struct QueryLetters {
  std::string queries, statistics, ids;
  explicit QueryLetters(const Op& op) : queries("bsh."), statistics("bhs"), ids("bs") {
    if (op.attributes.integer_or("causal", 0) != 0) queries = "b.h.", statistics = "bh.", ids = "b.";
  }
};

/// Batch, query and head may be cut; each query needs all keys. Heads and their groups run together: a cut must divide
/// both numbers.
std::vector<std::string> operand_letters(const QueryLetters& letters, bool ids) {
  std::vector<std::string> list{letters.queries, "b.h.", "b.h."};
  if (ids) list.insert(list.end(), {letters.ids, "b."});
  return list;
}

Iteration iteration(const Graph&, const Op& op) {
  const QueryLetters letters(op);
  return {operand_letters(letters, op.inputs.size() == 5), {letters.queries, letters.statistics}, {}, {}};
}

/// Pairs of a query and a key that are looked at, over the batch and the heads, times the width.
double products(const Graph& graph, const Op& op) {
  const Shape &q = graph.value(op.inputs[0]).shape, &k = graph.value(op.inputs[1]).shape;
  double pairs = static_cast<double>(q[1]) * static_cast<double>(k[1]);
  if (op.attributes.integer_or("causal", 0) != 0) {
    pairs = 0;
    for (std::int64_t s = 0; s < q[1]; ++s)
      pairs += static_cast<double>(std::clamp<std::int64_t>(s + 1 + k[1] - q[1], 0, k[1]));
  }
  return pairs * static_cast<double>(q[0]) * static_cast<double>(q[2]) * static_cast<double>(q[3]);
}

Result<Types> infer_grad(const InferContext& context) {
  const std::string name = "attention_grad";
  const std::size_t count = context.inputs.size();
  if (count != 6 && count != 8)
    return invalid(name + " takes q, k, v [, ids_q, ids_k], o, lse, do; it was given " + std::to_string(count) +
                   " inputs");
  BALEEN_TRY(check_operands(name, context, count == 8));
  const Named q{"q", context.inputs[0]}, o{"o", context.inputs[count - 3]}, lse{"lse", context.inputs[count - 2]},
      d{"do", context.inputs[count - 1]};
  BALEEN_TRY(check_floats(name, {q, o, lse, d}));
  BALEEN_TRY(check_shape(name, o, q.type.shape, q));
  BALEEN_TRY(check_shape(name, lse, statistics(q.type).shape, q));
  BALEEN_TRY(check_shape(name, d, q.type.shape, q));
  return Types{context.inputs[0], context.inputs[1], context.inputs[2]};
}

/// A cut of the queries leaves dk and dv partial.
Iteration iteration_grad(const Graph&, const Op& op) {
  const QueryLetters letters(op);
  std::vector<std::string> inputs = operand_letters(letters, op.inputs.size() == 8);
  inputs.insert(inputs.end(), {letters.queries, letters.statistics, letters.queries});
  return {inputs, {letters.queries, "b.h.", "b.h."}, {{static_cast<std::uint32_t>(op.inputs.size()) - 1}}, {}};
}

}  // namespace

Status register_attention(OpRegistry& registry) {
  OpKind kind;
  kind.name = "attention";
  kind.traits = kPure | kProduct;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = [](const Graph& graph, const Op& op) { return cost_of(graph, op, 4 * products(graph, op)); };
  kind.expand = expand_attention;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "attention_grad";
  grad.traits = kPure | kProduct;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = [](const Graph& graph, const Op& op) { return cost_of(graph, op, 10 * products(graph, op)); };
  grad.expand = expand_attention_grad;
  return registry.add(std::move(grad));
}

}  // namespace baleen::ops
