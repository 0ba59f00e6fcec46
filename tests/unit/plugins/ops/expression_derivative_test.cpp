/// \file Derivatives of whole formulas.
#include "expression_derivative.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/reference_expression.hpp"

namespace baleen::ops {
namespace {

double value(const Expression& e, std::uint32_t result, const std::vector<double>& inputs) {
  return test::evaluate(e, inputs, {{}, 0, 0, 0}).at(result);
}

/// A random expression over `inputs` inputs, of operations that are smooth and tame near the numbers used.
Expression random_expression(std::mt19937_64& rng, std::uint32_t inputs, std::vector<std::uint32_t>& made) {
  Expression e;
  for (std::uint32_t i = 0; i < inputs; ++i) made.push_back(e.input(i));
  made.push_back(e.constant(0.7));
  const std::uint32_t unary[] = {BALEEN_X_SIN,  BALEEN_X_TANH,           BALEEN_X_SIGMOID, BALEEN_X_GELU,
                                 BALEEN_X_SILU, BALEEN_X_GELU_TANH_GRAD, BALEEN_X_NEG,     BALEEN_X_ERF};
  const std::uint32_t binary[] = {BALEEN_X_ADD, BALEEN_X_SUB, BALEEN_X_MUL};
  auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng); };
  for (int i = 0; i < 12; ++i) {
    const auto a = made[pick(made.size())], b = made[pick(made.size())];
    made.push_back(pick(2) ? e.unary(unary[pick(8)], a) : e.binary(binary[pick(3)], a, b));
  }
  return e;
}

TEST(ExpressionDifferentiate, AgreesWithFiniteDifferencesOnRandomFormulas) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    std::vector<std::uint32_t> made;
    const Expression e = random_expression(rng, 3, made);
    const auto result = made.back();
    std::vector<double> at(3);
    for (double& x : at) x = std::uniform_real_distribution<double>(-1, 1)(rng);
    for (std::uint32_t input = 0; input < 3; ++input) {
      Expression d;
      const auto slope = differentiate(e, result, input, 3, d);
      std::vector<double> up = at, down = at;
      up[input] += 1e-5;
      down[input] -= 1e-5;
      const double expected = (value(e, result, up) - value(e, result, down)) / 2e-5;
      std::vector<double> with_cotangent = at;
      with_cotangent.push_back(1.5);
      const double got = slope < 0 ? 0 : value(d, static_cast<std::uint32_t>(slope), with_cotangent);
      EXPECT_NEAR(got, 1.5 * expected, 1e-6 * (1 + std::fabs(expected)));
    }
  }
}

TEST(ExpressionDifferentiate, SaysWhereTheDerivativeIsZeroEverywhere) {
  Expression e;
  const auto x = e.input(0);
  for (std::uint32_t result :
       {e.unary(BALEEN_X_FLOOR, x), e.unary(BALEEN_X_SIGN, x), e.unary(BALEEN_X_IS_FINITE, x),
        e.binary(BALEEN_X_LT, x, e.constant(1)), e.input(1), e.step(), e.index(0), e.random(BALEEN_X_UNIFORM, 3)}) {
    Expression d;
    EXPECT_EQ(differentiate(e, result, 0, 2, d), -1) << opcode_name(e.code[result].opcode);
  }
}

TEST(ExpressionDifferentiate, OfAPowerIsFiniteAtZero) {
  Expression e;
  const auto square = e.binary(BALEEN_X_POW, e.input(0), e.constant(2));
  const auto general = e.binary(BALEEN_X_POW, e.input(0), e.input(1));
  Expression d;
  const auto by_base = differentiate(e, square, 0, 2, d);
  EXPECT_EQ(value(d, static_cast<std::uint32_t>(by_base), {0, 0, 1}), 0);
  const auto by_exponent = differentiate(e, general, 1, 2, d);
  EXPECT_EQ(value(d, static_cast<std::uint32_t>(by_exponent), {0, 2, 1}), 0);
  const auto by_general_base = differentiate(e, general, 0, 2, d);
  EXPECT_EQ(value(d, static_cast<std::uint32_t>(by_general_base), {0, 0, 1}), 0);
}

}  // namespace
}  // namespace baleen::ops
