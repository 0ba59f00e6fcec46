/// \file Layer norm (arXiv 1607.06450) and rms norm (arXiv 1910.07467), one row at a time.
#include "tables.hpp"
#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class T>
struct Sum {
  const T* x;
  BALEEN_INLINE Vector<T> at(Index i) const { return load(x + i); }
  BALEEN_INLINE T one(Index i) const { return x[i]; }
};
template <class T>
struct SquaredDistance {
  const T* x;
  T mean;
  BALEEN_INLINE Vector<T> at(Index i) const {
    const Vector<T> d = load(x + i) - mean;
    return d * d;
  }
  BALEEN_INLINE T one(Index i) const { return (x[i] - mean) * (x[i] - mean); }
};
template <class T>
struct Product {
  const T *a, *b;
  BALEEN_INLINE Vector<T> at(Index i) const { return load(a + i) * load(b + i); }
  BALEEN_INLINE T one(Index i) const { return a[i] * b[i]; }
};
// gamma * dy * (x - mean)
template <class T>
struct Weighted {
  const T *x, *gamma, *dy;
  T mean;
  BALEEN_INLINE Vector<T> at(Index i) const { return load(gamma + i) * load(dy + i) * (load(x + i) - mean); }
  BALEEN_INLINE T one(Index i) const { return gamma[i] * dy[i] * (x[i] - mean); }
};

template <class T>
void norm_row(T* y, const T* x, const T* gamma, const T* beta, T epsilon, Index n, T* rstd_out, T* mean_out) {
  const T count = static_cast<T>(n);
  const T mean = mean_out ? sum_terms<T>(Sum<T>{x}, 0, n) / count : T(0);
  const T variance = sum_terms<T>(SquaredDistance<T>{x, mean}, 0, n) / count;
  const T rstd = T(1) / static_cast<T>(__builtin_sqrt(static_cast<double>(variance + epsilon)));
  if (mean_out) *mean_out = mean;
  *rstd_out = rstd;
  if (beta) {
#pragma GCC ivdep
    for (Index i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
  } else {
#pragma GCC ivdep
    for (Index i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * gamma[i];
  }
}

// With h = (x - mean) rstd and g = gamma dy: dx = rstd (g - avg(g) - h avg(g h)) + added; without mean, no avg(g).
template <class T>
void norm_grad_row(T* dx, const T* x, const T* gamma, const T* dy, const T* added, T rstd, const T* mean_in, Index n,
                   T* dgamma, T* dbeta) {
  const T count = static_cast<T>(n), mean = mean_in ? *mean_in : T(0);
  const T average = mean_in ? sum_terms<T>(Product<T>{gamma, dy}, 0, n) / count : T(0);
  const T slope = sum_terms<T>(Weighted<T>{x, gamma, dy, mean}, 0, n) * rstd / count;
  if (dbeta) {  // before dx, which may have the bytes of dy
#pragma GCC ivdep
    for (Index i = 0; i < n; ++i) dbeta[i] += dy[i];
  }
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) {
    const T h = (x[i] - mean) * rstd, d = dy[i];
    dgamma[i] += d * h;
    dx[i] = rstd * (gamma[i] * d - average - h * slope);
  }
  if (!added) return;
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) dx[i] += added[i];  // apart, so that nothing is rounded less than by two kernels
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.norm_row = norm_row<T>;
  r.norm_grad_row = norm_grad_row<T>;
}

}  // namespace

void fill_norm(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
