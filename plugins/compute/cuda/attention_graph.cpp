/// \file The ops of attention in the order in which cuDNN's engines look for them.
#include "attention_graph.hpp"

namespace baleen::cuda {
namespace {

/// The last two dimensions exchanged.
DnnExtents turned(DnnExtents x) {
  std::swap(x[2], x[3]);
  return x;
}

/// What both directions have in common.
class Maker {
 public:
  Maker(Dnn& dnn, const AttentionShape& shape)
      : s(shape),
        graph(dnn),
        scores{shape.batch, shape.heads, shape.queries, shape.keys},
        of_query{shape.batch, shape.heads, shape.queries, 1} {}

  DnnTensor queries(const DnnExtents& strides) {
    return graph.stored({s.batch, s.heads, s.queries, s.width}, strides, s.type);
  }
  DnnTensor keys(const DnnExtents& strides) {
    return graph.stored({s.batch, s.groups, s.keys, s.width}, strides, s.type);
  }
  DnnTensor turned_keys(const DnnExtents& strides) {
    return graph.stored({s.batch, s.groups, s.width, s.keys}, turned(strides), s.type);
  }
  DnnTensor statistics() { return graph.stored(of_query, {s.lse[0], s.lse[1], s.lse[2], 1}, CUDNN_DATA_FLOAT); }
  /// A new value between ops.
  DnnTensor apply(cudnnPointwiseMode_t mode, DnnTensor x, std::optional<DnnTensor> b = {},
                  const DnnExtents* extents = nullptr) {
    const DnnTensor y = graph.inner(extents ? *extents : scores);
    graph.pointwise(mode, x, b, {}, y);
    return y;
  }
  /// `x` where the query sees the key, else `never`.
  DnnTensor masked(DnnTensor x, DnnTensor never) {
    if (!s.causal) return x;
    const DnnTensor row = graph.inner(scores, CUDNN_DATA_INT32), column = graph.inner(scores, CUDNN_DATA_INT32);
    graph.index(2, x, row);
    graph.index(3, x, column);
    const DnnTensor seen = graph.inner(scores, CUDNN_DATA_BOOLEAN), y = graph.inner(scores);
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, {}, seen, CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, never, seen, y);
    return y;
  }
  /// scale q k^T.
  DnnTensor scaled_scores(DnnTensor q, DnnTensor turned_k, DnnTensor scale) {
    const DnnTensor products = graph.inner(scores);
    graph.matmul(q, turned_k, products);
    return apply(CUDNN_POINTWISE_MUL, products, scale);
  }
  /// The transpose of what lies between ops, in the operands' type.
  DnnTensor transposed(DnnTensor x) {
    const DnnTensor y = graph.inner({s.batch, s.heads, s.keys, s.queries}, turned(packed(scores)), s.type);
    graph.reshape(x, y);
    return y;
  }
  /// result = rows other; of a group's heads the sum.
  void add_to_keys(DnnTensor rows, DnnTensor other, DnnTensor result) {
    if (s.heads == s.groups) return graph.matmul(rows, other, result);
    const DnnTensor all = graph.inner({s.batch, s.heads, s.keys, s.width}, s.type);
    graph.matmul(rows, other, all);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, all, result);
  }

  const AttentionShape& s;
  DnnGraph graph;
  DnnExtents scores, of_query;
};

Result<AttentionPlan> cached(Dnn& dnn, const std::string& key, Maker& maker, std::uint64_t most,
                             std::vector<DnnTensor> operands, bool has_sums = false) {
  auto& known = dnn.plans()[key];
  if (!known) {
    BALEEN_TRY_ASSIGN(known, maker.graph.plan(maker.s.deterministic, most));
  }
  return AttentionPlan{known, std::move(operands), has_sums};
}

}  // namespace

namespace {

/// Bytes of the scores' gradient, in whole tiles.
std::uint64_t score_bytes(const AttentionShape& shape, std::int64_t batch) {
  constexpr std::int64_t kTile = 128;
  const auto up = [](std::int64_t n) { return (n + kTile - 1) / kTile * kTile; };
  return static_cast<std::uint64_t>(2 * batch * shape.heads * up(shape.queries) * up(shape.keys));
}

}  // namespace

std::int64_t attention_slice(const AttentionShape& shape, bool backward) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  constexpr std::int64_t kTogether = 4;  // statistics in the 16 bytes at whose multiples a slice of them must begin
  if (!backward || !shape.deterministic || score_bytes(shape, shape.batch) <= kMost) return shape.batch;
  const auto is_good = [&](std::int64_t slice) {
    return shape.batch % slice == 0 && slice * shape.lse[0] % kTogether == 0;
  };
  std::int64_t slice = shape.batch;
  while (slice > 1 && (!is_good(slice) || score_bytes(shape, slice) > kMost)) --slice;
  return is_good(slice) ? slice : shape.batch;
}

std::optional<std::uint64_t> most_workspace(const AttentionShape& shape, bool backward, int capability) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30, kOther = std::uint64_t{32} << 20;
  if (!backward) return kOther;
  // Each head has gradients of its own keys and values before those of a group are added up.
  const std::int64_t apart =
      shape.heads == shape.groups ? 0 : 2 * 2 * shape.batch * shape.heads * shape.keys * shape.width;
  // But for compute capability 9.x and 10.x cuDNN keeps the sums of dq in its workspace too (seen with 9.19).
  const bool has_sums = capability / 10 != 9 && capability / 10 != 10;
  const std::int64_t sums = has_sums ? 4 * shape.batch * shape.heads * shape.queries * shape.width : 0;
  if (!shape.deterministic) return static_cast<std::uint64_t>(apart + sums) + kOther;
  const std::uint64_t scores = score_bytes(shape, shape.batch);
  if (scores > kMost) return std::nullopt;
  return scores + static_cast<std::uint64_t>(apart) + kOther;
}

std::string AttentionShape::key() const {
  std::string text = std::to_string(type) + (causal ? " causal" : "") + (deterministic ? " deterministic" : "");
  for (const std::int64_t n : {batch, heads, groups, queries, keys, width, lse[0], lse[1], lse[2]})
    text += " " + std::to_string(n);
  for (const DnnExtents* strides : {&q, &k, &v, &o, &d_o, &dq, &dk, &dv})
    for (const std::int64_t n : *strides) text += " " + std::to_string(n);
  return text;
}

Result<AttentionPlan> plan_attention(Dnn& dnn, const AttentionShape& shape, std::uint64_t most) {
  Maker m(dnn, shape);
  DnnGraph& g = m.graph;
  const DnnTensor q = m.queries(shape.q), k = m.turned_keys(shape.k), v = m.keys(shape.v), o = m.queries(shape.o);
  const DnnTensor lse = m.statistics(), scale = g.number(), never = shape.causal ? g.number() : scale;
  const DnnTensor scores = m.masked(m.scaled_scores(q, k, scale), never);
  const DnnTensor peak = g.inner(m.of_query), sum = g.inner(m.of_query);
  g.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, peak);
  const DnnTensor weights = m.apply(CUDNN_POINTWISE_EXP, m.apply(CUDNN_POINTWISE_SUB, scores, peak));
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, weights, sum);
  const DnnTensor log = m.apply(CUDNN_POINTWISE_LOG, sum, {}, &m.of_query);
  g.pointwise(CUDNN_POINTWISE_ADD, peak, log, {}, lse);
  const DnnTensor p = g.inner(m.scores, shape.type);
  g.pointwise(CUDNN_POINTWISE_DIV, weights, sum, {}, p);
  g.matmul(p, v, o);
  std::vector<DnnTensor> operands{q, k, v, o, lse, scale};
  if (shape.causal) operands.push_back(never);
  return cached(dnn, "forward " + shape.key(), m, most, std::move(operands));
}

Result<AttentionPlan> plan_attention_grad(Dnn& dnn, const AttentionShape& shape, std::uint64_t most) {
  Maker m(dnn, shape);
  DnnGraph& g = m.graph;
  const DnnTensor q = m.queries(shape.q), k = m.turned_keys(shape.k), v = m.turned_keys(shape.v),
                  o = m.queries(shape.o), lse = m.statistics(), d_o = m.queries(shape.d_o), dq = m.queries(shape.dq),
                  dk = m.keys(shape.dk), dv = m.keys(shape.dv);
  const DnnTensor scale = g.number(), never = shape.causal ? g.number() : scale, one = g.number();
  const DnnTensor delta = g.stored(m.of_query, packed(m.of_query), CUDNN_DATA_FLOAT);
  // delta = sum of o do.
  const DnnExtents rows{shape.batch, shape.heads, shape.queries, shape.width};
  const DnnTensor together = m.apply(CUDNN_POINTWISE_MUL, d_o, o, &rows), total = g.inner(m.of_query);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, together, total);
  g.pointwise(CUDNN_POINTWISE_MUL, total, one, {}, delta);
  // dv = p^T do.
  const DnnTensor shifted = m.apply(CUDNN_POINTWISE_SUB, m.scaled_scores(q, k, scale), lse);
  const DnnTensor p = m.apply(CUDNN_POINTWISE_EXP, m.masked(shifted, never));
  m.add_to_keys(m.transposed(p), d_o, dv);
  // ds = scale p (do v^T - delta).
  const DnnTensor dp = g.inner(m.scores);
  g.matmul(d_o, v, dp);
  const DnnTensor ds =
      m.apply(CUDNN_POINTWISE_MUL, m.apply(CUDNN_POINTWISE_MUL, m.apply(CUDNN_POINTWISE_SUB, dp, delta), p), scale);
  m.add_to_keys(m.transposed(ds), q, dk);
  const DnnTensor keys = g.inner({shape.batch, shape.groups, shape.keys, shape.width}, shape.k, shape.type);
  g.reshape(k, keys);
  std::vector<DnnTensor> operands{q, k, v, o, lse, d_o, dq, dk, dv, scale};
  if (shape.causal) operands.push_back(never);
  operands.insert(operands.end(), {one, delta});
  if (shape.deterministic) {
    g.matmul(ds, keys, dq);
  } else {
    const DnnTensor sums = g.stored(rows, packed(rows), CUDNN_DATA_FLOAT);
    g.matmul(ds, keys, sums);
    g.pointwise(CUDNN_POINTWISE_IDENTITY, sums, {}, {}, dq);
    operands.push_back(sums);
  }
  return cached(dnn, "backward " + shape.key(), m, most, std::move(operands), !shape.deterministic);
}

}  // namespace baleen::cuda
