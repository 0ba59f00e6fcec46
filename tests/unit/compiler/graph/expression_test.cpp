/// \file Expressions: building, folding, transforming, text; and the definitions that tests hold them against.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "baleen/expression_edit.hpp"
#include "baleen/expression_text.hpp"
#include "baleen/expression_value.hpp"
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

TEST(Expression, OpcodesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::uint32_t opcode = 0; opcode < 128; ++opcode) {
    const std::string name = opcode_name(opcode);
    if (operand_count(opcode) < 0) {
      EXPECT_EQ(name, "?") << opcode;
    } else {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
  EXPECT_STREQ(opcode_name(BALEEN_X_STEP), "step");
  EXPECT_STREQ(opcode_name(BALEEN_X_NEG), "neg");
  EXPECT_STREQ(opcode_name(BALEEN_X_IS_FINITE), "is_finite");
  EXPECT_STREQ(opcode_name(BALEEN_X_SILU_GRAD), "silu_grad");
  EXPECT_STREQ(opcode_name(BALEEN_X_NE), "ne");
  EXPECT_STREQ(opcode_name(BALEEN_X_ROUND), "round");
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
  EXPECT_EQ(expression_text(e.code, y), "gelu_tanh(x0 + x1) * 0.5");
  EXPECT_EQ(expression_text(e.code, z), "x0 - (x0 + x1 - index(1))");
  EXPECT_EQ(expression_text(e.code, w), "t2 = x0 + x1; t2 * (-t2)");
  EXPECT_EQ(expression_text(e.code, r), "round(normal(9), bf16)");
}

TEST(ExpressionText, IsNotExponentiallyLong) {
  Expression e;
  auto x = e.input(0);
  for (int i = 0; i < 40; ++i) x = e.binary(BALEEN_X_MUL, x, x);
  EXPECT_LT(expression_text(e.code, x).size(), 1000u);
}

TEST(ReferenceRandom, PhiloxGivesThePublishedNumbers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(test::philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(test::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ExpressionValue, IsThatOfTheDefinition) {
  const std::vector<double> numbers = {-40, -3, -1, -0.5, -0.0, 0, 0.3, 1, 2, 7, 40, NAN, INFINITY, -INFINITY};
  const auto expect_same = [](std::uint32_t opcode, const std::vector<double>& inputs) {
    Expression e;
    baleen_instruction_t last{opcode, 0, 0, 0, 0};
    std::uint32_t* const operands[] = {&last.a, &last.b, &last.c};
    for (std::uint32_t i = 0; i < inputs.size(); ++i) *operands[i] = e.input(i);
    e.code.push_back(last);
    const double wanted = evaluate(e, inputs, {{}, 0, 0, 0}).back();
    const double found =
        expression_value(opcode, inputs[0], inputs.size() > 1 ? inputs[1] : 0, inputs.size() > 2 ? inputs[2] : 0);
    const std::string what = std::string(opcode_name(opcode)) + " of " + std::to_string(inputs[0]);
    // Derivatives and steps at what is no number, or beyond all numbers, are not defined.
    if (!std::isfinite(inputs[0]) && opcode != BALEEN_X_IS_FINITE && opcode < BALEEN_X_LT) return;
    if (std::isfinite(wanted))
      EXPECT_NEAR(found, wanted, 1e-12 * (1 + std::abs(wanted))) << what;
    else
      EXPECT_EQ(std::to_string(found), std::to_string(wanted)) << what;
  };
  for (std::uint32_t opcode = 1; opcode < 256; ++opcode) {
    if (opcode == BALEEN_X_ROUND) continue;
    for (const double a : numbers) {
      if (operand_count(opcode) == 1) expect_same(opcode, {a});
      for (const double b : {-2.5, -0.0, 1.0, 3.0}) {
        if (operand_count(opcode) == 2) expect_same(opcode, {a, b});
        if (operand_count(opcode) == 3) expect_same(opcode, {a, b, 9});
      }
    }
  }
}

TEST(ExpressionValue, RandomNumbersAreThePublishedOnes) {
  // The words of PhiloxGivesThePublishedNumbers: 0x6627e8d5 and 0xe169c58d of zeros.
  EXPECT_EQ(random_value(false, 0, 0, 0), (0x6627e8d5 >> 8) * 0x1p-24);
  for (std::uint64_t n = 0; n < 100; ++n) {
    const std::uint64_t element = n * 0x123456789ULL, key = ~n * 0x9876543210ULL;
    for (const std::uint32_t opcode : {BALEEN_X_UNIFORM, BALEEN_X_NORMAL}) {
      Expression e;
      const std::uint32_t x = e.random(opcode, key ^ 5);
      EXPECT_NEAR(random_value(opcode == BALEEN_X_NORMAL, key, element, n + (n << 32)),
                  evaluate(e, {}, {{}, element, 5, n + (n << 32)}).at(x), 1e-14);
    }
  }
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
