/// \file Philox4x32-10 (Salmon et al. 2011) and what expression.h makes of its words.
#include "math.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

struct Words {
  uint32_t x0, x1;
};

BALEEN_INLINE Words philox(uint64_t element, uint64_t step, uint64_t key) {
  uint32_t c0 = static_cast<uint32_t>(element), c1 = static_cast<uint32_t>(element >> 32);
  uint32_t c2 = static_cast<uint32_t>(step), c3 = static_cast<uint32_t>(step >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1};
}

template <class T>
void uniform(T* out, uint64_t element, Index n, uint64_t key, uint64_t step) {
  for (Index i = 0; i < n; ++i) {
    const int32_t bits = static_cast<int32_t>(philox(element + static_cast<uint64_t>(i), step, key).x0 >> 8);
    out[i] = static_cast<T>(bits) * T(0x1p-24);
  }
}

template <class T>
void normal(T* out, uint64_t element, Index n, uint64_t key, uint64_t step) {
  for (Index i = 0; i < n; ++i) {
    const Words words = philox(element + static_cast<uint64_t>(i), step, key);
    const double u = (static_cast<double>(words.x0 >> 8) + 0.5) * 0x1p-24,
                 v = static_cast<double>(words.x1 >> 8) * 0x1p-24;
    out[i] = static_cast<T>(__builtin_sqrt(-2.0 * __builtin_log(u)) * __builtin_cos(6.283185307179586476925 * v));
  }
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.uniform = uniform<T>;
  r.normal = normal<T>;
}

}  // namespace

void fill_random(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
