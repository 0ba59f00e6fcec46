/// \file Operands of 8 bits: casts of every code and of what lies between, products, and what no device computes with
/// them.
#include "baleen/fp8.hpp"

#include <cmath>
#include <limits>

#include "baleen/expression.h"
#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

class EightBits : public ComputeTest {
 protected:
  static Tensor of(baleen_dtype_t dtype, Tensor tensor) {
    tensor.dtype = dtype;
    return tensor;
  }
  /// Whole numbers of -8 to 8, which both dtypes hold, and whose products fp32 adds up without rounding.
  Tensor draw_whole(Shape shape) {
    Tensor x = zeros(std::move(shape));
    for (double& value : x.values) value = static_cast<double>(random() % 17) - 8;
    return x;
  }

  const OpSpec cast_ = OpSpec("pointwise").expression({{BALEEN_X_INPUT, 0, 0, 0, 0}}, {0});
};

TEST_P(EightBits, AreCastExactly) {
  Tensor x = zeros({0});
  for (int code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    const double own = static_cast<double>(dtype() == BALEEN_E4M3 ? from_e4m3(bits) : from_e5m2(bits));
    x.values.insert(x.values.end(), {own, own * 1.0625, own * 1.125, own * 1.125000001, own * 1.25});
  }
  for (const double edge : {448.0, 463.999, 464.0, 465.0, 57344.0, 61439.0, 61440.0, 65536.0, 1e30, 0x1p-9, 0x1p-10,
                            0x1.8p-10, 0x1p-16, 0x1p-17, 0x1.8p-17, 0x1p-149, 3.4e38, double{INFINITY}, 0.0})
    x.values.insert(x.values.end(), {edge, -edge});
  x.values.push_back(std::nan(""));
  x.shape = {static_cast<std::int64_t>(x.values.size())};
  if (!supports(cast_, {of(BALEEN_F32, x)}, {of(dtype(), zeros(x.shape))}))
    GTEST_SKIP() << "this device has no " << dtype_name(dtype());
  for (const baleen_dtype_t other : {BALEEN_F32, BALEEN_BF16, BALEEN_F16, BALEEN_F64})
    for (const bool back : {false, true}) {
      const baleen_dtype_t from = back ? dtype() : other, to = back ? other : dtype();
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      Tensor in = of(from, x);
      for (double& value : in.values) value = rounded(rounded(value, BALEEN_F32), from);
      for (const Placement placement : kPlacements) {
        RunOptions options;
        options.placement = placement;
        const Tensor got = run(cast_, {in}, {of(to, zeros(x.shape))}, options)[0];
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const double wanted = rounded(in[i], to);
          ASSERT_TRUE(std::isnan(wanted) ? std::isnan(got[i])
                                         : got[i] == wanted && std::signbit(got[i]) == std::signbit(wanted))
              << in[i] << " became " << got[i] << ", wanted " << wanted;
        }
      }
    }
}

TEST_P(EightBits, AreRoundedInsideExpressionsAsOnStoring) {
  Tensor x = of(BALEEN_F32, random_tensor(random, {3000}));
  for (double& v : x.values) v = rounded(std::ldexp(v, static_cast<int>(random() % 40) - 20), BALEEN_F32);
  const OpSpec round =
      OpSpec("pointwise")
          .expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_ROUND, 0, static_cast<std::uint32_t>(dtype()), 0, 0}},
                      {1});
  if (!supports(cast_, {x}, {of(dtype(), zeros(x.shape))})) GTEST_SKIP() << "this device has no 8 bits";
  const Tensor got = run(round, {x}, {of(BALEEN_F32, zeros(x.shape))})[0];
  for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], rounded(x[i], dtype())) << x[i];
}

/// One expression of what is read in 8 bits and of a scalar, as scaled casts have it.
TEST_P(EightBits, AreScaledInBothDirections) {
  const OpSpec scale =
      OpSpec("pointwise")
          .expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_MUL, 0, 1, 0, 0}}, {2});
  const Tensor x = of(BALEEN_BF16, random_tensor(random, {37, 64})), factor = of(BALEEN_F32, {{}, {24.0}});
  Tensor exact = x;
  for (double& value : exact.values) value = rounded(value, BALEEN_BF16);
  if (!supports(scale, {exact, factor}, {of(dtype(), zeros(x.shape))})) GTEST_SKIP() << "this device has no 8 bits";
  const Tensor narrow = run(scale, {exact, factor}, {of(dtype(), zeros(x.shape))})[0];
  const Tensor wide = run(scale, {of(dtype(), narrow), factor}, {of(BALEEN_F32, zeros(x.shape))})[0];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(narrow[i], rounded(exact[i] * 24, dtype())) << i;
    ASSERT_EQ(wide[i], narrow[i] * 24) << i;
  }
}

TEST_P(EightBits, AreMultipliedAndAddedUpInFp32) {
  int products = 0;
  const auto product = [&](const std::string& spec, const Shape& a, const Shape& b) {
    const Tensor x = draw_whole(a), w = draw_whole(b), exact = reference::matmul(spec, x, w);
    for (const baleen_dtype_t other : {BALEEN_E4M3, BALEEN_E5M2})
      for (const baleen_dtype_t result : {BALEEN_F32, BALEEN_BF16, BALEEN_F16})
        for (const bool added : {false, true}) {
          const OpSpec op = OpSpec("matmul").text("spec", spec);
          std::vector<Tensor> inputs{of(dtype(), x), of(other, w)};
          if (added) inputs.push_back(of(result, draw_whole(exact.shape)));
          const std::vector<Tensor> outputs{of(result, zeros(exact.shape))};
          if (!supports(op, inputs, outputs)) continue;
          ++products;
          SCOPED_TRACE(spec + " with " + std::string(dtype_name(other)) + " to " + std::string(dtype_name(result)));
          const Tensor got = run(op, inputs, outputs)[0];
          for (std::int64_t i = 0; i < exact.size(); ++i)
            ASSERT_EQ(got[i], rounded(exact[i] + (added ? inputs[2][i] : 0.0), result)) << i;
        }
  };
  for (const char* spec : {"mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->nm"}) {
    const bool a_turned = spec[0] == 'k', b_turned = spec[3] == 'n';
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{32, 64, 48}, {13, 21, 34}, {1, 1700, 5}})
      product(spec, a_turned ? Shape{k, m} : Shape{m, k}, b_turned ? Shape{n, k} : Shape{k, n});
  }
  product("bsd,dche->bsche", {2, 5, 12}, {12, 3, 2, 4});
  product("bsche,dche->bsd", {2, 5, 3, 2, 4}, {12, 3, 2, 4});
  product("bsd,bsche->dche", {2, 5, 12}, {2, 5, 3, 2, 4});
  product("akb,kbn->an", {3, 40, 50}, {40, 50, 60});
  if (products == 0) GTEST_SKIP() << "this device multiplies nothing in " << dtype_name(dtype());
}

TEST_P(EightBits, AreMovedAsTheyAre) {
  Tensor x = of(dtype(), draw_whole({5, 7}));
  if (!supports(OpSpec("copy"), {x}, {of(dtype(), zeros(x.shape))})) GTEST_SKIP() << "this device has no 8 bits";
  EXPECT_EQ(run(OpSpec("copy"), {x}, {of(dtype(), zeros(x.shape))})[0].values, x.values);
  const Tensor turned = run(OpSpec("transpose").integers("permutation", {1, 0}), {x}, {of(dtype(), zeros({7, 5}))})[0];
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j) ASSERT_EQ(turned[j * 5 + i], x[i * 7 + j]);
}

TEST_P(EightBits, AreNotComputedWithOtherwise) {
  const Tensor x = of(dtype(), zeros({4, 8}));
  EXPECT_FALSE(supports(OpSpec("softmax"), {x}, {of(BALEEN_F32, zeros({4, 8}))}));
  EXPECT_FALSE(supports(OpSpec("reduce").integers("dims", {0}).text("kind", "sum"), {x}, {of(BALEEN_F32, zeros({8}))}));
  EXPECT_FALSE(supports(OpSpec("copy"), {x}, {of(BALEEN_U8, zeros({4, 8}))}));
}

INSTANTIATE_TEST_SUITE_P(Plugins, EightBits,
                         testing::Combine(testing::ValuesIn(plugin_paths()),
                                          testing::Values(baleen_dtype_t{BALEEN_E4M3}, baleen_dtype_t{BALEEN_E5M2})),
                         case_name);

}  // namespace
}  // namespace baleen::conformance
