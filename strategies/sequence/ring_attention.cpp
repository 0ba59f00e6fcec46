/// \file Around the ring of P ranks. In step s rank r has the keys and values of rank j = r - s; those of the next step
/// are on their way meanwhile.
///
/// Causal: rank r has chunks r (its low half) and 2P - 1 - r (its high half). In step 0 that is a causal block. Later
/// the high half sees the low half of j; and either (j < r) the low half sees it too, or (j > r) the high half sees the
/// high half of j. Two whole blocks on every rank, of the same sizes.
#include "ring_attention.hpp"

namespace baleen::sequence_parallel {
namespace {

/// Scores of pairs that are looked at are larger by far.
constexpr double kNothing = -1e30;

/// What travels.
struct Keys {
  Value k, v, ids;  ///< ids: none, or the documents

  Keys along_ring(Region& region, std::initializer_list<Value> begun_after) const {
    const auto move = [&](Value x) { return region.from_neighbour(region.after(x, begun_after)); };
    return {move(k), move(v), ids ? move(ids) : Value()};
  }
  /// The same, for readers that stand behind the departure of what `others` bring.
  Keys behind(Region& region, std::initializer_list<Value> others) const { return {region.behind(k, others), v, ids}; }
};

/// Halves of the sequence, dimension 1, of each of a list of values.
struct Halves {
  Halves(Region& region, const std::vector<Value>& values) {
    for (const Value& x : values) {
      const std::int64_t length = x ? x.info().shape[1] / 2 : 0;
      low.push_back(x ? region.slice(x, 1, 0, length) : Value());
      high.push_back(x ? region.slice(x, 1, length, length) : Value());
    }
  }
  /// The low halves on ranks from `first` on, the high ones before.
  std::vector<Value> from_rank_on(Region& region, std::int64_t first) const {
    std::vector<Value> chosen;
    for (std::size_t i = 0; i < low.size(); ++i)
      chosen.push_back(low[i] ? region.from_rank_on(first, low[i], high[i]) : Value());
    return chosen;
  }
  std::vector<Value> low, high;
};

/// Attention to some of the keys: o [b, s, h, e], and lse as a column [b, s, h, 1].
struct Part {
  /// What is merged with it when `keys` are there is not joined with what was merged before: that would wait for more.
  Part apart(Region& region, Value keys) const { return {region.after(o, {keys}), region.after(lse, {keys})}; }
  Value o, lse;
};

/// Attention to the keys of both (arXiv 2112.05682, section 2, in terms of log-sum-exps).
Part merge(const Part& a, const Part& b) {
  const Value larger = max(a.lse, b.lse);
  const Value sum = larger + log(1.0 + exp(-abs(a.lse - b.lse)));
  const Value lse = select(less(larger, kNothing), larger, sum);
  const auto weight = [&](const Part& part) { return select(less(part.lse, kNothing), 0.0, exp(part.lse - lse)); };
  return {a.o * weight(a) + b.o * weight(b), lse};
}

Part choose(Region& region, std::int64_t first, const Part& then, const Part& otherwise) {
  return {region.from_rank_on(first, then.o, otherwise.o), region.from_rank_on(first, then.lse, otherwise.lse)};
}

class Forward {
 public:
  Forward(Region& region, double scale, bool causal) : region_(region), scale_(scale), causal_(causal) {}

  Part run(Value q, Value ids_q, Keys keys) {
    const Keys next = keys.along_ring(region_, {});
    const Part own = block(q, ids_q, keys.behind(region_, {next.k, next.v}), causal_);
    return causal_ ? halves(q, ids_q, own, next) : wholes(q, ids_q, own, next);
  }

 private:
  Part block(Value q, Value ids_q, const Keys& keys, bool causal) {
    std::vector<Value> inputs{q, keys.k, keys.v};
    if (ids_q) inputs.insert(inputs.end(), {ids_q, keys.ids});
    const std::vector<Value> made = region_.attention("attention", inputs, scale_, causal, 2);
    const Value turned = region_.transpose(made[1], {0, 2, 1});
    const baleen_value_info_t info = turned.info();
    return {made[0], region_.reshape(turned, {info.shape[0], info.shape[1], info.shape[2], 1})};
  }

  // The keys of the next step leave when the attention of the step before is done, right before that of this one, and
  // travel beside it. What was merged two steps ago is awaited too, so that no step's results wait for the end.

  Part wholes(Value q, Value ids_q, Part sum, Keys keys) {
    Value latest = sum.o, older;
    for (std::int64_t step = 1; step < region_.ranks(); ++step) {
      const Keys next = step + 1 < region_.ranks() ? keys.along_ring(region_, {latest, older}) : Keys();
      const Part made = block(q, ids_q, keys.behind(region_, {next.k, next.v}), false);
      latest = made.o;
      older = sum.o;
      sum = merge(sum.apart(region_, keys.k), made);
      keys = next;
    }
    return sum;
  }

  Part halves(Value q, Value ids_q, const Part& own, Keys keys) {
    const Halves queries(region_, {q, ids_q}), parts(region_, {own.o, own.lse});
    Part low{parts.low[0], parts.low[1]}, high{parts.high[0], parts.high[1]};
    Value latest = own.o, older_low, older_high;
    for (std::int64_t step = 1; step < region_.ranks(); ++step) {
      const Keys next = step + 1 < region_.ranks() ? keys.along_ring(region_, {latest, older_low, older_high}) : Keys();
      older_low = low.o, older_high = high.o;
      keys = keys.behind(region_, {next.k, next.v});
      const Halves theirs(region_, {keys.k, keys.v, keys.ids});
      low = low.apart(region_, keys.k), high = high.apart(region_, keys.k);
      high = merge(high, block(queries.high[0], queries.high[1], {theirs.low[0], theirs.low[1], theirs.low[2]}, false));
      const std::vector<Value> mine = queries.from_rank_on(region_, step), other = theirs.from_rank_on(region_, step);
      const Part second = block(mine[0], mine[1], {other[0], other[1], other[2]}, false);
      latest = second.o;
      const Part merged = merge(choose(region_, step, low, high), second);
      low = choose(region_, step, merged, low);
      high = choose(region_, step, high, merged);
      keys = next;
    }
    return {region_.concat({low.o, high.o}, 1), region_.concat({low.lse, high.lse}, 1)};
  }

  Region& region_;
  double scale_;
  bool causal_;
};

/// What stays where it is in the backward pass: q, o, do [b, s, h, e], lse [b, s, h], ids [b, s] or none.
struct Queries {
  Value q, o, d, lse, ids;

  std::vector<Value> list() const { return {q, o, d, lse, ids}; }
  static Queries of(const std::vector<Value>& list) { return {list[0], list[1], list[2], list[3], list[4]}; }
};

struct Gradients {
  Gradients along_ring(Region& region) const { return {{}, region.from_neighbour(k), region.from_neighbour(v)}; }
  Value q, k, v;
};

class Backward {
 public:
  Backward(Region& region, double scale, bool causal) : region_(region), scale_(scale), causal_(causal) {}

  Gradients run(const Queries& queries, Keys keys) {
    Keys next = keys.along_ring(region_, {queries.d});
    const Gradients own = block(queries, keys.behind(region_, {next.k, next.v}), causal_);
    dq_ = own.q;
    latest_ = own.v;
    Gradients travelling;  // of the keys at hand, by all ranks that had them after their owner
    Value older_dq, older_dk, older_dv;
    for (std::int64_t step = 1; step < region_.ranks(); ++step) {
      keys = next;
      next = step + 1 < region_.ranks() ? keys.along_ring(region_, {latest_, older_dq, older_dk, older_dv}) : Keys();
      older_dq = dq_, older_dk = travelling.k, older_dv = travelling.v;
      dq_ = region_.after(dq_, {keys.k});
      const Gradients arriving = step > 1 ? travelling.along_ring(region_) : Gradients();
      keys = keys.behind(region_, {next.k, next.v, arriving.k, arriving.v});
      travelling = causal_ ? halves(queries, keys, step) : wholes(queries, keys);
      if (step > 1) travelling = {{}, arriving.k + travelling.k, arriving.v + travelling.v};
    }
    const Gradients home = travelling.along_ring(region_);
    return {dq_, own.k + home.k, own.v + home.v};
  }

 private:
  Gradients block(const Queries& queries, const Keys& keys, bool causal) {
    std::vector<Value> inputs{queries.q, keys.k, keys.v};
    if (queries.ids) inputs.insert(inputs.end(), {queries.ids, keys.ids});
    inputs.insert(inputs.end(), {queries.o, region_.transpose(queries.lse, {0, 2, 1}), queries.d});
    const std::vector<Value> made = region_.attention("attention_grad", inputs, scale_, causal, 3);
    return {made[0], made[1], made[2]};
  }

  Gradients wholes(const Queries& queries, const Keys& keys) {
    const Gradients made = block(queries, keys, false);
    latest_ = made.v;
    dq_ = dq_ + made.q;
    return made;
  }

  Gradients halves(const Queries& queries, const Keys& keys, std::int64_t step) {
    const Halves mine(region_, queries.list()), theirs(region_, {keys.k, keys.v, keys.ids});
    const Gradients first = block(Queries::of(mine.high), {theirs.low[0], theirs.low[1], theirs.low[2]}, false);
    const std::vector<Value> keys_chosen = theirs.from_rank_on(region_, step);
    const Gradients second =
        block(Queries::of(mine.from_rank_on(region_, step)), {keys_chosen[0], keys_chosen[1], keys_chosen[2]}, false);
    latest_ = second.v;
    const auto low = [&](Value x) { return region_.or_zero(step, x, false); };
    const auto high = [&](Value x) { return region_.or_zero(step, x, true); };
    dq_ = dq_ + region_.concat({low(second.q), first.q + high(second.q)}, 1);
    return {{},
            region_.concat({first.k + low(second.k), high(second.k)}, 1),
            region_.concat({first.v + low(second.v), high(second.v)}, 1)};
  }

  Region& region_;
  double scale_;
  bool causal_;
  Value dq_, latest_;  ///< latest_: of the last block
};

/// [b, s, h, 1] to and from attention's [b, h, s].
Value to_rows(Region& region, Value column) {
  const baleen_value_info_t info = column.info();
  return region.transpose(region.reshape(column, {info.shape[0], info.shape[1], info.shape[2]}), {0, 2, 1});
}

}  // namespace

void lower_ring_attention(GraphView graph, const RingOfRanks& ring, baleen_op_t id) {
  const Op op = *graph.op(id);
  const bool grad = op.kind() == "attention_grad", causal = op.integer("causal", 0) != 0;
  const double scale = op.number("scale");
  // The op's lists are valid until the graph changes.
  const std::vector<baleen_value_t> inputs(op.inputs().begin(), op.inputs().end());
  const std::vector<baleen_value_t> outputs(op.outputs().begin(), op.outputs().end());
  Region region(graph, ring, id);
  std::vector<Value> local;
  for (const baleen_value_t input : inputs) local.push_back(region.open(input));
  const bool ids = inputs.size() == (grad ? 8 : 5);
  const Keys keys{local[1], local[2], ids ? local[4] : Value()};
  const Value ids_q = ids ? local[3] : Value();
  if (!grad) {
    const Part made = Forward(region, scale, causal).run(local[0], ids_q, keys);
    region.close(made.o, outputs[0]);
    region.close(to_rows(region, made.lse), outputs[1]);
    return;
  }
  const std::size_t rest = ids ? 5 : 3;
  const Value lse = region.transpose(local[rest + 1], {0, 2, 1});
  const Gradients made =
      Backward(region, scale, causal).run({local[0], local[rest], local[rest + 2], lse, ids_q}, keys);
  region.close(made.q, outputs[0]);
  region.close(made.k, outputs[1]);
  region.close(made.v, outputs[2]);
}

}  // namespace baleen::sequence_parallel
