/// \file Every instruction set gives the elementwise bits of the plainest one, and close results elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "alike.hpp"
#include "available_routines.hpp"
#include "baleen/expression.h"

namespace baleen::cpu {
namespace {

template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed, double spread = 3) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw(0, spread);
  std::vector<T> out(count);
  for (T& x : out) x = static_cast<T>(draw(random));
  return out;
}

template <class T>
class InstructionSet : public testing::Test {
 protected:
  static const RoutinesOf<T>& of(const Routines& r) {
    if constexpr (sizeof(T) == 4)
      return r.f32;
    else
      return r.f64;
  }
  static bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!are_alike(a[i], b[i])) return false;
    return true;
  }
  static void expect_close(const std::vector<T>& got, const std::vector<T>& wanted) {
    const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(wanted[i]),
                  tolerance * (1 + std::abs(static_cast<double>(wanted[i]))))
          << i;
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(InstructionSet, Types);

TYPED_TEST(InstructionSet, GivesTheSameBitsForEveryOpcode) {
  using T = TypeParam;
  std::vector<T> a = numbers<T>(999, 1, 20), b = numbers<T>(999, 2), c = numbers<T>(999, 3);
  const T ends[] = {0,      T(-0.0),  1,       -1,       T(INFINITY), T(-INFINITY),
                    T(NAN), T(1e-40), T(1e30), T(-1e30), T(88.5),     T(-104)};
  std::copy(std::begin(ends), std::end(ends), a.begin() + 40);
  std::vector<T> wanted(999), got(999);
  int opcodes = 0;
  for (std::uint32_t opcode = 0; opcode < 128; ++opcode) {
    const TileOp<T> plain = this->of(routines_baseline()).tile_op(opcode);
    if (!plain) continue;
    ++opcodes;
    plain(wanted.data(), a.data(), b.data(), c.data(), 999);
    for (const Routines* r : available_routines()) {
      this->of(*r).tile_op(opcode)(got.data(), a.data(), b.data(), c.data(), 999);
      EXPECT_TRUE(this->same_bits(got, wanted)) << r->name << ", opcode " << opcode;
    }
  }
  EXPECT_EQ(opcodes, 33);
}
TYPED_TEST(InstructionSet, GivesBitsThatDoNotDependOnThePlaceInATile) {
  using T = TypeParam;
  const std::vector<T> a = numbers<T>(100, 4), b = numbers<T>(100, 5);
  std::vector<T> whole(100), part(100);
  for (const Routines* r : available_routines())
    for (std::uint32_t opcode = 0; opcode < 128; ++opcode) {
      const TileOp<T> op = this->of(*r).tile_op(opcode);
      if (!op) continue;
      op(whole.data(), a.data(), b.data(), b.data(), 100);
      for (Index cut = 1; cut < 100; cut += 7) {
        op(part.data(), a.data(), b.data(), b.data(), cut);
        op(part.data() + cut, a.data() + cut, b.data() + cut, b.data() + cut, 100 - cut);
        ASSERT_TRUE(this->same_bits(part, whole)) << r->name << ", opcode " << opcode << ", cut at " << cut;
      }
    }
}
TYPED_TEST(InstructionSet, DrawsTheSameRandomNumbers) {
  using T = TypeParam;
  std::vector<T> wanted(77), got(77);
  for (const Routines* r : available_routines()) {
    this->of(routines_baseline()).uniform(wanted.data(), 0xfffffff0u, 77, 42, 7);
    this->of(*r).uniform(got.data(), 0xfffffff0u, 77, 42, 7);
    EXPECT_TRUE(this->same_bits(got, wanted)) << r->name;
    this->of(routines_baseline()).normal(wanted.data(), 5, 77, 42, 7);
    this->of(*r).normal(got.data(), 5, 77, 42, 7);
    EXPECT_TRUE(this->same_bits(got, wanted)) << r->name;
  }
}
/// a[m, k] b[k, n] by one block, packed one way or another, row by row; computed twice, the second time added and
/// halved.
template <class T>
std::vector<T> product(const RoutinesOf<T>& routines, const std::vector<T>& a, const std::vector<T>& b, Index m,
                       Index n, Index k, bool left_packed, bool columns_first) {
  const auto up = [](Index extent, Index to) { return (extent + to - 1) / to * to; };
  std::vector<T> left(
      static_cast<std::size_t>(up(m, routines.gemm_rows) / routines.gemm_rows * routines.sliver_step(k))),
      c(static_cast<std::size_t>(m * n));
  std::vector<T> right(
      static_cast<std::size_t>(up(n, routines.gemm_columns) / routines.gemm_columns * routines.panel_step(k)) + 64);
  T* const packed = right.data() + (64 - reinterpret_cast<std::uintptr_t>(right.data()) % 64) / sizeof(T);
  std::vector<T> standing(a.size());  // the same a, stored column by column
  for (Index i = 0; i < m; ++i)
    for (Index l = 0; l < k; ++l)
      standing[static_cast<std::size_t>(l * m + i)] = a[static_cast<std::size_t>(i * k + l)];
  routines.pack_left(left.data(), columns_first ? standing.data() : a.data(), Storage::kOwn, columns_first ? 1 : k,
                     columns_first ? m : 1, m, k, 0, 100);
  routines.pack_left(left.data(), columns_first ? standing.data() : a.data(), Storage::kOwn, columns_first ? 1 : k,
                     columns_first ? m : 1, m, k, 100, k);
  if (columns_first) {  // the same b, stored column by column, packed in two parts
    std::vector<T> turned(b.size());
    for (Index l = 0; l < k; ++l)
      for (Index j = 0; j < n; ++j)
        turned[static_cast<std::size_t>(j * k + l)] = b[static_cast<std::size_t>(l * n + j)];
    routines.pack_right(packed, turned.data(), Storage::kOwn, 1, k, k, n, 0, 37);
    routines.pack_right(packed, turned.data(), Storage::kOwn, 1, k, k, n, 37, k);
  } else {
    routines.pack_right(packed, b.data(), Storage::kOwn, n, 1, k, n, 0, k);
  }
  GemmBlock<T> block{m, n, k, left_packed ? left.data() : a.data(), left_packed ? 0 : k, packed, c.data(), n, 1, false};
  if (columns_first) std::tie(block.c_row, block.c_column) = std::pair(Index{1}, m);
  routines.gemm(block);
  block.accumulate = true;
  routines.gemm(block);
  std::vector<T> out(c.size());
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      out[static_cast<std::size_t>(i * n + j)] = c[static_cast<std::size_t>(i * block.c_row + j * block.c_column)] / 2;
  return out;
}

TYPED_TEST(InstructionSet, AgreesOnProductsAndRows) {
  using T = TypeParam;
  const Index m = 37, n = 83, k = 129;
  const std::vector<T> a = numbers<T>(m * k, 6, 1), b = numbers<T>(k * n, 7, 1);
  std::vector<T> wanted(m * n);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index l = 0; l < k; ++l) sum += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
      wanted[i * n + j] = static_cast<T>(sum);
    }
  for (const Routines* r : available_routines()) {
    SCOPED_TRACE(r->name);
    for (const bool left_packed : {false, true})
      for (const bool columns_first : {false, true})
        this->expect_close(product(this->of(*r), a, b, m, n, k, left_packed, columns_first), wanted);
    const auto& f = this->of(*r);
    const auto& p = this->of(routines_baseline());
    for (const Index count : {1, 15, 16, 63, 2000})
      this->expect_close({f.sum(a.data(), count), f.max(a.data(), count), f.dot(a.data(), a.data() + 1, count)},
                         {p.sum(a.data(), count), p.max(a.data(), count), p.dot(a.data(), a.data() + 1, count)});
  }
}
TYPED_TEST(InstructionSet, AgreesOnAttention) {
  using T = TypeParam;
  const AttentionShape s{130, 140, 24, 11, 0.2};
  const std::vector<T> q = numbers<T>(130 * 24, 8, 1), k = numbers<T>(140 * 24, 9, 1), v = numbers<T>(140 * 24, 10, 1),
                       d_o = numbers<T>(130 * 24, 11, 1);
  const auto compute = [&](const Routines& r) {
    const RoutinesOf<T>& f = this->of(r);
    // Scratch must lie like the plan's: on a cache line.
    std::vector<T> memory(static_cast<std::size_t>(std::max(f.attention_scratch(s), f.attention_grad_scratch(s))) + 16);
    T* scratch = memory.data();
    while (reinterpret_cast<std::uintptr_t>(scratch) % 64) ++scratch;
    std::vector<T> o(130 * 24), lse(130), dq(130 * 24), dk(140 * 24), dv(140 * 24);
    const auto in = [](const std::vector<T>& x, Index width) {
      return InputRows{reinterpret_cast<const char*>(x.data()), width * Index{sizeof(T)}, Storage::kOwn};
    };
    const auto out = [](std::vector<T>& x, Index width) {
      return OutputRows{reinterpret_cast<char*>(x.data()), width * Index{sizeof(T)}, Storage::kOwn};
    };
    const AttentionHead head{in(q, 24), in(k, 24), in(v, 24), out(o, 24), out(lse, 1), {}, {}};
    f.attention(s, head, 0, 130, scratch);
    f.attention_grad(s, {head, in(d_o, 24), out(dq, 24), out(dk, 24), out(dv, 24)}, false, scratch);
    std::vector<T> all = o;
    for (const auto* part : {&lse, &dq, &dk, &dv}) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const std::vector<T> wanted = compute(routines_baseline());
  for (const Routines* r : available_routines()) {
    SCOPED_TRACE(r->name);
    this->expect_close(compute(*r), wanted);
  }
}

}  // namespace
}  // namespace baleen::cpu
