/// \file Expressions: building, folding, checking, transforming, text; derivatives of whole formulas.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <random>

#include "support/reference_expression.hpp"

namespace baleen {
namespace {

using test::evaluate;

double value(const Expression& e, std::uint32_t result, const std::vector<double>& inputs) {
  return evaluate(e, inputs, {{}, 0, 0, 0}).at(result);
}

TEST(Expression, EqualInstructionsAreOne) {
  Expression e;
  const auto x = e.input(0);
  EXPECT_EQ(e.input(0), x);
  EXPECT_EQ(e.unary(BALEEN_X_EXP, x), e.unary(BALEEN_X_EXP, x));
  EXPECT_EQ(e.constant(0.1), e.constant(0.1));
  EXPECT_NE(e.constant(0.0), e.constant(-0.0));
  EXPECT_NE(e.random(BALEEN_X_UNIFORM, 1), e.random(BALEEN_X_UNIFORM, 1ull << 32));
  EXPECT_EQ(e.code.size(), 7u);
}

TEST(Expression, FieldsThatAnOpcodeDoesNotReadDoNotTellInstructionsApart) {
  Expression e;
  const auto x = e.append({BALEEN_X_INPUT, 0, 7, 9, 3.0});
  EXPECT_EQ(e.append({BALEEN_X_INPUT, 0, 0, 0, 0}), x);
  EXPECT_EQ(e.append({BALEEN_X_EXP, x, 5, 5, 1}), e.unary(BALEEN_X_EXP, x));
}

/// The opcode applied to two constants is one constant of value `expected`, or stays.
void expect_fold(std::uint32_t opcode, double a, double b, std::optional<double> expected) {
  Expression e;
  const auto x = e.constant(a);
  const auto y = e.binary(opcode, x, e.constant(b));
  const auto& i = e.code[y];
  SCOPED_TRACE(std::string(opcode_name(opcode)) + " " + std::to_string(a) + " " + std::to_string(b));
  if (!expected) {
    EXPECT_EQ(i.opcode, opcode);
    return;
  }
  ASSERT_EQ(i.opcode, static_cast<std::uint32_t>(BALEEN_X_CONSTANT));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(i.constant), std::bit_cast<std::uint64_t>(*expected));
}

TEST(Expression, FoldsConstantsOnlyWhereFp32AndFp64Agree) {
  expect_fold(BALEEN_X_ADD, 1, 2, 3);
  expect_fold(BALEEN_X_MUL, 0.5, -3, -1.5);
  expect_fold(BALEEN_X_DIV, 1, 4, 0.25);
  expect_fold(BALEEN_X_LT, 1, 2, 1);
  expect_fold(BALEEN_X_ADD, 0.1, 0.2, std::nullopt);     // neither is an fp32 number
  expect_fold(BALEEN_X_DIV, 1, 3, std::nullopt);         // the result is none
  expect_fold(BALEEN_X_ADD, 16777216, 1, std::nullopt);  // exact in fp64 alone
  expect_fold(BALEEN_X_LT, 0.1, 0.10000000000000001, std::nullopt);
  expect_fold(BALEEN_X_DIV, 1, 0, std::nullopt);
  expect_fold(BALEEN_X_POW, 2, 3, std::nullopt);  // not correctly rounded everywhere
}

TEST(Expression, LeavesSignsOfZeroToTheBackend) {
  for (std::uint32_t opcode : {BALEEN_X_SIGN, BALEEN_X_RELU}) {
    Expression e;
    EXPECT_EQ(e.code[e.unary(opcode, e.constant(-0.0))].opcode, opcode);
    EXPECT_EQ(e.code[e.unary(opcode, e.constant(2))].opcode, static_cast<std::uint32_t>(BALEEN_X_CONSTANT));
  }
}

TEST(Expression, DropsOperationsThatChangeNoBit) {
  Expression e;
  const auto x = e.input(0), one = e.constant(1), zero = e.constant(0);
  EXPECT_EQ(e.binary(BALEEN_X_MUL, x, one), x);
  EXPECT_EQ(e.binary(BALEEN_X_MUL, one, x), x);
  EXPECT_EQ(e.binary(BALEEN_X_DIV, x, one), x);
  EXPECT_EQ(e.binary(BALEEN_X_SUB, x, zero), x);
  EXPECT_EQ(e.binary(BALEEN_X_ADD, x, e.constant(-0.0)), x);
  EXPECT_EQ(e.unary(BALEEN_X_NEG, e.unary(BALEEN_X_NEG, x)), x);
  EXPECT_EQ(e.select(one, x, zero), x);
  EXPECT_EQ(e.select(zero, zero, x), x);
}

TEST(Expression, KeepsOperationsThatMayChangeABit) {
  Expression e;
  const auto x = e.input(0), zero = e.constant(0);
  EXPECT_NE(e.binary(BALEEN_X_ADD, x, zero), x);     // -0 + 0 is +0
  EXPECT_NE(e.binary(BALEEN_X_MUL, x, zero), zero);  // NaN, infinity, sign
  EXPECT_NE(e.binary(BALEEN_X_SUB, x, x), zero);
  EXPECT_NE(e.binary(BALEEN_X_SUB, x, e.constant(-0.0)), x);
}

TEST(Expression, OpcodesHaveTheirNamesBothWays) {
  for (std::uint32_t opcode = 0; opcode < 128; ++opcode) {
    const bool known = operand_count(opcode) >= 0;
    EXPECT_EQ(std::string(opcode_name(opcode)) != "?", known) << opcode;
    EXPECT_EQ(opcode_of(opcode_name(opcode)), known ? opcode : 0u);
  }
  EXPECT_EQ(opcode_of("gelu_tanh_grad"), static_cast<std::uint32_t>(BALEEN_X_GELU_TANH_GRAD));
  EXPECT_EQ(opcode_of("sinh"), 0u);
}

std::string fault(std::vector<baleen_instruction_t> code, std::vector<std::int64_t> results, std::uint32_t inputs) {
  Expression e;
  e.code = std::move(code);
  const Status status = verify(e, results, inputs);
  return status ? "" : status.error().message;
}

TEST(ExpressionVerify, CatchesEveryFault) {
  const baleen_instruction_t x{BALEEN_X_INPUT, 0, 0, 0, 0};
  EXPECT_EQ(fault({x, {BALEEN_X_EXP, 0, 0, 0, 0}}, {1}, 1), "");
  EXPECT_EQ(fault({{99, 0, 0, 0, 0}}, {0}, 0), "instruction 0 (?): unknown opcode 99");
  EXPECT_EQ(fault({x, {BALEEN_X_ADD, 0, 1, 0, 0}}, {1}, 1),
            "instruction 1 (add): operand 1 is instruction 1, which does not come before it");
  EXPECT_EQ(fault({x, {BALEEN_X_SELECT, 0, 0, 5, 0}}, {1}, 1),
            "instruction 1 (select): operand 2 is instruction 5, which does not come before it");
  EXPECT_EQ(fault({x}, {0}, 0), "instruction 0 (input): reads input 0 of 0");
  EXPECT_EQ(fault({x}, {1}, 1), "result 1 is none of the 1 instructions");
  EXPECT_EQ(fault({x}, {-1}, 1), "result -1 is none of the 1 instructions");
  EXPECT_EQ(fault({{BALEEN_X_INDEX, 8, 0, 0, 0}}, {0}, 0),
            "instruction 0 (index): dimension 8; a tensor has at most 8");
  EXPECT_EQ(fault({x, {BALEEN_X_ROUND, 0, BALEEN_I32, 0, 0}}, {1}, 1), "instruction 1 (round): 5 is no floating dtype");
}

TEST(ExpressionPrune, KeepsWhatTheResultsNeed) {
  Expression e;
  const auto x = e.input(0);
  e.unary(BALEEN_X_EXP, x);
  const auto y = e.input(1);
  const auto sum = e.binary(BALEEN_X_ADD, x, y);
  e.unary(BALEEN_X_LOG, sum);
  std::vector<std::int64_t> results{sum, x};
  const Expression kept = prune(e, results);
  EXPECT_EQ(kept.code.size(), 3u);
  EXPECT_EQ(value(kept, static_cast<std::uint32_t>(results[0]), {2, 5}), 7);
  EXPECT_EQ(value(kept, static_cast<std::uint32_t>(results[1]), {2, 5}), 2);
}

TEST(ExpressionInline, PutsOneExpressionIntoAnother) {
  Expression inner;
  const auto product = inner.binary(BALEEN_X_MUL, inner.input(0), inner.input(1));
  const auto last = inner.select(inner.input(1), product, inner.constant(3));
  Expression out;
  const auto a = out.binary(BALEEN_X_ADD, out.input(0), out.constant(1));
  const auto where = inline_into(out, inner, {a, out.input(2)});
  EXPECT_EQ(value(out, where[last], {4, 100, 6}), 30);
  EXPECT_EQ(value(out, where[last], {4, 100, 0}), 3);
}

TEST(ExpressionText, ReadsAsAFormula) {
  Expression e;
  const auto sum = e.binary(BALEEN_X_ADD, e.input(0), e.input(1));
  const auto y = e.binary(BALEEN_X_MUL, e.unary(BALEEN_X_GELU_TANH, sum), e.constant(0.5));
  const auto z = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_SUB, sum, e.index(1)));
  const auto w = e.binary(BALEEN_X_MUL, sum, e.unary(BALEEN_X_NEG, sum));
  const auto r = e.append({BALEEN_X_ROUND, e.random(BALEEN_X_NORMAL, 9), BALEEN_BF16, 0, 0});
  EXPECT_EQ(to_string(e, {y, z, w, r}),
            (std::vector<std::string>{"gelu_tanh(x0 + x1) * 0.5", "x0 - (x0 + x1 - index(1))",
                                      "t2 = x0 + x1; t2 * (-t2)", "round(normal(9), bf16)"}));
}

TEST(ExpressionText, IsNotExponentiallyLong) {
  Expression e;
  auto x = e.input(0);
  for (int i = 0; i < 40; ++i) x = e.binary(BALEEN_X_MUL, x, x);
  EXPECT_LT(to_string(e, {x})[0].size(), 1000u);
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

TEST(ReferenceRandom, PhiloxGivesThePublishedNumbers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(test::philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(test::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ReferenceRounding, GivesTheNearestNumberOfTheDtype) {
  EXPECT_EQ(test::rounded(1 + 0x1p-9, BALEEN_BF16), 1);  // ties to even
  EXPECT_EQ(test::rounded(1 + 0x1p-8, BALEEN_BF16), 1);
  EXPECT_EQ(test::rounded(1 + 0x1.8p-7, BALEEN_BF16), 1 + 0x1p-6);
  EXPECT_EQ(test::rounded(2049, BALEEN_F16), 2048);
  EXPECT_EQ(test::rounded(65520, BALEEN_F16), INFINITY);
  EXPECT_EQ(test::rounded(0x1p-25, BALEEN_F16), 0);
  EXPECT_EQ(test::rounded(0x1.8p-24, BALEEN_F16), 0x1p-23);
  EXPECT_EQ(test::rounded(0.1, BALEEN_F32), static_cast<double>(0.1f));
}

}  // namespace
}  // namespace baleen
