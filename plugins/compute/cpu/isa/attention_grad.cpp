/// \file Attention's gradient by blocks, probabilities computed again from lse (arXiv 2205.14135, algorithm 4): one
/// head.
#include "gemm.hpp"
#include "pack.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

constexpr Index kBlock = kAttentionBlock;

// Memory of one head; padded is the width rounded up to whole vectors.
template <class T>
struct Workspace {
  T *q, *d_o, *dq;                 // [queries, padded]
  T* delta;                        // [queries] sum over the width of o * do
  T *k_transposed, *v_transposed;  // [width, kBlock]; k is scaled
  T *k, *dk, *dv;                  // [kBlock, padded]
  T *p, *ds;                       // [kBlock queries, kBlock keys]
};

template <class T>
Index scratch(const AttentionShape& s) {
  const Index padded = round_up(s.width, kLanes<T>);
  return 3 * s.queries * padded + round_up(s.queries, kLanes<T>) + 5 * kBlock * padded + 2 * kBlock * kBlock;
}

template <class T>
Workspace<T> lay_out(const AttentionShape& s, T* at) {
  const Index padded = round_up(s.width, kLanes<T>);
  const auto take = [&at](Index count) {
    T* taken = at;
    at += count;
    return taken;
  };
  Workspace<T> w{};
  w.q = take(s.queries * padded);
  w.d_o = take(s.queries * padded);
  w.dq = take(s.queries * padded);
  w.delta = take(round_up(s.queries, kLanes<T>));
  w.k_transposed = take(kBlock * padded);
  w.v_transposed = take(kBlock * padded);
  w.k = take(kBlock * padded);
  w.dk = take(kBlock * padded);
  w.dv = take(kBlock * padded);
  w.p = take(kBlock * kBlock);
  w.ds = take(kBlock * kBlock);
  return w;
}

// Adds only where T itself is stored.
template <class T>
void give(OutputRows out, const T* in, Index first, Index count, Index width, Index padded, bool add) {
  for (Index j = 0; j < count; ++j) {
    const T* from = in + j * padded;
    if (!add) {
      unpack(out.at(first + j), out.storage, from, width);
      continue;
    }
    T* to = reinterpret_cast<T*>(out.at(first + j));
    for (Index e = 0; e < width; ++e) to[e] += from[e];
  }
}

template <class T>
void clear(T* out, Index count) {
  for (Index i = 0; i < count; ++i) out[i] = T(0);
}

// A block of queries by a block of keys.
struct Pair {
  Index query, queries, key, keys;
};

// How many keys of the block query i of it sees.
Index seen_by(const AttentionShape& s, const Pair& at, Index i) {
  const Index end = at.query + i + s.reach - at.key;
  return end < 0 ? 0 : end < at.keys ? end : at.keys;
}

// Scores of pairs with other ids become -inf.
template <class T>
void hide_others(const AttentionHead& head, T* scores, const Pair& at) {
  for (Index i = 0; i < at.queries; ++i) {
    const std::int32_t id = *head.ids_q.at(at.query + i);
    for (Index j = 0; j < at.keys; ++j)
      if (id < 0 || id != *head.ids_k.at(at.key + j)) scores[i * kBlock + j] = -static_cast<T>(__builtin_inf());
  }
}

// p and ds of one pair from scores (in p) and do v^T (in ds). What a query does not see was perhaps not computed: it
// becomes 0.
template <class T>
void differentiate(const AttentionShape& s, const AttentionHead& head, const Workspace<T>& w, const Pair& at) {
  const T scale = static_cast<T>(s.scale);
  const Vector<T> zero{};
  if (head.ids_q.data) hide_others(head, w.p, at);
  for (Index i = 0; i < at.queries; ++i) {
    T *p = w.p + i * kBlock, *ds = w.ds + i * kBlock;
    const T lse = with_stored<T>(head.lse.at(at.query + i), head.lse.storage, [](auto* x) { return one_as<T>(x); });
    const T delta = w.delta[at.query + i];
    // Of a query that sees nothing lse is -inf; +inf makes its probabilities 0.
    const T base = lse == -static_cast<T>(__builtin_inf()) ? static_cast<T>(__builtin_inf()) : lse;
    const Index end = seen_by(s, at, i);
    Index j = 0;
    for (; j < end; j += kLanes<T>) {
      const Vector<T> probability = exp_of_negative_lanes<T>(load(p + j) - base);
      const Vector<T> slope = probability * (load(ds + j) - delta) * scale;
      const bool whole = j + kLanes<T> <= end;
      store(p + j, whole ? probability : first_lanes<T>(end - j, probability, zero));
      store(ds + j, whole ? slope : first_lanes<T>(end - j, slope, zero));
    }
    for (; j < at.keys; j += kLanes<T>) {
      store(p + j, zero);
      store(ds + j, zero);
    }
  }
}

// Through dq, which is not needed yet: o is packed there.
template <class T>
void compute_delta(const AttentionShape& s, const AttentionGradHead& head, const Workspace<T>& w) {
  const Index padded = round_up(s.width, kLanes<T>);
  const OutputRows o = head.forward.o;
  pack(w.dq, {o.data, o.stride, o.storage}, 0, s.queries, s.width, padded);
  for (Index i = 0; i < s.queries; ++i) {
    Vector<T> sums{};
    for (Index e = 0; e < padded; e += kLanes<T>) sums += load(w.dq + i * padded + e) * load(w.d_o + i * padded + e);
    w.delta[i] = sum_lanes<T>(sums);
  }
}

// The products of one pair of blocks. Where a causal mask hides a part, they go by few rows at a time and leave out
// what none of those sees.
template <class T>
class Products {
 public:
  Products(const AttentionShape& s, const Pair& at)
      : at_(at),
        width_(s.width),
        padded_(round_up(s.width, kLanes<T>)),
        visible_(at.query + s.reach - at.key),
        all_(visible_ >= at.keys) {}

  // out[queries, keys] = rows[queries, width] columns[width, keys]
  void scores(const T* rows, const T* columns, T* out) const {
    each(at_.queries, [&](Index i, Index count) {
      const Index keys = round_up(keys_of(i + count - 1), kLanes<T>);
      if (keys > 0)
        multiply<T>(count, keys, width_, rows + i * padded_, padded_, 1, columns, kBlock, out + i * kBlock, kBlock,
                    false);
    });
  }
  // out[keys, width] += scores^T rows
  void to_keys(const T* scores, const T* rows, T* out) const {
    each(at_.keys, [&](Index j, Index count) {
      const Index first = j >= visible_ ? j - visible_ + 1 : 0;
      if (first < at_.queries)
        multiply<T>(count, padded_, at_.queries - first, scores + first * kBlock + j, 1, kBlock, rows + first * padded_,
                    padded_, out + j * padded_, padded_, true);
    });
  }
  // out[queries, width] += scores rows
  void to_queries(const T* scores, const T* rows, T* out) const {
    each(at_.queries, [&](Index i, Index count) {
      const Index keys = keys_of(i + count - 1);
      if (keys > 0)
        multiply<T>(count, padded_, keys, scores + i * kBlock, kBlock, 1, rows, padded_, out + i * padded_, padded_,
                    true);
    });
  }

 private:
  template <class Body>
  void each(Index total, const Body& body) const {
    for (Index i = 0, count = 0; i < total; i += count) {
      count = all_ ? total : total - i < kFewRows ? total - i : kFewRows;
      body(i, count);
    }
  }
  Index keys_of(Index query) const {
    const Index seen = query + visible_;
    return seen < 0 ? 0 : seen < at_.keys ? seen : at_.keys;
  }

  Pair at_;
  Index width_, padded_;
  Index visible_;  // keys of the block that its first query sees, or less than 1
  bool all_;
};

// What one block of keys gives to dq, dk and dv through all queries that see it.
template <class T>
void add_block(const AttentionShape& s, const AttentionHead& head, const Workspace<T>& w, Index key, Index keys) {
  const Index padded = round_up(s.width, kLanes<T>);
  const Index first = key >= s.reach ? (key - s.reach + 1) / kBlock * kBlock : 0;
  for (Index query = first; query < s.queries; query += kBlock) {
    const Pair at{query, s.queries - query < kBlock ? s.queries - query : kBlock, key, keys};
    const T *q = w.q + query * padded, *d_o = w.d_o + query * padded;
    const Products<T> products(s, at);
    products.scores(q, w.k_transposed, w.p);
    products.scores(d_o, w.v_transposed, w.ds);
    differentiate(s, head, w, at);
    products.to_keys(w.p, d_o, w.dv);
    products.to_keys(w.ds, q, w.dk);
    products.to_queries(w.ds, w.k, w.dq + query * padded);
  }
}

template <class T>
void attention_grad(const AttentionShape& s, const AttentionGradHead& head, bool add, T* memory) {
  const Workspace<T> w = lay_out(s, memory);
  const Index padded = round_up(s.width, kLanes<T>);
  pack(w.q, head.forward.q, 0, s.queries, s.width, padded);
  pack(w.d_o, head.d_o, 0, s.queries, s.width, padded);
  compute_delta(s, head, w);
  clear(w.dq, s.queries * padded);
  for (Index key = 0; key < s.keys; key += kBlock) {
    const Index keys = s.keys - key < kBlock ? s.keys - key : kBlock, columns = round_up(keys, kLanes<T>);
    pack(w.k, head.forward.k, key, keys, s.width, padded);
    const T scale = static_cast<T>(s.scale);
    pack_transposed(w.k_transposed, kBlock, rows_of(w.k, padded), 0, keys, columns, s.width, scale);
    pack_transposed(w.v_transposed, kBlock, head.forward.v, key, keys, columns, s.width, T(1));
    clear(w.dk, keys * padded);
    clear(w.dv, keys * padded);
    add_block(s, head.forward, w, key, keys);
    give(head.dk, w.dk, key, keys, s.width, padded, add);
    give(head.dv, w.dv, key, keys, s.width, padded, add);
  }
  give(head.dq, w.dq, 0, s.queries, s.width, padded, false);
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.attention_grad_scratch = scratch<T>;
  r.attention_grad = attention_grad<T>;
}

}  // namespace

void fill_attention_grad(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
