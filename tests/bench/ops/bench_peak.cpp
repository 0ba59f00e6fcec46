/// \file What this machine does at most, as one JSON object: multiply-adds (GFLOP/s), and bytes per second of a loop
/// over seven words per element, of which four are read and three written, as an AdamW step does.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/help.hpp"
#include "fma_peak.hpp"

namespace {

constexpr const char* kHelp =
    "Measures what this machine does at most: multiply-adds of fp32, and bytes of a loop as AdamW has it.\n"
    "Usage: bench_peak [threads]\n"
    "Without a number, as many threads as OpenMP has. Prints one JSON object: `fma_gflops`, and `seven_words_gbs` of "
    "a\n"
    "loop over seven words per element, four of them read and three written. The best of seven runs.\n";

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Four arrays of `count` floats, touched first by the thread that will use them.
class Words {
 public:
  Words(std::ptrdiff_t count, int threads) : count_(count), threads_(threads) {
    for (auto& array : arrays_) array.reset(new float[static_cast<std::size_t>(count)]);
    each([](float* w, float* m, float* v, float* g, std::ptrdiff_t i) { w[i] = m[i] = v[i] = g[i] = 1.0f; });
  }
  void run() {
    each([](float* w, float* m, float* v, const float* g, std::ptrdiff_t i) {
      m[i] = 0.9f * m[i] + g[i];
      v[i] = 0.9f * v[i] + g[i];
      w[i] = w[i] + m[i] * v[i];
    });
  }
  double bytes() const { return 28.0 * static_cast<double>(count_); }

 private:
  void each(const auto& body) {
    float *w = arrays_[0].get(), *m = arrays_[1].get(), *v = arrays_[2].get(), *g = arrays_[3].get();
#pragma omp parallel for simd schedule(static) num_threads(threads_)
    for (std::ptrdiff_t i = 0; i < count_; ++i) body(w, m, v, g, i);
  }

  std::ptrdiff_t count_;
  int threads_;
  std::unique_ptr<float[]> arrays_[4];
};

}  // namespace

int main(int argc, char** argv) {
  if (baleen::bench::helped(argc, argv, kHelp)) return 0;
  const int threads = argc > 1 ? std::atoi(argv[1]) : omp_get_max_threads();
  if (threads < 1 || argc > 2) return baleen::bench::misused(kHelp);
  constexpr int kRuns = 7;
  constexpr std::ptrdiff_t kElements = 32'000'000;
  double fma = 0, bandwidth = 0;
  Words words(kElements, threads);
  for (int i = 0; i < kRuns; ++i) {
    fma = std::max(fma, baleen::bench::fma_work(threads) / seconds_of([&] { baleen::bench::fma_run(threads); }));
    bandwidth = std::max(bandwidth, words.bytes() / seconds_of([&] { words.run(); }));
  }
  std::printf("{\"threads\": %d, \"fma_gflops\": %.1f, \"seven_words_gbs\": %.2f}\n", threads, fma / 1e9,
              bandwidth / 1e9);
}
