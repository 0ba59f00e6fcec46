/// \file Twelve independent chains of multiply-adds per thread.
#include "fma_peak.hpp"

namespace baleen::bench {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kChains = 12, kSteps = 1000000;
typedef float Vector __attribute__((vector_size(kBytes)));

}  // namespace

void fma_run(int threads) {
#pragma omp parallel num_threads(threads)
  {
    Vector a[kChains], factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
    for (int c = 0; c < kChains; ++c) a[c] = Vector{} + static_cast<float>(c);
    // The compiler must not know the values: a chain that starts at its fixed point is a constant to it, and left out.
    for (Vector& x : a) asm volatile("" : "+x"(x));
    asm volatile("" : "+x"(factor), "+x"(term));
    for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (int c = 0; c < kChains; ++c) a[c] = a[c] * factor + term;
    }
    for (int c = 0; c < kChains; ++c) asm volatile("" : : "x"(a[c]));
  }
}

double fma_work(int threads) {
  constexpr int kLanes = kBytes / static_cast<int>(sizeof(float));
  return static_cast<double>(threads) * kSteps * kChains * 2 * kLanes;
}

}  // namespace baleen::bench
