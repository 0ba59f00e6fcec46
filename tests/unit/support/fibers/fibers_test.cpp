/// \file A block of emulated threads: barriers and warps hold, and where a barrier is missing, some block shows it.
#include "fibers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace baleen::emulated {
namespace {

constexpr unsigned kThreads = 96, kBlocks = 60;

struct Args {
  std::vector<float>* out;
  bool waits, reads_the_next;
};

/// Each thread writes a number and reads its neighbour's.
void neighbours(const void* given) {
  const Args& args = *static_cast<const Args*>(given);
  auto* shared = reinterpret_cast<float*>(BALEEN_SHARED_MEMORY());
  const unsigned me = threadIdx.x, other = (args.reads_the_next ? me + 1 : me + kThreads - 1) % kThreads;
  shared[me] = static_cast<float>(me);
  if (args.waits) __syncthreads();
  (*args.out)[blockIdx.x * kThreads + me] = shared[other] - static_cast<float>(other);
}

/// Blocks in which some thread read what was not there; the first and the last thread are neighbours across the block.
unsigned wrong_blocks(bool waits, bool reads_the_next) {
  std::vector<float> out(std::size_t{kBlocks} * kThreads);
  const Args args{&out, waits, reads_the_next};
  EXPECT_TRUE(run_grid(neighbours, &args, {kBlocks, 1, 1}, kThreads, kThreads * sizeof(float)));
  unsigned count = 0;
  for (unsigned block = 0; block < kBlocks; ++block) {
    bool wrong = false;
    for (unsigned i = 1; i + 1 < kThreads; ++i) wrong = wrong || out[block * kThreads + i] != 0.0f;
    count += wrong;
  }
  return count;
}

TEST(Fibers, ShowAMissingBarrierWhicheverNeighbourIsRead) {
  for (const bool reads_the_next : {false, true}) {
    EXPECT_EQ(wrong_blocks(true, reads_the_next), 0u);
    EXPECT_GT(wrong_blocks(false, reads_the_next), kBlocks / 4);
  }
}

void fold(const void* given) {
  auto& out = *static_cast<std::vector<float>*>(const_cast<void*>(given));
  float sum = static_cast<float>(threadIdx.x % 32);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const unsigned even = __ballot_sync(0xffffffffu, threadIdx.x % 2 == 0);
  out[threadIdx.x] = even == 0x55555555u ? sum : NAN;
}

TEST(Fibers, ExchangeInWarpsInAnyOrder) {
  for (int launch = 0; launch < 12; ++launch) {
    std::vector<float> out(kThreads);
    ASSERT_TRUE(run_grid(fold, &out, {1, 1, 1}, kThreads, 0));
    for (const float sum : out) ASSERT_EQ(sum, 496.0f);
  }
}

void waits_alone(const void*) {
  if (threadIdx.x == 7) __syncthreads();
  if (threadIdx.x != 7) __shfl_xor_sync(0xffffffffu, 0, 1);
}

TEST(Fibers, TellABarrierThatOthersNeverReach) { EXPECT_FALSE(run_grid(waits_alone, nullptr, {1, 1, 1}, kThreads, 0)); }

}  // namespace
}  // namespace baleen::emulated
