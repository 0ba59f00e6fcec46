/// \file AdamW's update alone over the parameters of GPT-2 124M, against the bound: 28 bytes per parameter (four words
/// read, three written), 26 with gradients of 16 bits, at the bandwidth of a loop over seven words measured beside it.
/// Both in turn; prints one JSON object with the medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "baleen/dtype.hpp"
#include "baleen/expression.h"
#include "bench.hpp"
#include "bench/help.hpp"

namespace baleen::bench {
namespace {

constexpr std::int64_t kWidth = 768, kVocabulary = 50257, kPositions = 1024, kLayers = 12;

constexpr const char* kHelp =
    "Measures AdamW's update of GPT-2's 124M parameters against the bandwidth of a loop over seven words, in turn.\n"
    "Usage: bench_adamw PLUGIN.so [threads=2] [rounds=9] [fp32|bf16|fp16]\n"
    "PLUGIN.so is a built compute plugin, such as build/release/lib/baleen/plugins/baleen_compute_cpu.so.\n"
    "The last word is the gradients' type. Prints one JSON object with the medians.\n";

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Matrices as the model has them; the vectors, a thousandth of the parameters, are left out.
std::vector<Shape> shapes() {
  std::vector<Shape> all{{kVocabulary, kWidth}, {kPositions, kWidth}};
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    for (const Shape& s :
         {Shape{kWidth, 3, 12, 64}, Shape{12, 64, kWidth}, Shape{kWidth, 4 * kWidth}, Shape{4 * kWidth, kWidth}})
      all.push_back(s);
  return all;
}

/// What the optimizer plugin builds and the plan fuses: gradient, clip, m, v, parameter, what decay keeps, the second
/// moment's correction, rate; results m, v, parameter.
OpSpec adamw() {
  std::vector<baleen_instruction_t> code;
  const auto put = [&](std::uint32_t opcode, std::uint32_t a = 0, std::uint32_t b = 0, double number = 0) {
    code.push_back({opcode, a, b, 0, number});
    return static_cast<std::uint32_t>(code.size() - 1);
  };
  const auto input = [&](std::uint32_t i) { return put(BALEEN_X_INPUT, i); };
  const auto number = [&](double x) { return put(BALEEN_X_CONSTANT, 0, 0, x); };
  const auto mul = [&](std::uint32_t a, std::uint32_t b) { return put(BALEEN_X_MUL, a, b); };
  const auto add = [&](std::uint32_t a, std::uint32_t b) { return put(BALEEN_X_ADD, a, b); };
  const auto div = [&](std::uint32_t a, std::uint32_t b) { return put(BALEEN_X_DIV, a, b); };
  const std::uint32_t g = mul(input(0), input(1));
  const std::uint32_t m = add(mul(number(0.9), input(2)), mul(number(0.1), g));
  const std::uint32_t v = add(mul(number(0.999), input(3)), mul(number(0.001), mul(g, g)));
  const std::uint32_t root = div(put(BALEEN_X_SQRT, v), input(6));
  const std::uint32_t step = mul(input(7), div(m, add(root, number(1e-8))));
  const std::uint32_t w = put(BALEEN_X_SUB, mul(input(4), input(5)), step);
  return OpSpec("pointwise").expression(std::move(code), {m, v, w});
}

struct Update {
  std::vector<std::unique_ptr<Bench>> parts;
  double parameters = 0;

  Update(Device& device, baleen_dtype_t gradients) {
    for (const Shape& s : shapes()) {
      const Operand g{s, false, {}, gradients}, x{s}, one{Shape(s.size(), 1)};
      parts.push_back(std::make_unique<Bench>(device, adamw(), std::vector<Operand>{g, one, x, x, x, one, one, one},
                                              std::vector<Operand>{x, x, x}));
      double count = 1;
      for (const std::int64_t extent : s) count *= static_cast<double>(extent);
      parameters += count;
    }
  }
  void run() {
    for (const auto& part : parts) part->run();
  }
};

int run(int argc, char** argv) {
  if (helped(argc, argv, kHelp)) return 0;
  const std::string_view word = argc > 4 ? argv[4] : "fp32";
  const baleen_dtype_t gradients = word == "bf16" ? BALEEN_BF16 : word == "fp16" ? BALEEN_F16 : BALEEN_F32;
  if (argc < 2 || word != dtype_name(gradients)) return misused(kHelp);
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2, rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  Plugin plugin(argv[1]);
  Device device(plugin, {{"threads", threads}});
  const auto* peak = static_cast<const baleen_peak_t*>(device.table().query(device.get(), abi(BALEEN_DEVICE_PEAK)));
  if (!peak) {
    std::fprintf(stderr, "%s does not measure its own bandwidth\n", argv[1]);
    return 1;
  }
  Update update(device, gradients);
  const double bytes = 24 + static_cast<double>(dtype_size(gradients));
  update.run();
  std::vector<double> milliseconds, bandwidths, shares;
  for (int round = 0; round < rounds; ++round) {
    double flops = 0, bandwidth = 0;
    if (peak->measure(device.get(), &flops, &bandwidth) != BALEEN_OK) return 1;
    const double seconds = seconds_of([&] { update.run(); });
    milliseconds.push_back(seconds * 1e3);
    bandwidths.push_back(bandwidth * 1e-9);
    shares.push_back(bytes * update.parameters / seconds / bandwidth);
  }
  std::printf(
      "{\"gradients\": \"%s\", \"threads\": %d, \"parameters\": %.0f, \"ms\": %.1f, \"seven_words_gbs\": %.1f, "
      "\"of_bound\": %.3f}\n",
      std::string(dtype_name(gradients)).c_str(), threads, update.parameters, median(milliseconds), median(bandwidths),
      median(shares));
  return 0;
}

}  // namespace
}  // namespace baleen::bench

int main(int argc, char** argv) {
  return baleen::bench::guarded([&] { return baleen::bench::run(argc, argv); });
}
