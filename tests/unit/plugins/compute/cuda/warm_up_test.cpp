/// \file What libraries chose is run once, in memory that is given back.
#include "warm_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace baleen::cuda {
namespace {

std::uint64_t taken = 0, most_taken = 0;
std::map<CUdeviceptr, std::uint64_t> blocks;
int waits = 0;
bool has_memory = true;

class WarmingUp : public testing::Test {
 protected:
  WarmingUp() {
    taken = most_taken = 0;
    waits = 0;
    has_memory = true;
    driver_.cuMemAlloc = [](CUdeviceptr* out, std::size_t bytes) {
      if (!has_memory && !blocks.empty()) return CUDA_ERROR_OUT_OF_MEMORY;
      *out = 4096 * (blocks.size() + 1);
      blocks[*out] = bytes;
      most_taken = std::max(most_taken, taken += bytes);
      return CUDA_SUCCESS;
    };
    driver_.cuMemFree = [](CUdeviceptr at) {
      EXPECT_GT(waits, 0) << "the stream may be using it";
      taken -= blocks.at(at);
      blocks.erase(at);
      return CUDA_SUCCESS;
    };
    driver_.cuMemsetD8Async = [](CUdeviceptr at, unsigned char value, std::size_t bytes, CUstream) {
      EXPECT_EQ(value, 0);
      EXPECT_EQ(bytes, blocks.at(at));
      return CUDA_SUCCESS;
    };
    driver_.cuStreamSynchronize = [](CUstream) {
      ++waits;
      return CUDA_SUCCESS;
    };
  }
  ~WarmingUp() override { EXPECT_EQ(taken, 0u) << "memory is left"; }

  int runs(const std::string& key, std::span<const std::uint64_t> bytes = kBytes) {
    int count = 0;
    warm_up_.run(key, bytes, [&](CUstream, std::span<void* const> buffers) {
      ++count;
      EXPECT_EQ(buffers.size(), bytes.size());
      EXPECT_EQ(waits, 0);
    });
    return count;
  }

  static constexpr std::array<std::uint64_t, 3> kBytes{1000, 0, 3000};
  std::uint64_t spare_ = 5000;
  Driver driver_{};
  WarmUp warm_up_{driver_, nullptr, [this] { return spare_; }};
};

TEST_F(WarmingUp, IsDoneOnce) {
  EXPECT_EQ(runs("one"), 1);
  EXPECT_EQ(most_taken, 1000u + 256u + 3000u);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(runs("one"), 0);
  waits = 0;
  EXPECT_EQ(runs("other"), 1);
}
TEST_F(WarmingUp, IsLeftOutWhereMemoryIsShort) {
  spare_ = 3999;
  EXPECT_EQ(runs("one"), 0);
  EXPECT_EQ(most_taken, 0u);
  constexpr std::array<std::uint64_t, 2> kHuge{~std::uint64_t{0}, 4000};
  EXPECT_EQ(runs("huge", kHuge), 0) << "their sum is small in 64 bits";
  spare_ = 4000;
  EXPECT_EQ(runs("other"), 1);
  has_memory = false;
  EXPECT_EQ(runs("third"), 0) << "others have taken it";
}

}  // namespace
}  // namespace baleen::cuda
