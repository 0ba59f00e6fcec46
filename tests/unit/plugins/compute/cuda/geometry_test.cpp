/// \file Sizes of launches.
#include "geometry.hpp"

#include <gtest/gtest.h>

#include "device/attention.hpp"

namespace baleen::cuda {
namespace {

TEST(Geometry, OfRowsHasWholeWarps) {
  EXPECT_EQ(block_per_row(7, 1).threads, 32u);
  EXPECT_EQ(block_per_row(7, 768).threads, 192u);
  EXPECT_EQ(block_per_row(7, 768, 8).threads, 96u);
  EXPECT_EQ(block_per_row(7, 1 << 20).threads, 1024u);
  EXPECT_EQ(block_per_row(7, 768).blocks, 7);
}
TEST(Geometry, OfNothingIsEmpty) {
  EXPECT_TRUE(thread_per_element(0).empty());
  EXPECT_TRUE(warp_per_element(0).empty());
  EXPECT_TRUE(block_per_row(0, 5).empty());
  EXPECT_FALSE(thread_per_element(1).empty());
}
TEST(Geometry, OfManyElementsStaysWithinTheGrid) {
  EXPECT_EQ(thread_per_element(257).blocks, 2);
  EXPECT_EQ(thread_per_element(std::int64_t{1} << 40).blocks, 1 << 20);
}
TEST(Geometry, OfReductionsHasAtMost1024Blocks) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{8192}, std::int64_t{8193}, std::int64_t{1} << 33}) {
    const std::int64_t block = reduce_block(n, 8192);
    EXPECT_LE(ceil_div(n, block), 1024);
    EXPECT_GE(block, 8192);
  }
  EXPECT_EQ(reduce_block(0, 256), 256);
}
TEST(Geometry, OfNormGradientsNeverHasNoBlock) {
  EXPECT_EQ(norm_grad_blocks(0), 1);
  EXPECT_EQ(norm_grad_blocks(9), 2);
  EXPECT_EQ(norm_grad_blocks(1 << 20), 1024);
}
/// Attention's tiles of the usual widths let two blocks live on a multiprocessor of 227 KiB.
TEST(Geometry, OfAttentionFits) {
  EXPECT_LE(attention_shared(64, 32, 64) * 4, 100 << 10);
  EXPECT_LE(attention_shared(64, 32, 128) * 4, 113 << 10);
  EXPECT_LE(attention_grad_shared(32, 128) * 4, 113 << 10);
  EXPECT_LE(attention_grad_shared(16, 256) * 8, 227 << 10);
}

}  // namespace
}  // namespace baleen::cuda
