/// \file Kinds of ops from a plugin, by the kernels that they bring themselves, in every placement and in several
/// dtypes, against their definition.
#include <dlfcn.h>

#include <filesystem>

#include "conformance/compute/harness.hpp"
#include "support/places.hpp"

namespace baleen::conformance {
namespace {

/// A kind of the library that comes with Baleen; null where the library is not there.
const baleen_op_kind_t* kind_of_layers(std::string_view name) {
  const std::string path = test::built("lib/baleen/plugins/baleen_op_standard.so");
  static const baleen_ops_t table = [&] {
    static baleen_host_t host{sizeof host,
                              nullptr,
                              [](void*, baleen_level_t, baleen_string_t) {},
                              [](void*, baleen_status_t status, baleen_string_t) { return status; },
                              [](void*, baleen_string_t) -> const void* { return nullptr; },
                              abi(std::string_view("op"))};
    baleen_ops_t ops{};
    ops.size = sizeof ops;
    if (!std::filesystem::exists(path)) return ops;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    const auto start = reinterpret_cast<baleen_plugin_start_t>(dlsym(library, BALEEN_START_SYMBOL));
    if (!start || start(&host, &ops) != BALEEN_OK) throw std::runtime_error(path + " does not start");
    return ops;
  }();
  if (!table.kind) return nullptr;
  for (std::uint64_t i = 0;; ++i) {
    const baleen_op_kind_t* kind = table.kind(i);
    if (!kind || view(kind->name) == name) return kind;
  }
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
