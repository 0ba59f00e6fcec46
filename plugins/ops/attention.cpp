/// \file `attention` and `attention_grad`.
#include "attention.hpp"

#include <algorithm>

namespace baleen::ops {
using namespace sdk;

namespace {

/// q, k, v and, where given, the ids: those of `attention`, with which `attention_grad`'s begin.
Status check_operands(const std::string& kind, const InferInput& input, bool ids) {
  const ValueType &q_type = input.type(0), &k_type = input.type(1);
  const Named q{"q", q_type}, k{"k", k_type};
  BALEEN_TRY(check_rank(kind, q, 4));
  BALEEN_TRY(check_rank(kind, k, 4));
  const Shape &queries = q_type.shape, &keys = k_type.shape;
  for (const auto& [dim, name] : {std::pair<std::size_t, const char*>{0, "batch"}, {3, "width"}})
    if (queries[dim] != keys[dim])
      return invalid(kind + ": the " + name + " (dimension " + std::to_string(dim) + ") is " +
                     std::to_string(queries[dim]) + " in q " + shape_text(queries) + " and " +
                     std::to_string(keys[dim]) + " in k " + shape_text(keys));
  if (keys[2] == 0 || queries[2] % keys[2] != 0)
    return invalid(kind + ": the heads of q " + shape_text(queries) + ", " + std::to_string(queries[2]) +
                   ", are no multiple of those of k " + shape_text(keys) + ", " + std::to_string(keys[2]));
  BALEEN_TRY(check_shape(kind, {"v", input.type(2)}, keys, k));
  if (!ids) return {};
  BALEEN_TRY(check_shape(kind, {"ids_q", input.type(3)}, {queries[0], queries[1]}, q));
  return check_shape(kind, {"ids_k", input.type(4)}, {keys[0], keys[1]}, k);
}

ValueType statistics(const ValueType& q) {
  return {wide(q.dtype), {q.shape[0], q.shape[2], q.shape[1]}, {axis(q, 0), axis(q, 2), axis(q, 1)}};
}

bool is_causal(const Op& op) { return op.integer("causal", 0) != 0; }

/// Letters of the queries and of what belongs to them, [batch, seq, heads, width] and [batch, heads, seq]. A causal
/// mask counts queries from the last one on, so kernels must see them all; without one, queries may be cut.
struct QueryLetters {
  std::string queries, statistics, ids;
  explicit QueryLetters(const Op& op) : queries("bsh."), statistics("bhs"), ids("bs") {
    if (is_causal(op)) queries = "b.h.", statistics = "bh.", ids = "b.";
  }
};

/// Batch, query and head may be cut; each query needs all keys. Heads and their groups run together: a cut must divide
/// both numbers.
std::vector<std::string> operand_letters(const QueryLetters& letters, bool ids) {
  std::vector<std::string> list{letters.queries, "b.h.", "b.h."};
  if (ids) list.insert(list.end(), {letters.ids, "b."});
  return list;
}

/// Pairs of a query and a key that are looked at, over the batch and the heads, times the width.
double products(const OpReader& op) {
  const Shape q = op.shape(0), k = op.shape(1);
  double pairs = static_cast<double>(q[1]) * static_cast<double>(k[1]);
  if (is_causal(op.op())) {
    pairs = 0;
    for (std::int64_t s = 0; s < q[1]; ++s)
      pairs += static_cast<double>(std::clamp<std::int64_t>(s + 1 + k[1] - q[1], 0, k[1]));
  }
  return pairs * static_cast<double>(q[0]) * static_cast<double>(q[2]) * static_cast<double>(q[3]);
}

/// What both kinds have.
class OfAttention : public OpKind {
 protected:
  OfAttention(std::string name, std::string help, baleen_kind_traits_t more = 0)
      : OpKind(std::move(name), std::move(help), BALEEN_KIND_PURE | BALEEN_KIND_PRODUCT | more) {
    operand("q", "[batch, seq, heads, width]");
    operand("k", "[batch, keys, groups, width]; heads is a multiple of groups");
    operand("v", "the shape of k");
    operand("ids_q", "[batch, seq]: a pair is seen only if its ids are equal and not negative",
            BALEEN_OPERAND_IDS | BALEEN_OPERAND_OPTIONAL);
    operand("ids_k", "[batch, keys]", BALEEN_OPERAND_IDS | BALEEN_OPERAND_OPTIONAL | BALEEN_OPERAND_TOGETHER);
    optional_attribute(BALEEN_RULE_BOOLEAN, "causal", "query s sees keys t <= s + keys - seq");
    attribute(BALEEN_RULE_NUMBER, "scale", "", "of the scores");
  }
};

class Attention : public OfAttention {
 public:
  Attention() : OfAttention("attention", "softmax(scale q k') v by blocks of the scores; ids hide pairs") {
    result("o", "the shape and dtype of q");
    result("lse", "[batch, heads, seq]: the logarithm of each softmax's sum", BALEEN_RESULT_INTERNAL);
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check_operands("attention", input, input.count() == 5));
    return Types{input.type(0), statistics(input.type(0))};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    BALEEN_TRY(only_first_result("attention", "lse", cotangents));
    const OpNode node = OpNode::of(graph, op);
    Values inputs = node.inputs;
    inputs.insert(inputs.end(), {node.outputs[0], node.outputs[1], cotangents[0]});
    Values made = graph.append("attention_grad", inputs, node.attributes, 3);
    keep_wanted(made, wanted);
    made.resize(node.inputs.size(), BALEEN_NONE);
    return made;
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const QueryLetters letters(op.op());
    return {operand_letters(letters, op.operands() == 5), {letters.queries, letters.statistics}, {}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    return op.cost(4 * products(op));
  }
  Result<Values> expand(GraphView& graph, baleen_op_t op) override { return expand_attention(graph, op); }
};
BALEEN_OP_KIND(Attention);

class AttentionGrad : public OfAttention {
 public:
  AttentionGrad() : OfAttention("attention_grad", "the gradients of attention, from its results", BALEEN_KIND_DERIVED) {
    operand("o", "of attention");
    operand("lse", "of attention");
    operand("do", "the shape of o");
    result("dq", "the shape and dtype of q");
    result("dk", "the shape and dtype of k");
    result("dv", "the shape and dtype of v");
  }

  Result<Types> infer(const InferInput& input) override {
    const std::string name = "attention_grad";
    const std::size_t count = input.count();
    BALEEN_TRY(check_operands(name, input, count == 8));
    const ValueType& q = input.type(0);
    BALEEN_TRY(check_shape(name, {"o", input.type(count - 3)}, q.shape, {"q", q}));
    BALEEN_TRY(check_shape(name, {"lse", input.type(count - 2)}, statistics(q).shape, {"q", q}));
    BALEEN_TRY(check_shape(name, {"do", input.type(count - 1)}, q.shape, {"q", q}));
    return Types{q, input.type(1), input.type(2)};
  }

  /// A cut of the queries leaves dk and dv partial.
  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const QueryLetters letters(op.op());
    std::vector<std::string> inputs = operand_letters(letters, op.operands() == 8);
    inputs.insert(inputs.end(), {letters.queries, letters.statistics, letters.queries});
    return {inputs, {letters.queries, "b.h.", "b.h."}, {{static_cast<std::uint32_t>(op.operands()) - 1}}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    return op.cost(10 * products(op));
  }
  Result<Values> expand(GraphView& graph, baleen_op_t op) override { return expand_attention_grad(graph, op); }
};
BALEEN_OP_KIND(AttentionGrad);

}  // namespace
}  // namespace baleen::ops
