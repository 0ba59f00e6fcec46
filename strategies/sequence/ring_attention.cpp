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
  static Keys of(const std::vector<Value>& list) { return {list[0], list[1], list[2]}; }
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

/// Attention to some of the keys: o [b, s, h, e], and lse as a column [b, s, h, 1]. Both in fp32 or more: parts are
/// merged without rounding to 16 bits.
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
    return {region_.wide(made[0]), region_.reshape(turned, {info.shape[0], info.shape[1], info.shape[2], 1})};
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
      high = merge(high, block(queries.high[0], queries.high[1], Keys::of(theirs.low), false));
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

/// Those of queries stay and are summed in fp32; those of keys travel in their own dtype.
struct Gradients {
  Gradients along_ring(Region& region) const { return {{}, region.from_neighbour(k), region.from_neighbour(v)}; }
  Value q, k, v;
};

/// Keys' gradients go home in the end, and nothing would hide that hop: so under a mask a part of the own block
/// is computed first, beside the first hop of the keys, and the rest beside the last hop of their gradients.
class Backward {
 public:
  Backward(Region& region, double scale, bool causal, const Queries& queries, const Keys& keys)
      : region_(region),
        scale_(scale),
        causal_(causal),
        queries_(queries),
        halves_(region, causal ? queries.list() : std::vector<Value>()),
        keys_(keys),
        own_(region, causal ? std::vector{keys.k, keys.v, keys.ids} : std::vector<Value>()) {}

  Gradients run() {
    Keys keys, next = keys_.along_ring(region_, {queries_.d});
    const Gradients own = own_first(next);
    Gradients travelling, older;  // of the keys at hand, by all ranks that had them after their owner
    Value older_low, older_high;
    for (std::int64_t step = 1; step < region_.ranks(); ++step) {
      keys = next;
      next = step + 1 < region_.ranks() ? keys.along_ring(region_, {latest_, older_low, older_high, older.k, older.v})
                                        : Keys();
      older = travelling;
      older_low = dq_low_, older_high = dq_high_;
      dq_low_ = dq_low_ ? region_.after(dq_low_, {keys.k}) : Value();
      dq_high_ = region_.after(dq_high_, {keys.k});
      const Gradients arriving = step > 1 ? travelling.along_ring(region_) : Gradients();
      travelling = of_step(keys.behind(region_, {next.k, next.v, arriving.k, arriving.v}), step);
      if (step > 1) travelling = {{}, arriving.k + travelling.k, arriving.v + travelling.v};
    }
    return own_rest(own, travelling.along_ring(region_));
  }

 private:
  Gradients block(const Queries& queries, const Keys& keys, bool causal) {
    std::vector<Value> inputs{queries.q, keys.k, keys.v};
    if (queries.ids) inputs.insert(inputs.end(), {queries.ids, keys.ids});
    inputs.insert(inputs.end(), {queries.o, region_.transpose(queries.lse, {0, 2, 1}), queries.d});
    const std::vector<Value> made = region_.attention("attention_grad", inputs, scale_, causal, 3);
    latest_ = made[2];
    return {region_.wide(made[0]), made[1], made[2]};
  }

  Queries low() const { return Queries::of(halves_.low); }
  Queries high() const { return Queries::of(halves_.high); }

  /// Under a mask, the high half of the queries and the low half of the keys, all of which they see.
  Gradients own_first(const Keys& leaving) {
    const Queries queries = causal_ ? high() : queries_;
    const Keys seen = causal_ ? Keys::of(own_.low) : keys_;
    const Gradients made = block(queries, seen.behind(region_, {leaving.k, leaving.v}), false);
    dq_high_ = made.q;
    return made;
  }

  Gradients own_rest(const Gradients& first, const Gradients& home) {
    if (!causal_) return {dq_high_, first.k + home.k, first.v + home.v};
    const Gradients a = block(low(), Keys::of(own_.low).behind(region_, {home.k, home.v}), true);
    const Gradients b = block(high(), Keys::of(own_.high).behind(region_, {home.k, home.v}), true);
    return {region_.concat({dq_low_ + a.q, dq_high_ + b.q}, 1), region_.concat({first.k + a.k, b.k}, 1) + home.k,
            region_.concat({first.v + a.v, b.v}, 1) + home.v};
  }

  /// The gradients of another rank's keys.
  Gradients of_step(const Keys& keys, std::int64_t step) {
    if (!causal_) {
      const Gradients made = block(queries_, keys, false);
      dq_high_ = dq_high_ + made.q;
      return made;
    }
    const Halves theirs(region_, {keys.k, keys.v, keys.ids});
    const Gradients first = block(high(), Keys::of(theirs.low), false);
    const Gradients second =
        block(Queries::of(halves_.from_rank_on(region_, step)), Keys::of(theirs.from_rank_on(region_, step)), false);
    const auto low = [&](Value x) { return region_.or_zero(step, x, false); };
    const auto high = [&](Value x) { return region_.or_zero(step, x, true); };
    dq_low_ = dq_low_ ? dq_low_ + low(second.q) : low(second.q);
    dq_high_ = dq_high_ + (first.q + high(second.q));
    return {{},
            region_.concat({first.k + low(second.k), high(second.k)}, 1),
            region_.concat({first.v + low(second.v), high(second.v)}, 1)};
  }

  Region& region_;
  double scale_;
  bool causal_;
  Queries queries_;
  Halves halves_;  ///< of the queries
  Keys keys_;
  Halves own_;              ///< of the keys
  Value dq_low_, dq_high_;  ///< without a mask, dq_high_ is of all
  Value latest_;            ///< of the last block
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
      Backward(region, scale, causal, {local[0], local[rest], local[rest + 2], lse, ids_q}, keys).run();
  region.close(made.q, outputs[0]);
  region.close(made.k, outputs[1]);
  region.close(made.v, outputs[2]);
}

}  // namespace baleen::sequence_parallel
