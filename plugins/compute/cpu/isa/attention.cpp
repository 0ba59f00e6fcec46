/// \file Attention by blocks with a running maximum (arXiv 2205.14135, 1805.02867): one block of queries of one head.
#include "gemm.hpp"
#include "pack.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

constexpr Index kBlock = kAttentionBlock;

// Scores are kept transposed, [keys, queries]: maxima and sums over the keys are then vertical, and neither k nor the
// probabilities need transposing for their products.
template <class T>
struct Block {
  T* q;       // [width, kBlock], scaled
  T* scores;  // [kBlock, kBlock]
  T *k, *v;   // [kBlock or all keys, padded width]
  T* sum;     // [kBlock, padded width]
  T* peak;    // [kBlock]
  T* total;   // [kBlock]
  T* factor;  // [kBlock]
};

// How many keys are packed at a time.
Index packed_keys(const AttentionShape& s) {
  return s.keys * s.width <= kAttentionKept ? round_up(s.keys, kBlock) : kBlock;
}

template <class T>
Index scratch(const AttentionShape& s) {
  const Index padded = round_up(s.width, kLanes<T>);
  return 2 * kBlock * padded + 2 * packed_keys(s) * padded + kBlock * kBlock + 3 * kBlock;
}

template <class T>
Block<T> lay_out(const AttentionShape& s, T* at) {
  const Index padded = round_up(s.width, kLanes<T>);
  Block<T> b{};
  b.q = at;
  b.scores = b.q + padded * kBlock;
  b.sum = b.scores + kBlock * kBlock;
  b.peak = b.sum + kBlock * padded;
  b.total = b.peak + kBlock;
  b.factor = b.total + kBlock;
  b.k = b.factor + kBlock;
  b.v = b.k + packed_keys(s) * padded;
  return b;
}

// Query i sees key j of this block if j < i + visible.
template <class T>
void hide_future(T* scores, Index columns, Index keys, Index visible) {
  const Vector<T> hidden = Vector<T>{} - static_cast<T>(__builtin_inf());
  for (Index j = visible > 0 ? visible : 0; j < keys; ++j) {
    const Index end = j - visible + 1 < columns ? j - visible + 1 : columns;
    T* row = scores + j * kBlock;
    Index i = 0;
    for (; i + kLanes<T> <= end; i += kLanes<T>) store(row + i, hidden);
    if (i < end) store(row + i, first_lanes<T>(end - i, hidden, load(row + i)));
  }
}

template <class T>
void hide_others(T* scores, const AttentionHead& head, Index begin, Index rows, Index key, Index keys) {
  for (Index j = 0; j < keys; ++j) {
    const std::int32_t id = *head.ids_k.at(key + j);
    for (Index i = 0; i < rows; ++i)
      if (id < 0 || *head.ids_q.at(begin + i) != id) scores[j * kBlock + i] = -static_cast<T>(__builtin_inf());
  }
}

// Scores become probabilities relative to the new peak; `factor` is what earlier sums must be multiplied by.
template <class T, Index kVectors>
void update_columns(const Block<T>& b, Index first, Index keys) {
  const Vector<T> nothing = Vector<T>{} - static_cast<T>(__builtin_inf());
  Vector<T> peak[kVectors], base[kVectors], total[kVectors];
#pragma GCC unroll 4
  for (Index v = 0; v < kVectors; ++v) peak[v] = load(b.peak + first + v * kLanes<T>);
  for (Index j = 0; j < keys; ++j) {
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      // A NaN among the scores may be passed over here; it stays among the probabilities.
      const Vector<T> x = load(b.scores + j * kBlock + first + v * kLanes<T>);
      peak[v] = peak[v] < x ? x : peak[v];
    }
  }
#pragma GCC unroll 4
  for (Index v = 0; v < kVectors; ++v) {
    const Index at = first + v * kLanes<T>;
    // A query that has seen nothing yet has no peak; any base will do, since every exponential is 0.
    base[v] = peak[v] == nothing ? Vector<T>{} : peak[v];
    const Vector<T> factor = exp_of_negative_lanes<T>(load(b.peak + at) - base[v]);
    total[v] = load(b.total + at) * factor;
    store(b.factor + at, factor);
    store(b.peak + at, peak[v]);
  }
  for (Index j = 0; j < keys; ++j) {
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      T* at = b.scores + j * kBlock + first + v * kLanes<T>;
      const Vector<T> p = exp_of_negative_lanes<T>(load(at) - base[v]);
      store(at, p);
      total[v] += p;
    }
  }
#pragma GCC unroll 4
  for (Index v = 0; v < kVectors; ++v) store(b.total + first + v * kLanes<T>, total[v]);
}

// The columns are a multiple of the lanes.
template <class T>
void update_softmax(const Block<T>& b, Index columns, Index keys) {
  Index i = 0;
  for (; i + 4 * kLanes<T> <= columns; i += 4 * kLanes<T>) update_columns<T, 4>(b, i, keys);
  for (; i < columns; i += kLanes<T>) update_columns<T, 1>(b, i, keys);
}

template <class T>
void rescale(const Block<T>& b, Index rows, Index padded) {
  for (Index i = 0; i < rows; ++i) {
    if (b.factor[i] == T(1)) continue;
    for (Index e = 0; e < padded; ++e) b.sum[i * padded + e] *= b.factor[i];
  }
}

template <class T>
void load_queries(const AttentionShape& s, const AttentionHead& head, const Block<T>& b, Index begin, Index rows,
                  Index columns, Index padded) {
  pack_transposed(b.q, kBlock, head.q, begin, rows, columns, s.width, static_cast<T>(s.scale));
  for (Index i = 0; i < columns; ++i) {
    b.peak[i] = -static_cast<T>(__builtin_inf());
    b.total[i] = T(0);
  }
  for (Index i = 0; i < rows * padded; ++i) b.sum[i] = T(0);
}

// `columns` rounds the rows up to the lanes.
template <class T>
void store_rows(const AttentionShape& s, const AttentionHead& head, const Block<T>& b, Index begin, Index rows,
                Index columns) {
  const Index padded = round_up(s.width, kLanes<T>);
  alignas(64) T lse[kBlock] = {};
  for (Index i = 0; i < columns; ++i) lse[i] = b.total[i];
  map(lse, lse, columns, [](auto x) { return log_of(x); });
  for (Index i = 0; i < rows; ++i) {
    const bool any = b.total[i] != T(0);
    const T factor = any ? T(1) / b.total[i] : T(0);
    T* const sum = b.sum + i * padded;
    for (Index e = 0; e < s.width; ++e) sum[e] *= factor;
    unpack(head.o.at(begin + i), head.o.storage, sum, s.width);
    const T logarithm = any ? b.peak[i] + lse[i] : -static_cast<T>(__builtin_inf());
    unpack(head.lse.at(begin + i), head.lse.storage, &logarithm, 1);
  }
}

// Queries and keys of one product of blocks.
struct Pair {
  Index query, queries, key, keys;
};

// Under a causal mask half of a block on the diagonal is hidden. Few rows at a time, only what some of them see is
// computed: `visible` is how many keys of the block the first query sees, the next one more, and so on.
template <class T>
void score(const AttentionShape& s, const Block<T>& b, const T* k, const Pair& at, Index columns, Index visible) {
  const Index padded = round_up(s.width, kLanes<T>);
  for (Index j = 0, rows = 0; j < at.keys; j += rows) {
    rows = visible >= at.keys ? at.keys : at.keys - j < kFewRows ? at.keys - j : kFewRows;
    const Index first = j >= visible ? (j - visible + 1) / kLanes<T> * kLanes<T> : 0;
    if (first < columns)
      multiply<T>(rows, columns - first, s.width, k + j * padded, padded, 1, b.q + first, kBlock,
                  b.scores + j * kBlock + first, kBlock, false);
  }
}

template <class T>
void add_values(const AttentionShape& s, const Block<T>& b, const T* v, const Pair& at, Index visible) {
  const Index padded = round_up(s.width, kLanes<T>);
  for (Index i = 0, rows = 0; i < at.queries; i += rows) {
    rows = visible >= at.keys ? at.queries : at.queries - i < kFewRows ? at.queries - i : kFewRows;
    const Index seen = i + rows - 1 + visible, keys = seen < at.keys ? seen : at.keys;
    if (keys > 0) multiply<T>(rows, padded, keys, b.scores + i, 1, kBlock, v, padded, b.sum + i * padded, padded, true);
  }
}

template <class T>
void attend(const AttentionShape& s, const AttentionHead& head, const Block<T>& b, Index begin, Index rows, bool kept) {
  const Index columns = round_up(rows, kLanes<T>), padded = round_up(s.width, kLanes<T>);
  load_queries(s, head, b, begin, rows, columns, padded);
  const Index seen = begin + rows - 1 + s.reach < s.keys ? begin + rows - 1 + s.reach : s.keys;
  for (Index key = 0; key < seen; key += kBlock) {
    const Pair at{begin, rows, key, seen - key < kBlock ? seen - key : kBlock};
    const Index visible = begin + s.reach - key;
    const T *k = kept ? b.k + key * padded : b.k, *v = kept ? b.v + key * padded : b.v;
    if (!kept) {
      pack(b.k, head.k, key, at.keys, s.width, padded);
      pack(b.v, head.v, key, at.keys, s.width, padded);
      const Index rest = seen - key - at.keys, next = rest < kBlock ? rest : kBlock;
      prefetch<T>(head.k, key + at.keys, next, s.width);
      prefetch<T>(head.v, key + at.keys, next, s.width);
    }
    score(s, b, k, at, columns, visible);
    if (at.keys > visible) hide_future(b.scores, columns, at.keys, visible);
    if (head.ids_q.data) hide_others(b.scores, head, begin, rows, key, at.keys);
    update_softmax(b, columns, at.keys);
    if (key > 0) rescale(b, rows, padded);
    add_values(s, b, v, at, visible);
  }
  store_rows(s, head, b, begin, rows, columns);
}

template <class T>
void attention(const AttentionShape& s, const AttentionHead& head, Index begin, Index end, T* memory) {
  const Block<T> b = lay_out(s, memory);
  const bool kept = end - begin > kBlock;
  if (kept) {
    const Index padded = round_up(s.width, kLanes<T>);
    pack(b.k, head.k, 0, s.keys, s.width, padded);
    pack(b.v, head.v, 0, s.keys, s.width, padded);
  }
  for (Index query = begin; query < end; query += kBlock)
    attend(s, head, b, query, end - query < kBlock ? end - query : kBlock, kept);
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.attention_scratch = scratch<T>;
  r.attention = attention<T>;
}

}  // namespace

void fill_attention(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
