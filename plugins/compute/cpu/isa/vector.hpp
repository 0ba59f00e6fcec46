/// \file A 64-byte vector of T (the compiler splits it where registers are shorter), and sums in a fixed order.
///
/// Included once per instruction set.
#pragma once
#include "math.hpp"
#include "routines.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(64), may_alias));
  typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(64), may_alias));
  typedef double loose __attribute__((vector_size(64), aligned(8), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr Index kLanes = 64 / static_cast<Index>(sizeof(T));

template <class T>
BALEEN_INLINE Vector<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::loose*>(p);
}
template <class T>
BALEEN_INLINE void store(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::loose*>(p) = v;
}

/// The first `count` lanes of a, the others of b.
template <class T>
BALEEN_INLINE Vector<T> first_lanes(Index count, Vector<T> a, Vector<T> b) {
  Vector<T> lane;
  for (Index i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<T>(i);
  return lane < static_cast<T>(count) ? a : b;
}

/// function(register or fp64) of each lane.
template <class T, class Function>
BALEEN_INLINE Vector<T> map_lanes(Vector<T> x, const Function& function) {
  if constexpr (sizeof(T) == 4 && kRegisterBytes == 64) return (Vector<T>)function((Floats)x);
  alignas(64) T lanes[kLanes<T>];
  store(lanes, x);
  map(lanes, lanes, kLanes<T>, function);
  return load(lanes);
}
template <class T>
BALEEN_INLINE Vector<T> exp_of_negative_lanes(Vector<T> x) {
  return map_lanes<T>(x, [](auto v) { return exp_of_negative(v); });
}

/// The lanes added as a balanced tree.
template <class T>
BALEEN_INLINE T sum_lanes(Vector<T> v) {
  T x[kLanes<T>];
  store(x, v);
  for (Index half = kLanes<T> / 2; half > 0; half /= 2)
    for (Index i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

/// Sum of term(i) for i < n where term gives a vector at(i) and a scalar one(i): chunks of 1024 by four vector sums,
/// the chunks as a tree, so that the error grows with log n and the order depends on n alone.
template <class T, class Term>
T sum_terms(const Term& term, Index begin, Index n) {
  constexpr Index kChunk = 1024, kStep = 4 * kLanes<T>;
  if (n > kChunk) {
    const Index left = (n / 2 + kChunk - 1) / kChunk * kChunk;
    return sum_terms<T>(term, begin, left) + sum_terms<T>(term, begin + left, n - left);
  }
  Vector<T> a{}, b{}, c{}, d{};
  Index i = 0;
  for (; i + kStep <= n; i += kStep) {
    const Index at = begin + i;
    a += term.at(at);
    b += term.at(at + kLanes<T>);
    c += term.at(at + 2 * kLanes<T>);
    d += term.at(at + 3 * kLanes<T>);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) a += term.at(begin + i);
  T rest = 0;
  for (; i < n; ++i) rest += term.one(begin + i);
  return sum_lanes<T>((a + b) + (c + d)) + rest;
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
