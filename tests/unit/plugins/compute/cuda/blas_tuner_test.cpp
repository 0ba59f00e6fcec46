/// \file Choosing among a product's algorithms by measuring them, on a driver whose clock is the test's.
#include "blas_tuner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "support/temporary_folder.hpp"

namespace baleen::cuda {
namespace {

float now = 0;  // milliseconds
int buffers = 0, events = 0;
bool has_memory = true;

CUresult allocate(CUdeviceptr* out, std::size_t) {
  if (!has_memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = reinterpret_cast<CUdeviceptr>(std::make_unique<char>().release());
  ++buffers;
  return CUDA_SUCCESS;
}
CUresult release(CUdeviceptr memory) {
  delete reinterpret_cast<char*>(memory);
  --buffers;
  return CUDA_SUCCESS;
}
CUresult fill(CUdeviceptr, unsigned char, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult make_event(CUevent* out, unsigned) {
  *out = reinterpret_cast<CUevent>(std::make_unique<float>().release());
  ++events;
  return CUDA_SUCCESS;
}
CUresult drop_event(CUevent event) {
  delete reinterpret_cast<float*>(event);
  --events;
  return CUDA_SUCCESS;
}
CUresult record(CUevent event, CUstream) {
  *reinterpret_cast<float*>(event) = now;
  return CUDA_SUCCESS;
}
CUresult wait(CUevent) { return CUDA_SUCCESS; }
CUresult elapsed(float* out, CUevent begin, CUevent end) {
  *out = *reinterpret_cast<float*>(end) - *reinterpret_cast<float*>(begin);
  return CUDA_SUCCESS;
}
CUresult finish(CUstream) { return CUDA_SUCCESS; }

class Tuner : public testing::Test {
 protected:
  Tuner() {
    now = 0;
    has_memory = true;
    driver_.cuMemAlloc = allocate;
    driver_.cuMemFree = release;
    driver_.cuMemsetD8Async = fill;
    driver_.cuEventCreate = make_event;
    driver_.cuEventDestroy = drop_event;
    driver_.cuEventRecord = record;
    driver_.cuEventSynchronize = wait;
    driver_.cuEventElapsedTime = elapsed;
    driver_.cuStreamSynchronize = finish;
  }
  ~Tuner() override {
    EXPECT_EQ(buffers, 0);
    EXPECT_EQ(events, 0);
  }

  /// Candidates that take so many milliseconds; one of none cannot be run.
  std::size_t fastest(const std::vector<float>& milliseconds, const std::string& device = "H100",
                      const std::string& key = "a product") {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < milliseconds.size(); ++i) names.push_back("algorithm " + std::to_string(i));
    const std::array<std::uint64_t, 2> bytes{1 << 20, 0};
    launches_ = 0;
    BlasTuner tuner(driver_, nullptr, folder_.path(), device);
    return tuner.fastest(key, names, bytes, [&](std::size_t i, CUstream, std::span<void* const> given) {
      EXPECT_EQ(given.size(), 2u);
      ++launches_;
      now += milliseconds[i];
      return milliseconds[i] > 0;
    });
  }

  Driver driver_{};
  const test::TemporaryFolder folder_;
  int launches_ = 0;
};

TEST_F(Tuner, TakesTheFastest) { EXPECT_EQ(fastest({3, 2, 1, 4}), 2u); }

TEST_F(Tuner, StaysWithTheFirstWhereOthersAreFasterByChanceOnly) { EXPECT_EQ(fastest({1.0f, 0.99f, 2.0f}), 0u); }

TEST_F(Tuner, PassesOverWhatCannotBeRun) {
  EXPECT_EQ(fastest({3, 0, 2}), 2u);
  EXPECT_EQ(fastest({0, 0}, "H100", "none of these"), 0u);
}

TEST_F(Tuner, MeasuresOnceForADeviceAndAProduct) {
  EXPECT_EQ(fastest({3, 1}), 1u);
  EXPECT_GT(launches_, 0);
  EXPECT_EQ(fastest({1, 3}), 1u) << "as it was kept";
  EXPECT_EQ(launches_, 0);
  EXPECT_EQ(fastest({1, 3}, "H200"), 0u);
  EXPECT_EQ(fastest({1, 3}, "H100", "another product"), 0u);
}

/// A new library has other algorithms.
TEST_F(Tuner, MeasuresAgainWhereTheKeptOneIsNoCandidate) {
  EXPECT_EQ(fastest({3, 2, 1}), 2u);
  EXPECT_EQ(fastest({2, 1}), 1u);
  EXPECT_GT(launches_, 0);
}

TEST_F(Tuner, TakesTheFirstWithoutMemory) {
  has_memory = false;
  EXPECT_EQ(fastest({3, 1}), 0u);
  EXPECT_EQ(launches_, 0);
  has_memory = true;
  EXPECT_EQ(fastest({3, 1}), 1u) << "nothing was kept";
}

}  // namespace
}  // namespace baleen::cuda
