/// \file Reductions, for the instruction set that the compiler is told to use.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "baleen/collective.hpp"
#include "baleen/half.hpp"
#include "routines.hpp"

namespace baleen::sdk::BALEEN_REDUCTION_ISA {
namespace {

// How an element is stored, and computed with.
template <class S, class C>
struct Element {
  using Stored = S;
  using Computed = C;
  static C load(S x) { return x; }
  static S store(C x) { return x; }
};
struct Bf16 : Element<std::uint16_t, float> {
  static float load(std::uint16_t x) { return from_bf16(x); }
  static std::uint16_t store(float x) { return to_bf16(x); }
};
struct Fp16 : Element<std::uint16_t, float> {
  static float load(std::uint16_t x) { return from_fp16(x); }
  static std::uint16_t store(float x) { return to_fp16(x); }
};

template <class T, baleen_reduction_t kReduction>
inline T combine(T a, T b) {
  if constexpr (kReduction == BALEEN_MAXIMUM) {
    return ((a > b) | (a != a)) ? a : b;
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

template <class E, baleen_reduction_t kReduction>
struct Kernel {
  using Stored = typename E::Stored;
  using Computed = typename E::Computed;
  static constexpr std::size_t kTile = 4096 / sizeof(Computed);  // a few of them stay in the L1 cache

  using Source __attribute__((aligned(1))) = Stored;  // wherever it lies
  static const Source* at(const std::byte* base, std::size_t first) {
    return reinterpret_cast<const Source*>(base) + first;
  }

  // out = the tree over sources [low, high), elements [first, first + count).
  static void tree(const std::byte* const* sources, std::size_t low, std::size_t high, std::size_t first,
                   std::size_t count, Computed* out) {
    if (high - low == 1) {
      const Source* a = at(sources[low], first);
      for (std::size_t i = 0; i < count; ++i) out[i] = E::load(a[i]);
    } else if (high - low == 2) {
      const Source *a = at(sources[low], first), *b = at(sources[low + 1], first);
#pragma omp simd
      for (std::size_t i = 0; i < count; ++i) out[i] = combine<Computed, kReduction>(E::load(a[i]), E::load(b[i]));
    } else {
      const std::size_t middle = tree_middle(low, high);
      tree(sources, low, middle, first, count, out);
      Computed right[kTile];
      tree(sources, middle, high, first, count, right);
#pragma omp simd
      for (std::size_t i = 0; i < count; ++i) out[i] = combine<Computed, kReduction>(out[i], right[i]);
    }
  }

  // Two sources and one or two destinations, without a tile between. Sources may be destinations, so the loop is
  // promised to be free of dependences.
  static void two(const Source* a, const Source* b, Stored* x, Stored* y, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
      const Stored sum = E::store(combine<Computed, kReduction>(E::load(a[i]), E::load(b[i])));
      x[i] = sum;
      y[i] = sum;
    }
  }
  static void two(const Source* a, const Source* b, Stored* x, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i)
      x[i] = E::store(combine<Computed, kReduction>(E::load(a[i]), E::load(b[i])));
  }

  static void run(const std::byte* const* sources, std::size_t source_count, std::byte* const* destinations,
                  std::size_t destination_count, std::size_t count) {
    const auto out = [&](std::size_t d) { return reinterpret_cast<Stored*>(destinations[d]); };
    if (source_count == 2 && destination_count == 1) return two(at(sources[0], 0), at(sources[1], 0), out(0), count);
    if (source_count == 2 && destination_count == 2)
      return two(at(sources[0], 0), at(sources[1], 0), out(0), out(1), count);
    Computed tile[kTile];
    for (std::size_t first = 0; first < count; first += kTile) {
      const std::size_t size = std::min(kTile, count - first);
      tree(sources, 0, source_count, first, size, tile);
      Stored* to = out(0) + first;
      for (std::size_t i = 0; i < size; ++i) to[i] = E::store(tile[i]);
      for (std::size_t d = 1; d < destination_count; ++d) std::memcpy(out(d) + first, to, size * sizeof(Stored));
    }
  }
};

template <class E>
Reduction of(baleen_reduction_t reduction) {
  return reduction == BALEEN_SUM ? &Kernel<E, BALEEN_SUM>::run : &Kernel<E, BALEEN_MAXIMUM>::run;
}

}  // namespace

Reduction find_reduction(baleen_dtype_t dtype, baleen_reduction_t reduction) {
  switch (dtype) {
    case BALEEN_F32: return of<Element<float, float>>(reduction);
    case BALEEN_F64: return of<Element<double, double>>(reduction);
    case BALEEN_F16: return of<Fp16>(reduction);
    case BALEEN_BF16: return of<Bf16>(reduction);
    case BALEEN_I32: return of<Element<std::int32_t, std::int32_t>>(reduction);
    case BALEEN_I64: return of<Element<std::int64_t, std::int64_t>>(reduction);
    default: return of<Element<std::uint8_t, std::uint8_t>>(reduction);
  }
}

}  // namespace baleen::sdk::BALEEN_REDUCTION_ISA
