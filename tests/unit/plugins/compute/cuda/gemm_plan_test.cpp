/// \file Plans of products, carried out by plain loops, against the contraction by letters.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "contraction.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

using Shape = std::vector<std::int64_t>;

Operand operand(const Shape& shape, const Shape& strides = {}) {
  Operand out;
  out.tensor.rank = static_cast<std::uint32_t>(shape.size());
  const Shape packed = packed_strides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    out.tensor.shape[d] = shape[d];
    out.tensor.stride[d] = strides.empty() ? packed[d] : strides[d];
  }
  return out;
}

/// Extents by letter: "mk" of {m: 3, k: 4} is [3, 4].
Shape shape_of(const std::string& letters, const std::map<char, std::int64_t>& extents) {
  Shape out;
  for (const char letter : letters) out.push_back(extents.at(letter));
  return out;
}

/// Calls body(offset of a, b, y) for all letters' values.
void each(const Contraction& c, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& body) {
  std::vector<Loop> loops;
  for (const auto* group : {&c.batch, &c.m, &c.n, &c.k}) loops.insert(loops.end(), group->begin(), group->end());
  std::function<void(std::size_t, Loop)> go = [&](std::size_t depth, Loop at) {
    if (depth == loops.size()) return body(at.a, at.b, at.y);
    for (std::int64_t i = 0; i < loops[depth].extent; ++i)
      go(depth + 1, {1, at.a + i * loops[depth].a, at.b + i * loops[depth].b, at.y + i * loops[depth].y});
  };
  go(0, {1, 0, 0, 0});
}

/// What BLAS would compute.
void carry_out(const GemmPlan& plan, const std::vector<double>& a, const std::vector<double>& b,
               std::vector<double>& y) {
  const auto at = [](const GemmPlan::Matrix& m, std::int64_t row, std::int64_t column) {
    return m.transposed ? column + row * m.leading : row + column * m.leading;
  };
  for (const GemmPlan::Turn& turn : plan.turns)
    for (std::int64_t i = 0; i < plan.batch; ++i)
      for (std::int64_t row = 0; row < plan.rows; ++row)
        for (std::int64_t column = 0; column < plan.columns; ++column) {
          double sum = 0;
          for (std::int64_t k = 0; k < plan.depth; ++k) {
            const std::int64_t left = at(plan.left, row, k) + i * plan.left.batch_stride;
            const std::int64_t right = at(plan.right, k, column) + i * plan.right.batch_stride;
            const double l = plan.swapped ? b.at(static_cast<std::size_t>(turn.b + left))
                                          : a.at(static_cast<std::size_t>(turn.a + left));
            const double r = plan.swapped ? a.at(static_cast<std::size_t>(turn.a + right))
                                          : b.at(static_cast<std::size_t>(turn.b + right));
            sum += l * r;
          }
          double& to =
              y.at(static_cast<std::size_t>(turn.y + at(plan.result, row, column) + i * plan.result.batch_stride));
          to = turn.adds ? to + sum : sum;
        }
}

struct Case {
  std::string spec;
  std::map<char, std::int64_t> extents;
  bool planned = true;
};

void check(const Case& c) {
  SCOPED_TRACE(c.spec);
  const std::size_t comma = c.spec.find(','), arrow = c.spec.find("->");
  const Operand a = operand(shape_of(c.spec.substr(0, comma), c.extents));
  const Operand b = operand(shape_of(c.spec.substr(comma + 1, arrow - comma - 1), c.extents));
  const Operand y = operand(shape_of(c.spec.substr(arrow + 2), c.extents));
  const auto contraction = contraction_groups(c.spec, a, b, y);
  ASSERT_TRUE(contraction);
  const auto plan = plan_gemm(*contraction);
  ASSERT_EQ(plan.has_value(), c.planned);
  if (!plan) return;
  std::mt19937 random(3);
  const auto fill = [&](const Operand& x) {
    std::vector<double> out(static_cast<std::size_t>(elements(x.tensor)));
    for (double& v : out) v = static_cast<double>(random() % 17) - 8;
    return out;
  };
  const std::vector<double> left = fill(a), right = fill(b);
  std::vector<double> wanted(static_cast<std::size_t>(elements(y.tensor))), got(wanted.size(), 1e9);
  each(*contraction, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    wanted[static_cast<std::size_t>(k)] += left[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)];
  });
  carry_out(*plan, left, right, got);
  EXPECT_EQ(got, wanted);
}

TEST(GemmPlan, ComputesTheContraction) {
  for (const char* spec : {"mk,kn->mn", "mk,kn->nm", "km,kn->mn", "km,nk->mn", "mk,nk->mn", "km,nk->nm"})
    check({spec, {{'m', 3}, {'k', 4}, {'n', 5}}});
  for (const char* spec : {"bmk,bkn->bmn", "bmk,kn->bmn", "mk,bkn->bmn", "abmk,abkn->abmn", "bxmk,bkn->bxmn"})
    check({spec, {{'a', 2}, {'b', 3}, {'x', 2}, {'m', 4}, {'k', 5}, {'n', 3}}});
  for (const char* spec : {"bsd,dche->bsche", "bsche,dche->bsd", "bsd,bsche->dche", "bshe,hed->bsd", "bsd,bshe->hed",
                           "bshe,bthe->bhst", "bhst,bthe->bshe"})
    check({spec, {{'b', 2}, {'s', 5}, {'t', 3}, {'d', 6}, {'c', 3}, {'h', 2}, {'e', 4}}});
  for (const std::int64_t one : {1, 4}) check({"mk,kn->mn", {{'m', 1}, {'k', one}, {'n', 7}}});
  check({"k,k->", {{'k', 5}}});
  check({"m,n->mn", {{'m', 5}, {'n', 3}}});
  check({"kam,bkan->bmn", {{'k', 3}, {'a', 4}, {'m', 5}, {'b', 2}, {'n', 6}}});
}
/// Whatever the result's order, left is transposed and right is not.
TEST(GemmPlan, PutsTheDepthInnermostWhereOperandsLieSo) {
  const auto plan_of = [](const char* spec, const RegionOperand& a, const RegionOperand& b, const RegionOperand& y) {
    const auto contraction = contraction_groups(spec, a, b, y);
    return contraction ? plan_gemm(*contraction, GemmForm::kDepthInnermost) : std::nullopt;
  };
  for (const char* spec : {"mk,nk->mn", "mk,nk->nm"}) {
    const bool turned = spec[7] == 'n';
    const auto plan = plan_of(spec, operand({3, 4}), operand({5, 4}), turned ? operand({5, 3}) : operand({3, 5}));
    ASSERT_TRUE(plan) << spec;
    EXPECT_TRUE(plan->left.transposed && !plan->right.transposed) << spec;
    EXPECT_EQ(plan->depth, 4);
    EXPECT_EQ(plan->left.leading, 4);
    EXPECT_EQ(plan->right.leading, 4);
  }
  EXPECT_FALSE(plan_of("mk,kn->mn", operand({3, 4}), operand({4, 5}), operand({3, 5})));
  EXPECT_FALSE(plan_of("km,nk->mn", operand({4, 3}), operand({5, 4}), operand({3, 5})));
}
TEST(GemmPlan, LeavesStridesThatNoMatrixHasToOthers) {
  check({"akb,bn->nka", {{'a', 3}, {'k', 4}, {'b', 5}, {'n', 6}}, true});
  check({"mk,kn->mn", {{'m', 3}, {'k', 0}, {'n', 5}}, false});
  const auto broadcast = contraction_groups("mk,kn->mn", operand({3, 4}, {0, 1}), operand({4, 5}), operand({3, 5}));
  ASSERT_TRUE(broadcast);
  EXPECT_FALSE(plan_gemm(*broadcast));
  const auto gaps = contraction_groups("mk,kn->mn", operand({3, 4}, {8, 2}), operand({4, 5}), operand({3, 5}));
  ASSERT_TRUE(gaps);
  EXPECT_FALSE(plan_gemm(*gaps));
}
TEST(GemmPlan, OfATransformersProductsIsOneProduct) {
  const std::map<char, std::int64_t> gpt{{'b', 8}, {'s', 256}, {'d', 384}, {'c', 3}, {'h', 6}, {'e', 64}};
  for (const std::string spec : {"bsd,dche->bsche", "bsd,bsche->dche", "bshe,hed->bsd"}) {
    const std::size_t comma = spec.find(','), arrow = spec.find("->");
    const auto c = contraction_groups(spec, operand(shape_of(spec.substr(0, comma), gpt)),
                                      operand(shape_of(spec.substr(comma + 1, arrow - comma - 1), gpt)),
                                      operand(shape_of(spec.substr(arrow + 2), gpt)));
    ASSERT_TRUE(c);
    const auto plan = plan_gemm(*c);
    ASSERT_TRUE(plan) << spec;
    EXPECT_EQ(plan->turns.size(), 1u) << spec;
    EXPECT_EQ(plan->batch, 1) << spec;
  }
}
TEST(GemmPlan, GivesUpWhereTooManySmallProductsWouldBeNeeded) {
  const std::map<char, std::int64_t> many{{'b', 70}, {'h', 70}, {'s', 3}, {'t', 4}, {'e', 2}};
  check({"bshe,bthe->bhst", many, false});
}

}  // namespace
}  // namespace baleen::cuda
