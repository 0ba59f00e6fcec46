/// \file In which sets of inputs an expression is linear: all sets at once against one set after another.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "baleen/expression_builder.hpp"
#include "pointwise.hpp"

namespace baleen::ops {
namespace {

using Set = std::vector<std::uint32_t>;

/// How an instruction depends on one set of inputs.
enum class Dependence : std::uint8_t { none, zero, linear, other };
using enum Dependence;

Dependence sum_of(Dependence a, Dependence b) {
  if (a == other || b == other) return other;
  if (a == zero) return b;
  if (b == zero || a == b) return a;
  return other;  // linear + constant
}

Dependence dependence(const baleen_instruction_t& i, const std::vector<Dependence>& at) {
  std::vector<Dependence> on;
  for (int k = 0; k < operand_count(i.opcode); ++k) on.push_back(at[operand(i, k)]);
  const bool fixed = std::all_of(on.begin(), on.end(), [](Dependence d) { return d == none || d == zero; });
  if (i.opcode == BALEEN_X_CONSTANT) return i.constant == 0 ? zero : none;
  if (i.opcode == BALEEN_X_ADD || i.opcode == BALEEN_X_SUB) return sum_of(on[0], on[1]);
  if (i.opcode == BALEEN_X_NEG) return on[0];
  if (fixed) return none;
  if (i.opcode == BALEEN_X_MUL && on[0] == none) return on[1];
  if ((i.opcode == BALEEN_X_MUL || i.opcode == BALEEN_X_DIV) && on[1] == none) return on[0];
  if (i.opcode == BALEEN_X_SELECT && (on[0] == none || on[0] == zero)) return sum_of(on[1], on[2]);
  return other;
}

bool jointly_linear(const Expression& e, std::int64_t result, const Set& set) {
  std::vector<Dependence> at;
  for (const auto& i : e.code) {
    const bool member = i.opcode == BALEEN_X_INPUT && std::find(set.begin(), set.end(), i.a) != set.end();
    at.push_back(member ? linear : i.opcode == BALEEN_X_INPUT ? none : dependence(i, at));
  }
  return at[static_cast<std::size_t>(result)] == linear;
}

std::vector<Set> one_after_another(const Expression& e, std::int64_t result, std::uint32_t inputs) {
  std::vector<Set> sets;
  for (std::uint32_t mask = 1; mask < 1u << inputs; ++mask) {
    Set set;
    for (std::uint32_t i = 0; i < inputs; ++i)
      if (mask >> i & 1) set.push_back(i);
    if (jointly_linear(e, result, set)) sets.push_back(set);
  }
  return sets;
}

Set first_numbers(std::uint32_t count) {
  Set all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

TEST(LinearSets, OfRandomFormulasAreThoseOfOneSetAfterAnother) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng); };
    const auto inputs = static_cast<std::uint32_t>(1 + pick(6));
    Expression e;
    std::vector<std::uint32_t> made;
    for (std::uint32_t i = 0; i < inputs; ++i) made.push_back(e.input(i));
    made.push_back(e.constant(0));
    made.push_back(e.constant(0.7));
    const auto any = [&] { return made[pick(made.size())]; };
    const std::uint32_t binary[] = {BALEEN_X_ADD, BALEEN_X_SUB, BALEEN_X_MUL, BALEEN_X_DIV, BALEEN_X_ADD, BALEEN_X_MAX};
    for (int i = 0; i < 10; ++i) {
      const std::size_t form = pick(8);
      if (form == 0)
        made.push_back(e.unary(pick(2) ? BALEEN_X_NEG : BALEEN_X_EXP, any()));
      else if (form == 1)
        made.push_back(e.select(any(), any(), any()));
      else
        made.push_back(e.binary(binary[pick(6)], any(), any()));
    }
    const std::vector<std::int64_t> results{made.back()};
    const auto sets = linear_sets(e.code, results, first_numbers(inputs));
    EXPECT_EQ(sets, one_after_another(e, results[0], inputs));
    found += sets.size();
  }
  EXPECT_GT(found, 200u);
}

TEST(LinearSets, OfManyInputsAreEachAloneAndAll) {
  constexpr std::uint32_t kMany = 150;
  Expression sum, product;
  std::uint32_t added = sum.input(0), multiplied = product.input(0);
  for (std::uint32_t i = 1; i < kMany; ++i) {
    added = sum.binary(BALEEN_X_ADD, added, sum.input(i));
    multiplied = product.binary(BALEEN_X_MUL, multiplied, product.input(i));
  }
  const Set all = first_numbers(kMany);
  EXPECT_EQ(linear_sets(sum.code, std::vector<std::int64_t>{added}, all), std::vector<Set>{all});
  const auto alone = linear_sets(product.code, std::vector<std::int64_t>{multiplied}, all);
  ASSERT_EQ(alone.size(), kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) EXPECT_EQ(alone[i], Set{i});
}

TEST(LinearSets, AreThoseOfAllResults) {
  Expression e;
  const auto x = e.input(0), y = e.input(1);
  const std::vector<std::int64_t> results{e.binary(BALEEN_X_ADD, x, y), e.binary(BALEEN_X_SUB, x, y)};
  EXPECT_EQ(linear_sets(e.code, results, Set{0, 1}), (std::vector<Set>{{0, 1}}));
  const std::vector<std::int64_t> both{results[0], e.binary(BALEEN_X_MUL, x, y)};
  EXPECT_TRUE(linear_sets(e.code, both, Set{0, 1}).empty()) << "a sum is in both together, a product in one alone";
}

}  // namespace
}  // namespace baleen::ops
