/// \file Which expressions behind a product are left to cuBLASLt.
#include "epilogue.hpp"

#include <gtest/gtest.h>

namespace baleen::cuda {
namespace {

using Code = std::vector<baleen_instruction_t>;
using Results = std::vector<std::int64_t>;

baleen_instruction_t in(std::uint32_t i) { return {BALEEN_X_INPUT, i, 0, 0, 0}; }
baleen_instruction_t f(std::uint32_t opcode, std::uint32_t a, std::uint32_t b = 0) { return {opcode, a, b, 0, 0}; }

TEST(Epilogue, IsABiasInEitherOrder) {
  for (const std::uint32_t product : {0u, 1u}) {
    const auto found = recognize(Code{in(0), in(1), f(BALEEN_X_ADD, 0, 1)}, Results{2}, product, BALEEN_F32);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, Epilogue::Kind::kBias);
    EXPECT_EQ(found->other, 1 - product);
  }
}
TEST(Epilogue, IsGeluOfASumThatMayBeAResultToo) {
  const Code code{in(0), in(1), f(BALEEN_X_ADD, 1, 0), f(BALEEN_X_GELU_TANH, 2)};
  const auto alone = recognize(code, Results{3}, 0, BALEEN_F32);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->kind, Epilogue::Kind::kGelu);
  EXPECT_FALSE(alone->sum);
  const auto both = recognize(code, Results{2, 3}, 0, BALEEN_F32);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->result, 1u);
  EXPECT_EQ(both->sum, 0u);
  EXPECT_EQ(both->other, 1u);
}
TEST(Epilogue, DoesNotMindRoundingsToTheOperandsDtype) {
  const Code code{in(0),
                  in(1),
                  f(BALEEN_X_ADD, 0, 1),
                  f(BALEEN_X_ROUND, 2, BALEEN_BF16),
                  f(BALEEN_X_GELU_TANH, 3),
                  f(BALEEN_X_ROUND, 4, BALEEN_BF16)};
  const auto both = recognize(code, Results{3, 5}, 0, BALEEN_BF16);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->kind, Epilogue::Kind::kGelu);
  EXPECT_EQ(both->sum, 0u);
  EXPECT_TRUE(recognize(code, Results{5}, 0, BALEEN_BF16));
  EXPECT_FALSE(recognize(code, Results{3, 5}, 0, BALEEN_F16)) << "fewer digits than its operands have";
}
TEST(Epilogue, IsTheGradientOfGelu) {
  const auto found =
      recognize(Code{in(0), in(1), f(BALEEN_X_GELU_TANH_GRAD, 0), f(BALEEN_X_MUL, 1, 2)}, Results{3}, 1, BALEEN_F32);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Epilogue::Kind::kGeluGrad);
  EXPECT_EQ(found->other, 0u);
}
TEST(Epilogue, IsNothingElse) {
  EXPECT_FALSE(recognize(Code{in(0), in(0), f(BALEEN_X_ADD, 0, 1)}, Results{2}, 0, BALEEN_F32)) << "twice the product";
  EXPECT_FALSE(recognize(Code{in(0), in(1), f(BALEEN_X_SUB, 0, 1)}, Results{2}, 0, BALEEN_F32));
  EXPECT_FALSE(recognize(Code{in(0), in(1), f(BALEEN_X_ADD, 0, 1), f(BALEEN_X_GELU, 2)}, Results{3}, 0, BALEEN_F32))
      << "by erf";
  EXPECT_FALSE(
      recognize(Code{in(0), in(1), in(2), f(BALEEN_X_ADD, 0, 1), f(BALEEN_X_ADD, 3, 2)}, Results{4}, 0, BALEEN_F32));
  EXPECT_FALSE(
      recognize(Code{in(0), in(1), f(BALEEN_X_GELU_TANH_GRAD, 0), f(BALEEN_X_MUL, 0, 2)}, Results{3}, 0, BALEEN_F32));
}

Operand operand(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  Operand out;
  out.tensor.rank = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), out.tensor.shape);
  std::copy(strides.begin(), strides.end(), out.tensor.stride);
  return out;
}

TEST(Epilogue, TakesABiasAlongOneSidesLettersOnly) {
  const Operand y = operand({2, 5, 3, 4}, {60, 12, 4, 1});
  const auto along = [&](const Operand& bias, bool of_b) { return is_vector_along(bias, y, "bsd,dhe->bshe", of_b); };
  EXPECT_TRUE(along(operand({1, 1, 3, 4}, {0, 0, 4, 1}), true));
  EXPECT_TRUE(along(operand({2, 5, 3, 4}, {0, 0, 4, 1}), true));
  EXPECT_FALSE(along(operand({1, 1, 3, 4}, {0, 0, 4, 1}), false));
  EXPECT_FALSE(along(operand({1, 1, 1, 4}, {0, 0, 0, 1}), true)) << "the same for all heads";
  EXPECT_FALSE(along(operand({1, 1, 3, 4}, {0, 0, 1, 3}), true)) << "transposed";
  EXPECT_FALSE(along(operand({2, 5, 3, 4}, {60, 12, 4, 1}), true)) << "a residual";
  EXPECT_FALSE(along(operand({4}, {1}), true));
}

}  // namespace
}  // namespace baleen::cuda
