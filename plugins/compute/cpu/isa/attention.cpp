/// \file Attention by blocks with a running maximum (arXiv 2205.14135, 1805.02867): one block of queries of one head.
#include "gemm.hpp"
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
  T* v;       // [kBlock, padded width], where the width is not a multiple of the lanes
  T* sum;     // [kBlock, padded width]
  T* peak;    // [kBlock]
  T* total;   // [kBlock]
  T* factor;  // [kBlock]
};

Index round_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

template <class T>
Index scratch(const AttentionShape& s) {
  const Index padded = round_up(s.width, kLanes<T>);
  return round_up(s.width, kLanes<T>) * kBlock + kBlock * kBlock + 2 * kBlock * padded + 3 * kBlock;
}

template <class T>
Block<T> lay_out(const AttentionShape& s, T* at) {
  const Index padded = round_up(s.width, kLanes<T>);
  Block<T> b{};
  b.q = at;
  b.scores = b.q + padded * kBlock;
  b.v = b.scores + kBlock * kBlock;
  b.sum = b.v + kBlock * padded;
  b.peak = b.sum + kBlock * padded;
  b.total = b.peak + kBlock;
  b.factor = b.total + kBlock;
  return b;
}

template <class T>
void hide_future(T* scores, Index columns, Index keys, Index first_hidden) {
  // Query i sees key j of this block if j < i + first_hidden.
  for (Index j = first_hidden > 0 ? first_hidden : 0; j < keys; ++j) {
    const Index end = j - first_hidden + 1 < columns ? j - first_hidden + 1 : columns;
    for (Index i = 0; i < end; ++i) scores[j * kBlock + i] = -static_cast<T>(__builtin_inf());
  }
}

template <class T>
void hide_others(T* scores, const AttentionHead<T>& head, Index begin, Index rows, Index key, Index keys) {
  for (Index j = 0; j < keys; ++j) {
    const std::int32_t id = *head.ids_k.at(key + j);
    for (Index i = 0; i < rows; ++i)
      if (id < 0 || *head.ids_q.at(begin + i) != id) scores[j * kBlock + i] = -static_cast<T>(__builtin_inf());
  }
}

// Scores become probabilities relative to the new peak; `factor` is what earlier sums must be multiplied by.
template <class T>
void update_softmax(const Block<T>& b, Index columns, Index keys) {
  alignas(64) T peak[kBlock], base[kBlock], total[kBlock];
  for (Index i = 0; i < columns; ++i) peak[i] = b.peak[i];
  for (Index j = 0; j < keys; ++j)
    for (Index i = 0; i < columns; ++i) {
      const T x = b.scores[j * kBlock + i];
      peak[i] = peak[i] >= x || peak[i] != peak[i] ? peak[i] : x;
    }
  for (Index i = 0; i < columns; ++i) {
    // A query that has seen nothing yet has no peak; any base will do, since every exponential is 0.
    base[i] = peak[i] == -static_cast<T>(__builtin_inf()) ? T(0) : peak[i];
    b.factor[i] = exp_of(b.peak[i] - base[i]);
    b.peak[i] = peak[i];
    total[i] = b.total[i] * b.factor[i];
  }
  for (Index j = 0; j < keys; ++j) {
    T* row = b.scores + j * kBlock;
#pragma GCC ivdep
    for (Index i = 0; i < columns; ++i) row[i] = exp_of(row[i] - base[i]);
#pragma GCC ivdep
    for (Index i = 0; i < columns; ++i) total[i] += row[i];
  }
  for (Index i = 0; i < columns; ++i) b.total[i] = total[i];
}

template <class T>
void rescale(const Block<T>& b, Index rows, Index padded) {
  for (Index i = 0; i < rows; ++i) {
    if (b.factor[i] == T(1)) continue;
    for (Index e = 0; e < padded; ++e) b.sum[i * padded + e] *= b.factor[i];
  }
}

template <class T>
void load_queries(const AttentionShape& s, const AttentionHead<T>& head, const Block<T>& b, Index begin, Index rows,
                  Index columns, Index padded) {
  const T scale = static_cast<T>(s.scale);
  for (Index i = 0; i < rows; ++i) {
    const T* row = head.q.at(begin + i);
    for (Index e = 0; e < s.width; ++e) b.q[e * kBlock + i] = row[e] * scale;
  }
  for (Index e = 0; e < s.width; ++e)
    for (Index i = rows; i < columns; ++i) b.q[e * kBlock + i] = T(0);
  for (Index i = 0; i < columns; ++i) {
    b.peak[i] = -static_cast<T>(__builtin_inf());
    b.total[i] = T(0);
  }
  for (Index i = 0; i < rows * padded; ++i) b.sum[i] = T(0);
}

template <class T>
Rows<const T> padded_values(const AttentionShape& s, const AttentionHead<T>& head, const Block<T>& b, Index key,
                            Index keys, Index padded) {
  if (padded == s.width) return {head.v.at(key), head.v.stride};
  for (Index j = 0; j < keys; ++j)
    for (Index e = 0; e < padded; ++e) b.v[j * padded + e] = e < s.width ? head.v.at(key + j)[e] : T(0);
  return {b.v, padded};
}

template <class T>
void store_rows(const AttentionShape& s, const AttentionHead<T>& head, const Block<T>& b, Index begin, Index rows,
                Index padded) {
  for (Index i = 0; i < rows; ++i) {
    const bool any = b.total[i] != T(0);
    const T factor = any ? T(1) / b.total[i] : T(0);
    T* out = head.o.at(begin + i);
    for (Index e = 0; e < s.width; ++e) out[e] = b.sum[i * padded + e] * factor;
    *head.lse.at(begin + i) = any ? b.peak[i] + log_of(b.total[i]) : -static_cast<T>(__builtin_inf());
  }
}

template <class T>
void attention(const AttentionShape& s, const AttentionHead<T>& head, Index begin, Index end, T* memory) {
  const Block<T> b = lay_out(s, memory);
  const Index rows = end - begin, columns = round_up(rows, kLanes<T>), padded = round_up(s.width, kLanes<T>);
  load_queries(s, head, b, begin, rows, columns, padded);
  const Index seen = end - 1 + s.reach < s.keys ? end - 1 + s.reach : s.keys;
  for (Index key = 0; key < seen; key += kBlock) {
    const Index keys = seen - key < kBlock ? seen - key : kBlock;
    multiply(keys, columns, s.width, head.k.at(key), head.k.stride, Index(1), b.q, kBlock, b.scores, kBlock, false);
    if (key + keys > begin + s.reach) hide_future(b.scores, columns, keys, begin + s.reach - key);
    if (head.ids_q.data) hide_others(b.scores, head, begin, rows, key, keys);
    update_softmax(b, columns, keys);
    if (key > 0) rescale(b, rows, padded);
    const Rows<const T> v = padded_values(s, head, b, key, keys, padded);
    multiply(rows, padded, keys, static_cast<const T*>(b.scores), Index(1), kBlock, v.data, v.stride, b.sum, padded,
             true);
  }
  store_rows(s, head, b, begin, rows, padded);
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
