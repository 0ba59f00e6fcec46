/// \file Timing two kernels by the device's own clock.
#include "peak.hpp"

#include "device/peak.hpp"
#include "functions.hpp"

namespace baleen::cuda {
namespace {

/// Memory and events of a measurement.
class Bench {
 public:
  Bench(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {}
  ~Bench() {
    if (memory_) driver_.cuMemFree(memory_);
    if (begin_) driver_.cuEventDestroy(begin_);
    if (end_) driver_.cuEventDestroy(end_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Status open(std::uint64_t bytes) {
    constexpr const char* kDoing = "preparing a measurement";
    BALEEN_TRY(driver_.check(driver_.cuMemAlloc(&memory_, bytes), kDoing));
    BALEEN_TRY(driver_.check(driver_.cuMemsetD8Async(memory_, 0, bytes, stream_), kDoing));
    BALEEN_TRY(driver_.check(driver_.cuEventCreate(&begin_, CU_EVENT_DEFAULT), kDoing));
    return driver_.check(driver_.cuEventCreate(&end_, CU_EVENT_DEFAULT), kDoing);
  }
  float* memory(std::int64_t element) const { return reinterpret_cast<float*>(memory_) + element; }

  /// Seconds of the fastest of some launches.
  template <class Args>
  Result<double> fastest(CUfunction function, const Geometry& geometry, const Args& args) const {
    constexpr const char* kDoing = "measuring";
    const baleen_launch_t none{};
    const Launch launch{driver_, stream_, none, {}};
    double best = 0;
    for (int turn = 0; turn < 8; ++turn) {
      BALEEN_TRY(driver_.check(driver_.cuEventRecord(begin_, stream_), kDoing));
      BALEEN_TRY(launch.run(function, geometry, args));
      BALEEN_TRY(driver_.check(driver_.cuEventRecord(end_, stream_), kDoing));
      BALEEN_TRY(driver_.check(driver_.cuEventSynchronize(end_), kDoing));
      float milliseconds = 0;
      BALEEN_TRY(driver_.check(driver_.cuEventElapsedTime(&milliseconds, begin_, end_), kDoing));
      if (turn == 0 || milliseconds * 1e-3 < best) best = milliseconds * 1e-3;
    }
    return best;
  }

 private:
  const Driver& driver_;
  CUstream stream_;
  CUdeviceptr memory_ = 0;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace

Result<Peak> measure_peak(const Context& context, CUstream stream) {
  constexpr std::int64_t kElements = std::int64_t{1} << 24, kBlocks = 8192;
  constexpr int kTurns = 2048;
  Bench bench(context.driver, stream);
  BALEEN_TRY(bench.open(4 * kElements * sizeof(float)));
  BALEEN_TRY_ASSIGN(CUfunction flops, context.functions.find("baleen_peak_flops"));
  BALEEN_TRY_ASSIGN(CUfunction bytes, context.functions.find("baleen_peak_bytes"));
  const PeakFlopsArgs flops_args{bench.memory(0), 0.5f, kTurns};
  PeakBytesArgs bytes_args{};
  for (int i = 0; i < 4; ++i) bytes_args.array[i] = bench.memory(i * kElements);
  bytes_args.count = kElements;
  BALEEN_TRY_ASSIGN(const double computing, bench.fastest(flops, {kBlocks}, flops_args));
  BALEEN_TRY_ASSIGN(const double moving, bench.fastest(bytes, {kElements / 256}, bytes_args));
  Peak peak;
  if (computing > 0) peak.flops_per_second = 2.0 * kPeakChains * kTurns * kBlocks * 256 / computing;
  if (moving > 0) peak.bytes_per_second = 7.0 * sizeof(float) * kElements / moving;
  return peak;
}

}  // namespace baleen::cuda
