/// \file What the processor does at most: multiply-adds without memory, and memory with hardly any arithmetic.
#include "tables.hpp"
#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

double multiply_adds(Index steps) {
  // As many chains as hide the latency and fit into the registers.
  constexpr Index kChains = 12;
  Floats sum[kChains], factor = Floats{} + 0.999f, term = Floats{} + 0.001f;
  for (Index c = 0; c < kChains; ++c) sum[c] = Floats{} + static_cast<float>(c);
  // The compiler must not know the values: a chain that starts at its fixed point is a constant to it, and left out.
  for (Floats& x : sum) asm volatile("" : "+x"(x));
  asm volatile("" : "+x"(factor), "+x"(term));
  for (Index i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (Index c = 0; c < kChains; ++c) sum[c] = sum[c] * factor + term;
  }
  for (const Floats& x : sum) asm volatile("" : : "x"(x));
  return static_cast<double>(steps * kChains * kFloats * 2);
}

void seven_words(float* a, float* b, float* c, const float* d, Index n) {
  for (Index i = 0; i + kLanes<float> <= n; i += kLanes<float>) {
    const Vector<float> x = load(d + i), y = load(b + i) * 0.9f + x, z = load(c + i) * 0.9f + x;
    store(b + i, y);
    store(c + i, z);
    store(a + i, load(a + i) + y * z);
  }
}

}  // namespace

void fill_peak(Routines& routines) {
  routines.multiply_adds = multiply_adds;
  routines.seven_words = seven_words;
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
