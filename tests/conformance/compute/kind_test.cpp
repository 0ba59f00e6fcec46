/// \file Kinds of ops from a plugin, by the kernels that they bring themselves, in every placement and in several
/// dtypes, against their definition.
#include <dlfcn.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "conformance/compute/harness.hpp"
#include "support/op_library.hpp"
#include "support/places.hpp"

namespace baleen::conformance {
namespace {

/// A kind of the library that comes with Baleen; null where the library is not there.
const baleen_op_kind_t* kind_of_layers(std::string_view name) {
  return test::kind_of_library(test::built("lib/baleen/plugins/baleen_op_standard.so"), name);
}

Tensor running_sums(const Tensor& x, std::size_t dim, bool reverse) {
  Tensor y = x;
  each_index(x.shape, [&](const Shape& index) {
    double sum = 0;
    Shape from = index;
    for (from[dim] = 0; from[dim] < x.shape[dim]; ++from[dim])
      if (reverse ? from[dim] >= index[dim] : from[dim] <= index[dim]) sum += x[x.at(from)];
    y[y.at(index)] = sum;
  });
  return y;
}

class Kinds : public ComputeTest {
 protected:
  /// In the dtype under test, or in this one of operand and this one of result.
  void check_cumsum(const Shape& shape, std::size_t dim, bool reverse, baleen_dtype_t in = 0, baleen_dtype_t out = 0) {
    RunOptions options;
    options.kind = kind_of_layers("cumsum");
    if (!options.kind) GTEST_SKIP() << "needs the plugin with the ops of layers";
    const OpSpec op = OpSpec("cumsum").integer("dim", static_cast<std::int64_t>(dim)).integer("reverse", reverse);
    Tensor x = random_tensor(random, shape);
    if (in)
      for (double& value : x.values) value = rounded(value, in);
    Tensor wanted = running_sums(x, dim, reverse);
    x.dtype = in;
    wanted.dtype = out;
    if (!one().supports(op, {x}, {wanted}, dtype(), options)) GTEST_SKIP() << "a device without kinds' kernels";
    const double one_rounding = out == BALEEN_BF16 ? 0x1p-8 : out == BALEEN_F16 ? 0x1p-11 : 0;
    expect(op, {x}, {wanted}, one_rounding + tolerance(2e-5, 1e-13), true, options);
  }
};

TEST_P(Kinds, SumAlongShortAndLongLines) {
  check_cumsum({5}, 0, false);
  check_cumsum({3, 700, 2}, 1, false);
  check_cumsum({3, 700, 2}, 1, true);
  check_cumsum({130, 3}, 1, false);
  check_cumsum({4, 33, 5}, 0, true);
}
TEST_P(Kinds, SumNothing) {
  check_cumsum({0, 3}, 0, false);
  check_cumsum({2, 0}, 0, false);
}

/// Toward zero, as C converts; beyond the range its ends, of what is no number 0.
TEST_P(Kinds, RoundNumbersToIntegersTowardZero) {
  RunOptions options;
  options.kind = kind_of_layers("to_integer");
  if (!options.kind) GTEST_SKIP() << "needs the plugin with the ops of layers";
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    double from, to_32;
  } known[] = {{0, 0},
               {0.96875, 0},
               {-0.96875, 0},
               {1.5, 1},
               {-2.5, -2},
               {1000, 1000},
               {-1000, -1000},
               {infinity, 2147483647},
               {-infinity, -2147483648.0}};
  Tensor x = zeros({3, 3}), wanted = zeros({3, 3});
  for (std::size_t i = 0; i < 9; ++i) {
    x[i] = known[i].from;
    wanted[i] = known[i].to_32;
  }
  wanted.integer = true;
  const OpSpec op = OpSpec("to_integer").text("dtype", "int32");
  if (!one().supports(op, {x}, {wanted}, dtype(), options)) GTEST_SKIP() << "a device without kinds' kernels";
  expect(op, {x}, {wanted}, 0, true, options);
  Tensor nan = zeros({2}), zero = zeros({2});
  nan[0] = std::numeric_limits<double>::quiet_NaN();
  zero.integer = true;
  expect(op, {nan}, {zero}, 0, true, options);
}

/// From each dtype and to each, wherever the elements lie.
TEST_P(Kinds, ConvertIntegersOfEveryDtype) {
  RunOptions options;
  options.kind = kind_of_layers("to_integer");
  if (!options.kind) GTEST_SKIP() << "needs the plugin with the ops of layers";
  for (const baleen_dtype_t from : {BALEEN_F32, BALEEN_F64, BALEEN_F16, BALEEN_BF16, BALEEN_I32, BALEEN_I64})
    for (const baleen_dtype_t to : {BALEEN_I32, BALEEN_I64})
      for (const Shape& shape : {Shape{}, Shape{7}, Shape{4, 300}, Shape{2, 3, 5}, Shape{0, 3}}) {
        Tensor x = random_ids(random, shape, -128, 128), wanted = x;
        x.integer = from == BALEEN_I32;
        x.dtype = from == BALEEN_I32 ? 0 : from;
        wanted.integer = to == BALEEN_I32;
        wanted.dtype = to == BALEEN_I32 ? 0 : to;
        const OpSpec op = OpSpec("to_integer").text("dtype", to == BALEEN_I32 ? "int32" : "int64");
        if (!one().supports(op, {x}, {wanted}, dtype(), options)) GTEST_SKIP() << "a device without kinds' kernels";
        expect(op, {x}, {wanted}, 0, true, options);
      }
}

/// Outputs of SplitMix64 as they are published: the n-th from state 0 is that of id 0 with seed n - 1, the first from
/// a state that of this id with seed 0. Through all buckets of 31 bits, the upper 31 bits of 32 show.
TEST_P(Kinds, HashAsSplitMix64Does) {
  RunOptions options;
  options.kind = kind_of_layers("hash_bucket");
  if (!options.kind) GTEST_SKIP() << "needs the plugin with the ops of layers";
  const struct {
    double id;
    std::int64_t seed;
    std::uint64_t published;
  } known[] = {{0, 0, 0xe220a8397b1dcdaf},
               {0, 1, 0x6e789e6aa1b965f4},
               {0, 2, 0x06c45d188009454f},
               {1234567, 0, 6457827717110365317u}};
  for (const auto& [id, seed, published] : known)
    for (const std::int64_t buckets : {std::int64_t{1}, std::int64_t{10}, std::int64_t{0x7fffffff}}) {
      const OpSpec op = OpSpec("hash_bucket").integer("buckets", buckets).integer("seed", seed);
      Tensor ids = zeros({2, 3}), wanted = zeros({2, 3});
      ids.values.assign(6, id);
      ids.dtype = BALEEN_I64;
      const double share = std::ldexp(static_cast<double>(published >> 32) * static_cast<double>(buckets), -32);
      wanted.values.assign(6, std::floor(share));
      wanted.integer = true;
      if (!one().supports(op, {ids}, {wanted}, dtype(), options)) GTEST_SKIP() << "a device without kinds' kernels";
      expect(op, {ids}, {wanted}, 0, true, options);
      ids.dtype = 0;
      ids.integer = true;
      expect(op, {ids}, {wanted}, 0, true, options);
    }
}

/// Each element as the same id gives it alone, wherever it lies, of 32 bits and of 64.
TEST_P(Kinds, HashElementsWhereverTheyLie) {
  RunOptions options;
  options.kind = kind_of_layers("hash_bucket");
  if (!options.kind) GTEST_SKIP() << "needs the plugin with the ops of layers";
  const OpSpec op = OpSpec("hash_bucket").integer("buckets", 1000003).integer("seed", 5);
  if (Tensor row = zeros({}); row.integer = true, !one().supports(op, {row}, {row}, dtype(), options))
    GTEST_SKIP() << "a device without kinds' kernels";
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{4, 300}, Shape{2, 3, 5}, Shape{0, 3}, Shape{3, 0}}) {
    Tensor ids = random_ids(random, shape, -50, 50), wanted = ids;
    for (double& id : wanted.values) {
      Tensor one_id = zeros({}), bucket = zeros({});
      one_id[0] = id;
      one_id.integer = bucket.integer = true;
      id = run(op, {one_id}, {bucket}, options)[0][0];
    }
    expect(op, {ids}, {wanted}, 0, true, options);
    ids.integer = false;
    ids.dtype = BALEEN_I64;
    expect(op, {ids}, {wanted}, 0, true, options);
  }
}
BALEEN_COMPUTE_SUITE(Kinds);

class KindsIn16Bits : public Kinds {};

TEST_P(KindsIn16Bits, SumElements) {
  check_cumsum({3, 40}, 1, false, dtype(), dtype());
  check_cumsum({3, 40}, 1, true, dtype(), BALEEN_F32);
  check_cumsum({3, 40}, 1, false, BALEEN_F32, dtype());
}
INSTANTIATE_TEST_SUITE_P(Plugins, KindsIn16Bits,
                         testing::Combine(testing::ValuesIn(plugin_paths()),
                                          testing::Values(baleen_dtype_t{BALEEN_BF16}, baleen_dtype_t{BALEEN_F16})),
                         case_name);

}  // namespace
}  // namespace baleen::conformance
