/// \file Loops over a contiguous row: sums, maxima, exponentials.
#include "tables.hpp"
#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class T>
struct Plain {
  const T* x;
  BALEEN_INLINE Vector<T> at(Index i) const { return load(x + i); }
  BALEEN_INLINE T one(Index i) const { return x[i]; }
};
template <class T>
struct Product {
  const T *a, *b;
  BALEEN_INLINE Vector<T> at(Index i) const { return load(a + i) * load(b + i); }
  BALEEN_INLINE T one(Index i) const { return a[i] * b[i]; }
};

template <class T>
T sum(const T* x, Index n) {
  return sum_terms<T>(Plain<T>{x}, 0, n);
}
template <class T>
T dot(const T* a, const T* b, Index n) {
  return sum_terms<T>(Product<T>{a, b}, 0, n);
}

// A NaN anywhere makes the maximum NaN: it must not hide.
template <class T>
T max(const T* x, Index n) {
  constexpr Index kWide = 2 * kLanes<T>;
  T best[kWide];
  for (Index l = 0; l < kWide; ++l) best[l] = -static_cast<T>(__builtin_inf());
  Index i = 0;
  for (; i + kWide <= n; i += kWide)
    for (Index l = 0; l < kWide; ++l) best[l] = best[l] >= x[i + l] || best[l] != best[l] ? best[l] : x[i + l];
  T result = -static_cast<T>(__builtin_inf());
  for (Index l = 0; l < kWide; ++l) result = result >= best[l] || result != result ? result : best[l];
  for (; i < n; ++i) result = result >= x[i] || result != result ? result : x[i];
  return result;
}

template <class T>
T exp_shifted(T* out, const T* x, T shift, Index n) {
  map(out, x, n, [shift](auto v) { return exp_of(v - shift); });
  return sum(out, n);
}

template <class T>
void add_scaled(T* acc, const T* x, T factor, Index n) {
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) acc[i] += factor * x[i];
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.sum = sum<T>;
  r.dot = dot<T>;
  r.max = max<T>;
  r.exp_shifted = exp_shifted<T>;
  r.add_scaled = add_scaled<T>;
}

}  // namespace

void fill_rows(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
