/// \file `attention` and its gradient from matmuls, reductions and pointwise ops.
#include "attention.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// Heads are split into [groups, heads per group], so that one matmul serves grouped heads too. Letters: b batch, s
/// query, t key, g group, r head within the group, e element.
struct Sizes {
  std::int64_t batch, queries, heads, width, keys, groups, per_group;
  bool causal, ids;
  double scale;
  baleen_dtype_t scores;  ///< dtype of all that is as large as the scores, which a kernel does not store
};

Sizes describe(GraphView& graph, baleen_op_t id, bool ids) {
  const OpReader op(graph, id);
  const Shape q = op.shape(0), k = op.shape(1);
  return {q[0],
          q[1],
          q[2],
          q[3],
          k[1],
          k[2],
          q[2] / k[2],
          op.op().integer("causal", 0) != 0,
          ids,
          op.op().number("scale"),
          wide(dtype_of(graph, op.operand(0)))};
}

Shape grouped(const Sizes& a) { return {a.batch, a.queries, a.groups, a.per_group, a.width}; }
/// The shape of the scores, "bgrst".
Shape square(const Sizes& a) { return {a.batch, a.groups, a.per_group, a.queries, a.keys}; }
/// The shape of one number per query and head, which broadcasts over the scores.
Shape column(const Sizes& a) { return {a.batch, a.groups, a.per_group, a.queries, 1}; }

/// 1 where the query sees the key. `ids` are the numbers of the expression's inputs that hold the documents.
std::uint32_t visible(Expression& e, const Sizes& a, std::uint32_t ids_q, std::uint32_t ids_k) {
  auto seen = e.constant(1);
  if (a.causal) {
    const auto limit = e.binary(BALEEN_X_ADD, e.index(3), e.constant(static_cast<double>(a.keys - a.queries)));
    seen = e.binary(BALEEN_X_LE, e.index(4), limit);
  }
  if (a.ids) {
    const auto q = e.input(ids_q), k = e.input(ids_k);
    const auto same = e.binary(BALEEN_X_MUL, e.binary(BALEEN_X_EQ, q, k), e.binary(BALEEN_X_LE, e.constant(0), q));
    seen = e.binary(BALEEN_X_MUL, seen, same);
  }
  return seen;
}

/// Appends the documents' ids, shaped to broadcast over the scores, to `operands`.
void add_ids(OpBuilder& build, const Sizes& a, baleen_value_t ids_q, baleen_value_t ids_k, Values& operands) {
  operands.push_back(build.reshape(ids_q, {a.batch, 1, 1, a.queries, 1}));
  operands.push_back(build.reshape(ids_k, {a.batch, 1, 1, 1, a.keys}));
}

}  // namespace

Values expand_attention(GraphView& graph, baleen_op_t id) {
  const OpNode op = OpNode::of(graph, id);
  OpBuilder build(graph);
  const Sizes a = describe(graph, id, op.inputs.size() == 5);
  const baleen_value_t q = build.reshape(op.inputs[0], grouped(a));
  const baleen_value_t products = build.matmul("bsgre,btge->bgrst", q, op.inputs[1], a.scores);

  // Hidden pairs get a score that is finite, so that a row of none but such gives no NaN, and are then left out.
  Values scored{products};
  if (a.ids) add_ids(build, a, op.inputs[3], op.inputs[4], scored);
  Expression e;
  const auto score = e.binary(BALEEN_X_MUL, e.input(0), e.constant(a.scale));
  const baleen_value_t scores = build.pointwise(scored, e, e.select(visible(e, a, 1, 2), score, e.constant(-1e30)));
  const baleen_value_t largest = build.reduce_last("max", scores);

  Values powered{scores, largest};
  if (a.ids) add_ids(build, a, op.inputs[3], op.inputs[4], powered);
  Expression f;
  const auto power = f.unary(BALEEN_X_EXP, f.binary(BALEEN_X_SUB, f.input(0), f.input(1)));
  const baleen_value_t powers = build.pointwise(powered, f, f.select(visible(f, a, 2, 3), power, f.constant(0)));
  const baleen_value_t sum = build.reduce_last("sum", powers);

  Expression g;
  const auto total = g.input(1);
  const auto share =
      g.select(g.binary(BALEEN_X_LT, g.constant(0), total), g.binary(BALEEN_X_DIV, g.input(0), total), g.constant(0));
  const baleen_value_t weights = build.pointwise({powers, sum}, g, share);
  const baleen_value_t o = build.matmul("bgrst,btge->bsgre", weights, op.inputs[2], build.dtype(op.outputs[0]));

  Expression h;
  const auto logarithm = h.unary(BALEEN_X_LOG, h.input(0));
  const baleen_value_t lse = build.pointwise({sum, largest}, h, h.binary(BALEEN_X_ADD, logarithm, h.input(1)));
  return {build.reshape(o, build.shape(op.outputs[0])), build.reshape(lse, build.shape(op.outputs[1]))};
}

/// With p = exp(scale q k - lse) of the seen pairs and D = sum(do o): dv = p do, ds = scale p (do v - D), dq = ds k,
/// dk = ds q (arXiv 2205.14135, appendix B).
Values expand_attention_grad(GraphView& graph, baleen_op_t id) {
  const OpNode op = OpNode::of(graph, id);
  OpBuilder build(graph);
  const bool ids = op.inputs.size() == 8;
  const Sizes a = describe(graph, id, ids);
  const std::size_t rest = ids ? 5 : 3;
  const baleen_value_t q = build.reshape(op.inputs[0], grouped(a)), k = op.inputs[1], v = op.inputs[2];
  const baleen_value_t o = op.inputs[rest], d = op.inputs[rest + 2];
  const baleen_value_t lse = build.reshape(op.inputs[rest + 1], column(a));
  const baleen_value_t grad = build.reshape(d, grouped(a));

  Values operands{build.matmul("bsgre,btge->bgrst", q, k, a.scores), lse};
  if (ids) add_ids(build, a, op.inputs[3], op.inputs[4], operands);
  Expression e;
  const auto score = e.binary(BALEEN_X_MUL, e.input(0), e.constant(a.scale));
  const auto power = e.unary(BALEEN_X_EXP, e.binary(BALEEN_X_SUB, score, e.input(1)));
  const baleen_value_t p = build.pointwise(operands, e, e.select(visible(e, a, 2, 3), power, e.constant(0)), square(a));

  const baleen_value_t dots = build.reduce("sum", build.binary(BALEEN_X_MUL, d, o, a.scores), {3}, false);  // [b, s, h]
  const baleen_value_t turned = build.one("transpose", {dots}, AttributeList().integers("permutation", {0, 2, 1}));
  const baleen_value_t dp = build.matmul("bsgre,btge->bgrst", grad, v, a.scores);
  Expression f;
  const auto weight = f.input(0);
  const auto slope = f.binary(BALEEN_X_SUB, f.input(1), f.input(2));
  const auto ds = f.binary(BALEEN_X_MUL, f.binary(BALEEN_X_MUL, weight, slope), f.constant(a.scale));
  const baleen_value_t dscores = build.pointwise({p, dp, build.reshape(turned, column(a))}, f, ds);
  const auto dtype = [&](std::size_t result) { return build.dtype(op.outputs[result]); };
  const baleen_value_t dq = build.matmul("bgrst,btge->bsgre", dscores, k, dtype(0));
  return {build.reshape(dq, build.shape(op.inputs[0])), build.matmul("bgrst,bsgre->btge", dscores, q, dtype(1)),
          build.matmul("bgrst,bsgre->btge", p, grad, dtype(2))};
}

}  // namespace baleen::ops
