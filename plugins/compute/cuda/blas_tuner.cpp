/// \file Candidates take turns; each one's best time counts, by the device's own clock.
#include "blas_tuner.hpp"

#include <algorithm>
#include <limits>

#include "trial_memory.hpp"

namespace baleen::cuda {
namespace {

constexpr int kRounds = 4, kLaunches = 3;
/// Another one must take less than this part of the first one's time.
constexpr double kFaster = 0.98;

/// No zeros, which take less power and time than numbers: in each floating dtype a small one.
constexpr unsigned char kNumbers = 0x3c;

/// Memory and events of a measurement. Empty where the device has too little of them.
class Trial {
 public:
  Trial(const Driver& driver, CUstream stream, std::span<const std::uint64_t> bytes)
      : driver_(driver), stream_(stream), memory_(driver, stream, bytes, kNumbers) {
    is_ready_ = memory_.is_ready() && driver_.cuEventCreate(&begin_, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
                driver_.cuEventCreate(&end_, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
  }
  ~Trial() {
    for (CUevent event : {begin_, end_})
      if (event) driver_.cuEventDestroy(event);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool is_ready() const { return is_ready_; }
  /// Milliseconds of some launches one after the other.
  std::optional<float> run(std::size_t candidate, const BlasTuner::Enqueue& enqueue) const {
    float milliseconds = 0;
    if (driver_.cuEventRecord(begin_, stream_) != CUDA_SUCCESS) return {};
    for (int i = 0; i < kLaunches; ++i)
      if (!enqueue(candidate, stream_, memory_.buffers())) return {};
    if (driver_.cuEventRecord(end_, stream_) != CUDA_SUCCESS || driver_.cuEventSynchronize(end_) != CUDA_SUCCESS ||
        driver_.cuEventElapsedTime(&milliseconds, begin_, end_) != CUDA_SUCCESS)
      return {};
    return milliseconds;
  }

 private:
  const Driver& driver_;
  CUstream stream_;
  TrialMemory memory_;
  CUevent begin_ = nullptr, end_ = nullptr;
  bool is_ready_ = false;
};

}  // namespace

std::optional<std::size_t> BlasTuner::measure(std::size_t candidates, std::span<const std::uint64_t> bytes,
                                              const Enqueue& enqueue) const {
  const Trial trial(driver_, stream_, bytes);
  if (!trial.is_ready()) return {};
  std::vector<float> best(candidates, std::numeric_limits<float>::infinity());
  // The first round warms up.
  for (int round = 0; round <= kRounds; ++round)
    for (std::size_t i = 0; i < candidates; ++i) {
      if (round > 1 && best[i] == std::numeric_limits<float>::infinity()) continue;
      const auto time = trial.run(i, enqueue);
      if (round > 0) best[i] = std::min(best[i], time.value_or(std::numeric_limits<float>::infinity()));
    }
  const auto fastest = static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin());
  if (best[fastest] == std::numeric_limits<float>::infinity()) return {};
  return best[fastest] < static_cast<float>(kFaster) * best[0] ? fastest : 0;
}

std::size_t BlasTuner::fastest(const std::string& key, std::span<const std::string> names,
                               std::span<const std::uint64_t> bytes, const Enqueue& enqueue) {
  const std::string whole = "algorithm on " + device_ + "\n" + key;
  const auto known = [&]() -> std::optional<std::size_t> {
    const std::string kept = cache_.find(whole);
    const auto found = std::find(names.begin(), names.end(), kept);
    if (kept.empty() || found == names.end()) return {};
    return static_cast<std::size_t>(found - names.begin());
  };
  if (const auto number = known()) return *number;
  const CodeCache::Turn turn(cache_, whole);  // ranks of a host come to the same products at the same time
  if (const auto number = known()) return *number;
  const auto number = measure(names.size(), bytes, enqueue);
  if (number) cache_.keep(whole, names[*number]);
  return number.value_or(0);
}

}  // namespace baleen::cuda
