/// \file Contractions of a transformer must come out as single matrix products.
#include "contraction.hpp"

#include <gtest/gtest.h>

namespace baleen::cpu {
namespace {

Operand packed(std::vector<std::int64_t> shape) {
  Operand out;
  out.tensor.rank = static_cast<std::uint32_t>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    out.tensor.shape[d] = shape[d];
    out.tensor.stride[d] = stride;
  }
  return out;
}

TEST(Contraction, OfAWeightGradientIsOneProductWithATransposedA) {
  const auto c =
      parse_contraction("bsd,bsche->dche", packed({8, 256, 384}), packed({8, 256, 3, 6, 64}), packed({384, 3, 6, 64}));
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->outer.empty());
  EXPECT_TRUE(c->outer_depth.empty());
  EXPECT_EQ(c->m.extent, 384);
  EXPECT_EQ(c->n.extent, 1152);
  EXPECT_EQ(c->k.extent, 2048);
  EXPECT_EQ(c->m.a, 1);  // transposed: rows of the product are columns of a
  EXPECT_EQ(c->k.a, 384);
  EXPECT_EQ(c->flops(), 2.0 * 384 * 1152 * 2048);
}
TEST(Contraction, OfAProjectionIsOneProduct) {
  const auto c =
      parse_contraction("bshe,hed->bsd", packed({8, 256, 6, 64}), packed({6, 64, 384}), packed({8, 256, 384}));
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->outer.empty() && c->outer_depth.empty());
  EXPECT_EQ(c->m.extent, 2048);
  EXPECT_EQ(c->k.extent, 384);
}
TEST(Contraction, OfAViewWithGapsBetweenRowsIsStillOneProduct) {
  Operand x = packed({8, 256, 384});
  x.tensor.stride[0] = 256 * 1152;
  x.tensor.stride[1] = 1152;
  const auto c = parse_contraction("bsd,df->bsf", x, packed({384, 64}), packed({8, 256, 64}));
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->outer.empty());
  EXPECT_EQ(c->m.a, 1152);
}
TEST(Contraction, KeepsLettersThatDoNotMergeAsLoops) {
  const auto c = parse_contraction("akb,bn->nka", packed({3, 4, 5}), packed({5, 6}), packed({6, 4, 3}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->m.extent, 4);
  ASSERT_EQ(c->outer.size(), 1u);
  EXPECT_EQ(c->outer[0].extent, 3);
}

}  // namespace
}  // namespace baleen::cpu
