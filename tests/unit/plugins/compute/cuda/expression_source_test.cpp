/// \file Generated kernels: what their text depends on, and that NVRTC takes it (which needs no device).
#include "expression_source.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "compiler.hpp"

namespace baleen::cuda {
namespace {

GeneratedKernel sum_of(const std::vector<std::int64_t>& shape, const std::vector<std::vector<std::int64_t>>& strides) {
  GeneratedKernel kernel;
  kernel.code = {{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_ADD, 0, 1, 0, 0}};
  kernel.results = {2};
  for (const std::int64_t extent : shape) kernel.shape.push_back({extent, extent, {}, 0});
  kernel.inputs = {{BALEEN_F32, strides[0]}, {BALEEN_F32, strides[1]}};
  kernel.outputs = {{BALEEN_F32, strides[2]}};
  return kernel;
}

TEST(GeneratedKernel, MergesDimensionsThatAllOperandsAllow) {
  const auto kernel = simplified(sum_of({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}, {12, 4, 1}}));
  ASSERT_EQ(kernel.shape.size(), 1u);
  EXPECT_EQ(kernel.shape[0].extent, 24);
  EXPECT_EQ(simplified(sum_of({2, 3, 4}, {{12, 4, 1}, {0, 0, 1}, {12, 4, 1}})).shape.size(), 2u);
}
TEST(GeneratedKernel, KeepsDimensionsWhoseCoordinatesAreAskedFor) {
  auto kernel = sum_of({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}, {12, 4, 1}});
  kernel.code.push_back({BALEEN_X_UNIFORM, 5, 0, 0, 0});
  EXPECT_EQ(simplified(kernel).shape.size(), 3u);
}
TEST(GeneratedKernel, PacksOnlyWhereNeighboursLieTogether) {
  EXPECT_EQ(sum_of({2, 4}, {{4, 1}, {0, 0}, {4, 1}}).pack(), 4);
  EXPECT_EQ(sum_of({2, 4}, {{4, 1}, {0, 1}, {4, 1}}).pack(), 4) << "a bias";
  EXPECT_EQ(sum_of({2, 4}, {{4, 1}, {1, 0}, {8, 1}}).pack(), 4) << "one value per row";
  EXPECT_EQ(sum_of({2, 4}, {{4, 1}, {5, 1}, {4, 1}}).pack(), 0) << "the second row begins between";
  EXPECT_EQ(sum_of({2, 4}, {{4, 1}, {1, 2}, {4, 1}}).pack(), 0) << "transposed";
  EXPECT_EQ(sum_of({5}, {{1}, {1}, {1}}).pack(), 0) << "not a multiple of the pack";
  EXPECT_EQ(sum_of({4}, {{1}, {1}, {0}}).pack(), 0);
  EXPECT_EQ(sum_of({}, {{}, {}, {}}).pack(), 0);
}
TEST(GeneratedKernel, PacksEightWhereAnyElementHas16Bits) {
  auto kernel = sum_of({2, 16}, {{16, 1}, {0, 0}, {16, 1}});
  EXPECT_EQ(kernel.pack(), 4);
  kernel.inputs[1].dtype = BALEEN_BF16;
  EXPECT_EQ(kernel.pack(), 8);
  kernel.outputs[0].stride = {20, 1};
  EXPECT_EQ(kernel.pack(), 4) << "the second row begins between";
}
TEST(GeneratedKernel, IsTheSameTextForTheSameShapes) {
  const auto kernel = sum_of({8}, {{1}, {1}, {1}});
  EXPECT_EQ(generate(kernel), generate(kernel));
  EXPECT_NE(generate(kernel), generate(sum_of({12}, {{1}, {1}, {1}})));
}
TEST(GeneratedKernel, WritesConstantsToTheLastBit) {
  auto kernel = sum_of({8}, {{1}, {1}, {1}});
  kernel.code.push_back({BALEEN_X_CONSTANT, 0, 0, 0, 0.1});
  EXPECT_NE(generate(kernel).find("0x1.999999999999ap-4"), std::string::npos);
}
TEST(GeneratedKernel, AddsRunsAndMicroBatchesToCoordinates) {
  GeneratedKernel kernel;
  kernel.code = {{BALEEN_X_INDEX, 0, 0, 0, 0}};
  kernel.results = {0};
  kernel.shape = {{3, 40, {{0, 4, 2}, {2, 10, 1}}, 3}};
  kernel.outputs = {{BALEEN_F32, {1}}};
  const std::string text = generate(kernel);
  EXPECT_NE(text.find("((i64)i0 < 2ll ? (i64)i0 + 4ll : ((i64)i0 + 8ll)) + (i64)args.micro * 3ll"), std::string::npos)
      << text.substr(text.find("BALEEN_KERNEL(256"));
}

/// Every opcode in one expression.
GeneratedKernel everything(bool wide) {
  GeneratedKernel kernel;
  kernel.wide = wide;
  kernel.code = {{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0},   {BALEEN_X_CONSTANT, 0, 0, 0, 1e300},
                 {BALEEN_X_INDEX, 1, 0, 0, 0}, {BALEEN_X_UNIFORM, 1, 2, 0, 0}, {BALEEN_X_NORMAL, 3, 4, 0, 0},
                 {BALEEN_X_STEP, 0, 0, 0, 0}};
  for (std::uint32_t op = BALEEN_X_NEG; op <= BALEEN_X_SILU_GRAD; ++op) kernel.code.push_back({op, 0, 0, 0, 0});
  for (std::uint32_t op = BALEEN_X_ADD; op <= BALEEN_X_NE; ++op) kernel.code.push_back({op, 0, 1, 0, 0});
  kernel.code.push_back({BALEEN_X_SELECT, 0, 1, 2, 0});
  for (std::uint32_t dtype = BALEEN_F32; dtype <= BALEEN_E5M2; ++dtype)
    kernel.code.push_back({BALEEN_X_ROUND, 0, dtype, 0, 0});
  kernel.shape = {{4, 9, {{0, 0, 1}, {1, 6, 3}}, 2}, {8, 8, {}, 0}};
  const baleen_dtype_t dtypes[] = {BALEEN_F32,  BALEEN_F64, BALEEN_I32,  BALEEN_I64, BALEEN_U8,
                                   BALEEN_BF16, BALEEN_F16, BALEEN_E4M3, BALEEN_E5M2};
  kernel.inputs = {
      {wide ? BALEEN_F64 : BALEEN_F32, {8, 1}}, {BALEEN_I64, {0, 0}}, {BALEEN_BF16, {8, 1}}, {BALEEN_F16, {0, 1}}};
  for (std::size_t i = 0; i < kernel.code.size(); ++i) {
    kernel.results.push_back(static_cast<std::int64_t>(i));
    kernel.outputs.push_back({dtypes[i % std::size(dtypes)], {8, 1}});
  }
  return kernel;
}

/// Whether it is wide, and for which capability. Each takes a compiler seconds.
class EachGeneratedKernel : public testing::TestWithParam<std::tuple<bool, int>> {};

TEST_P(EachGeneratedKernel, IsTakenByNvrtc) {
  const auto [wide, capability] = GetParam();
  const auto nvrtc = open_nvrtc({});
  if (!nvrtc) GTEST_SKIP() << "needs NVRTC: " << nvrtc.error().text();
  const auto code = compile_source(*nvrtc, generate(everything(wide)), capability);
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(code->substr(1, 3), "ELF");
  EXPECT_NE(code->find(kPointwiseName), std::string::npos);
  EXPECT_NE(code->find(kPointwisePackName), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(All, EachGeneratedKernel, testing::Combine(testing::Bool(), testing::Values(80, 90)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param) ? "wide" : "narrow") + "_sm" +
                                  std::to_string(std::get<1>(one.param));
                         });

TEST(GeneratedKernel, ThatIsWrongGivesTheCompilersWords) {
  const auto nvrtc = open_nvrtc({});
  if (!nvrtc) GTEST_SKIP() << "needs NVRTC: " << nvrtc.error().text();
  const auto code = compile_source(*nvrtc, "nonsense", 90);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message.find("nonsense"), std::string::npos) << code.error().message;
}

}  // namespace
}  // namespace baleen::cuda
