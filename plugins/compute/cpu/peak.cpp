/// \file The best of some runs on all threads.
#include "peak.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

namespace baleen::cpu {
namespace {

constexpr int kRuns = 5;
constexpr Index kSteps = 400'000, kElements = Index{8} << 20;

template <class Body>
double seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Peak measure_peak(const Context& context) {
  const Threads& threads = context.threads;
  const int count = threads.count();
  const Index piece = (kElements + count - 1) / count;
  std::unique_ptr<float[]> arrays[4];
  for (auto& array : arrays) array.reset(new float[static_cast<std::size_t>(piece * count)]);
  // Each thread touches its part first.
  threads.pieces(piece * count, piece, [&](Index begin, Index end, int) {
    for (auto& array : arrays) std::fill(array.get() + begin, array.get() + end, 1.0f);
  });
  Peak best;
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<double> done = 0;
    const double arithmetic =
        seconds([&] { threads.each(count, [&](Index, int) { done += context.routines.multiply_adds(kSteps); }); });
    const double moved = seconds([&] {
      threads.pieces(piece * count, piece, [&](Index begin, Index end, int) {
        context.routines.seven_words(arrays[0].get() + begin, arrays[1].get() + begin, arrays[2].get() + begin,
                                     arrays[3].get() + begin, end - begin);
      });
    });
    best.flops_per_second = std::max(best.flops_per_second, done / arithmetic);
    best.bytes_per_second = std::max(best.bytes_per_second, 28.0 * static_cast<double>(piece * count) / moved);
  }
  return best;
}

}  // namespace baleen::cpu
