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
TEST(Geometry, OfHeldRowsHasThreadsForAllOfThem) {
  EXPECT_TRUE(held_rows(0, 768).empty());
  EXPECT_EQ(held_rows(9, 768).blocks, 3);
  for (const std::int64_t width : {8, 512, 520, 768, 776, 1024, 1032, 1288, 1600, 1800, kHeldByWarp + 0})
    EXPECT_GE(32 * held_by_lane(width), width) << width;
  for (const std::int64_t width : {2056, 8192, 8200, kMostHeld + 0}) {
    EXPECT_EQ(held_rows(9, width).blocks, 9);
    EXPECT_GE(held_rows(9, width).threads * kHeldByThread, width);
  }
}
TEST(Geometry, OfGradientsOfHeldRowsFillsADeviceAtMostOnce) {
  EXPECT_EQ(held_norm_grad(0, 768, 2).blocks, 1);
  EXPECT_EQ(held_norm_grad(17, 768, 2).blocks, 2);
  EXPECT_EQ(held_norm_grad(1 << 20, 768, 2).blocks, 396);
  EXPECT_EQ(held_norm_grad(1 << 20, 1600, 2).blocks, 396);
  EXPECT_EQ(held_norm_grad(1 << 20, 2048, 2).blocks, 528);
  for (const std::int64_t width : {8, 768, 1024, 1032, kMostHeldGrad + 0}) {
    EXPECT_LE(held_norm_grad(1 << 20, width, 4).shared_bytes, 48u << 10);
    EXPECT_LE(held_norm_grad(1 << 20, width, 4).threads, kMostHeldGrad / kHeldByThread + 0u);
  }
  // Staged rows: three blocks live on a multiprocessor of 227 KiB.
  EXPECT_LE(3 * held_norm_grad(1 << 20, most_held_by_warp(2), 2).shared_bytes, 227u << 10);
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
