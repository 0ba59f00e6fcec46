/// \file Attention's gradient by blocks, probabilities computed again from lse (arXiv 2205.14135, algorithm 4): one head.
#include "gemm.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

constexpr Index kBlock = kAttentionBlock;

Index round_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

// Memory of one head. What is marked * only exists where the width is not a multiple of the lanes; elsewhere the tensors
// themselves are used.
template <class T>
struct Workspace {
  T* k_turned;  // [width, kBlock], scaled
  T* v_turned;  // [width, kBlock]
  T* p;         // [kBlock queries, kBlock keys]
  T* ds;        // like p
  T* delta;     // [queries] sum over the width of o * do
  T *q, *d_o, *dq;   // * [queries, padded]
  T *k, *dk, *dv;    // * [kBlock, padded]
};

template <class T>
Index scratch(const AttentionShape& s) {
  const Index padded = round_up(s.width, kLanes<T>);
  const Index common = 2 * padded * kBlock + 2 * kBlock * kBlock + round_up(s.queries, kLanes<T>);
  return padded == s.width ? common : common + 3 * padded * (s.queries + kBlock);
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
  w.k_turned = take(padded * kBlock);
  w.v_turned = take(padded * kBlock);
  w.p = take(kBlock * kBlock);
  w.ds = take(kBlock * kBlock);
  w.delta = take(round_up(s.queries, kLanes<T>));
  if (padded == s.width) return w;
  w.q = take(s.queries * padded);
  w.d_o = take(s.queries * padded);
  w.dq = take(s.queries * padded);
  w.k = take(kBlock * padded);
  w.dk = take(kBlock * padded);
  w.dv = take(kBlock * padded);
  return w;
}

template <class T>
void turn(T* out, Rows<const T> in, Index first, Index count, Index columns, Index width, T scale) {
  for (Index j = 0; j < count; ++j) {
    const T* row = in.at(first + j);
    for (Index e = 0; e < width; ++e) out[e * kBlock + j] = row[e] * scale;
  }
  for (Index e = 0; e < width; ++e)
    for (Index j = count; j < columns; ++j) out[e * kBlock + j] = T(0);
}

template <class T>
Rows<const T> pad(T* out, Rows<const T> in, Index first, Index count, Index width, Index padded) {
  if (width == padded) return {in.at(first), in.stride};
  for (Index j = 0; j < count; ++j)
    for (Index e = 0; e < padded; ++e) out[j * padded + e] = e < width ? in.at(first + j)[e] : T(0);
  return {out, padded};
}

template <class T>
void unpad(Rows<T> out, const T* in, Index first, Index count, Index width, Index padded, bool add) {
  for (Index j = 0; j < count; ++j)
    for (Index e = 0; e < width; ++e) {
      T& to = out.at(first + j)[e];
      to = add ? to + in[j * padded + e] : in[j * padded + e];
    }
}

// A block of queries by a block of keys.
struct Pair {
  Index query, queries, key, keys;
};

template <class T>
bool sees(const AttentionShape& s, const AttentionHead<T>& head, Index query, Index key) {
  if (key >= query + s.reach) return false;
  if (!head.ids_q.data) return true;
  const std::int32_t id = *head.ids_q.at(query);
  return id >= 0 && id == *head.ids_k.at(key);
}

// p and ds of one pair from scores (in p) and do v^T (in ds).
template <class T>
void differentiate(const AttentionShape& s, const AttentionHead<T>& head, const Workspace<T>& w, const Pair& at) {
  const T scale = static_cast<T>(s.scale);
  const bool masked = head.ids_q.data || at.key + at.keys > at.query + s.reach;
  for (Index i = 0; i < at.queries; ++i) {
    T *p = w.p + i * kBlock, *ds = w.ds + i * kBlock;
    const T lse = *head.lse.at(at.query + i), delta = w.delta[at.query + i];
    // Of a query that sees nothing lse is -inf; +inf makes its probabilities 0.
    const T base = lse == -static_cast<T>(__builtin_inf()) ? static_cast<T>(__builtin_inf()) : lse;
    if (masked)
      for (Index j = 0; j < at.keys; ++j)
        if (!sees(s, head, at.query + i, at.key + j)) p[j] = -static_cast<T>(__builtin_inf());
#pragma GCC ivdep
    for (Index j = 0; j < at.keys; ++j) p[j] = exp_of(p[j] - base);
#pragma GCC ivdep
    for (Index j = 0; j < at.keys; ++j) ds[j] = p[j] * (ds[j] - delta) * scale;
  }
}

template <class T>
void compute_delta(const AttentionShape& s, const AttentionGradHead<T>& head, T* delta) {
  for (Index i = 0; i < s.queries; ++i) {
    const T *o = head.forward.o.at(i), *d_o = head.d_o.at(i);
    T sum = 0;
    Vector<T> sums{};
    Index e = 0;
    for (; e + kLanes<T> <= s.width; e += kLanes<T>) sums += load(o + e) * load(d_o + e);
    for (; e < s.width; ++e) sum += o[e] * d_o[e];
    delta[i] = sum_lanes<T>(sums) + sum;
  }
}

template <class T>
void fill_rows(Rows<T> rows, Index count, Index width) {
  for (Index i = 0; i < count; ++i)
    for (Index e = 0; e < width; ++e) rows.at(i)[e] = T(0);
}

template <class T>
void attention_grad(const AttentionShape& s, const AttentionGradHead<T>& head, bool add, T* memory) {
  const Workspace<T> w = lay_out(s, memory);
  const Index width = s.width, padded = round_up(width, kLanes<T>);
  const bool direct = padded == width;
  const Rows<const T> q = pad(w.q, head.forward.q, 0, s.queries, width, padded);
  const Rows<const T> d_o = pad(w.d_o, head.d_o, 0, s.queries, width, padded);
  const Rows<T> dq = direct ? head.dq : Rows<T>{w.dq, padded};
  fill_rows(dq, s.queries, padded);
  compute_delta(s, head, w.delta);
  for (Index key = 0; key < s.keys; key += kBlock) {
    const Index keys = s.keys - key < kBlock ? s.keys - key : kBlock, columns = round_up(keys, kLanes<T>);
    turn(w.k_turned, head.forward.k, key, keys, columns, width, static_cast<T>(s.scale));
    turn(w.v_turned, head.forward.v, key, keys, columns, width, T(1));
    const Rows<const T> k = pad(w.k, head.forward.k, key, keys, width, padded);
    const Rows<T> dk = direct ? Rows<T>{head.dk.at(key), head.dk.stride} : Rows<T>{w.dk, padded};
    const Rows<T> dv = direct ? Rows<T>{head.dv.at(key), head.dv.stride} : Rows<T>{w.dv, padded};
    if (!direct || !add) {
      fill_rows(dk, keys, padded);
      fill_rows(dv, keys, padded);
    }
    // The first query that sees this block's first key.
    const Index first = key >= s.reach ? (key - s.reach + 1) / kBlock * kBlock : 0;
    for (Index query = first; query < s.queries; query += kBlock) {
      const Index queries = s.queries - query < kBlock ? s.queries - query : kBlock;
      multiply(queries, columns, width, q.at(query), q.stride, Index(1), w.k_turned, kBlock, w.p, kBlock, false);
      multiply(queries, columns, width, d_o.at(query), d_o.stride, Index(1), w.v_turned, kBlock, w.ds, kBlock, false);
      differentiate(s, head.forward, w, {query, queries, key, keys});
      multiply<T>(keys, padded, queries, w.p, 1, kBlock, d_o.at(query), d_o.stride, dv.data, dv.stride, true);
      multiply<T>(keys, padded, queries, w.ds, 1, kBlock, q.at(query), q.stride, dk.data, dk.stride, true);
      multiply<T>(queries, padded, keys, w.ds, kBlock, 1, k.data, k.stride, dq.at(query), dq.stride, true);
    }
    if (!direct) {
      unpad(head.dk, w.dk, key, keys, width, padded, add);
      unpad(head.dv, w.dv, key, keys, width, padded, add);
    }
  }
  if (!direct) unpad(head.dq, w.dq, 0, s.queries, width, padded, false);
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
