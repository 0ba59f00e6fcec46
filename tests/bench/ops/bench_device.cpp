/// \file What a device's kernels reach: those that only move memory against a copy on the same device, measured beside
/// each; and a product of 8192 x 8192 in bf16. Sizes are beyond the caches; `shrink` divides them, and has each run
/// once, to try the program. Prints a line per kernel: name, a tab, and what was measured.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "baleen/expression.h"
#include "bench.hpp"
#include "bench/help.hpp"

namespace baleen::bench {
namespace {

constexpr const char* kHelp =
    "Measures single kernels of a device against a copy on it, and a product of 8192 x 8192 in bf16.\n"
    "Usage: bench_device PLUGIN.so [shrink=1]\n"
    "PLUGIN.so is a built compute plugin, such as build/release/lib/baleen/plugins/baleen_compute_cuda.so.\n"
    "Sizes are beyond the caches; `shrink` divides them, and has each run once, to try the program. Prints a line per\n"
    "kernel: name, a tab, and what was measured.\n";

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The fastest of some rounds, per time; the first of all is left out.
double fastest(std::int64_t shrink, const std::function<void(int)>& run) {
  const int rounds = shrink > 1 ? 1 : 5, times = shrink > 1 ? 1 : 10;
  run(1);
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) best = std::min(best, seconds_of([&] { run(times); }) / times);
  return best;
}

/// Bytes per second, read and written, of copying 1 GiB / shrink within the device.
double copy_speed(Device& device, std::int64_t shrink) {
  const baleen_compute_t& table = device.table();
  const std::uint64_t bytes = (std::uint64_t{1} << 30) / static_cast<std::uint64_t>(shrink);
  void* memory = nullptr;
  if (table.arena_create(device.get(), BALEEN_ARENA_PRIVATE, 2 * bytes, &memory) != BALEEN_OK) {
    std::fprintf(stderr, "%s\n", device.plugin().last_failure().c_str());
    std::exit(1);
  }
  const double seconds = fastest(shrink, [&](int times) {
    for (int i = 0; i < times; ++i)
      table.copy(device.get(), device.stream(), static_cast<char*>(memory) + bytes, memory, bytes);
    table.synchronize(device.get(), device.stream());
  });
  table.arena_destroy(device.get(), BALEEN_ARENA_PRIVATE, memory, 2 * bytes);
  return 2 * static_cast<double>(bytes) / seconds;
}

Operand of(baleen_dtype_t dtype, Shape shape) { return {std::move(shape), false, {}, dtype}; }
baleen_instruction_t in(std::uint32_t i) { return {BALEEN_X_INPUT, i, 0, 0, 0}; }
baleen_instruction_t f(std::uint32_t opcode, std::uint32_t a, std::uint32_t b = 0) { return {opcode, a, b, 0, 0}; }
baleen_instruction_t number(double x) { return {BALEEN_X_CONSTANT, 0, 0, 0, x}; }

/// Gradient, m, v, parameter; results m, v, parameter.
OpSpec adamw() {
  return OpSpec("pointwise")
      .expression({in(0),
                   in(1),
                   in(2),
                   in(3),
                   number(0.9),
                   number(0.1),
                   number(0.999),
                   number(0.001),
                   f(BALEEN_X_MUL, 1, 4),
                   f(BALEEN_X_MUL, 0, 5),
                   f(BALEEN_X_ADD, 8, 9),  // 10: m
                   f(BALEEN_X_MUL, 2, 6),
                   f(BALEEN_X_MUL, 0, 0),
                   f(BALEEN_X_MUL, 12, 7),
                   f(BALEEN_X_ADD, 11, 13),  // 14: v
                   f(BALEEN_X_SQRT, 14),
                   number(1e-8),
                   f(BALEEN_X_ADD, 15, 16),
                   f(BALEEN_X_DIV, 10, 17),
                   number(1e-3),
                   f(BALEEN_X_MUL, 18, 19),
                   f(BALEEN_X_SUB, 3, 20)},
                  {10, 14, 21});
}

struct Row {
  std::string name;
  OpSpec op;
  std::vector<Operand> inputs, outputs;
};

std::vector<Row> rows(std::int64_t shrink) {
  constexpr baleen_dtype_t kHalf = BALEEN_BF16, kSingle = BALEEN_F32;
  const std::int64_t count = std::max<std::int64_t>(16, 131072 / shrink), width = 768;
  const Shape x{count, width}, up{count, 4 * width}, bias{1, 4 * width};
  const Shape parameters{std::max<std::int64_t>(4096, (std::int64_t{1} << 27) / shrink)};
  const OpSpec gelu =
      OpSpec("pointwise").expression({in(0), in(1), f(BALEEN_X_ADD, 0, 1), f(BALEEN_X_GELU_TANH, 2)}, {3});
  const OpSpec sum = OpSpec("pointwise").expression({in(0), in(1), f(BALEEN_X_ADD, 0, 1)}, {2});
  const OpSpec cast = OpSpec("pointwise").expression({in(0)}, {0});
  const auto norm = [](const char* kind) {
    return OpSpec(kind).text("kind", "layer").number("epsilon", 1e-5).integer("bias", 1);
  };
  const auto forward = OpSpec("norm").text("kind", "layer").number("epsilon", 1e-5);
  std::vector<Row> all;
  for (const std::int64_t of_row : {768, 1280, 1600, 2048, 4096}) {
    const Shape rows{count, of_row}, vector{of_row}, per_row{count};
    const std::string text = ", bf16, rows of " + std::to_string(of_row);
    all.push_back({"norm" + text,
                   forward,
                   {of(kHalf, rows), of(kSingle, vector), of(kSingle, vector)},
                   {of(kHalf, rows), of(kSingle, per_row), of(kSingle, per_row)}});
    all.push_back({"norm_grad" + text,
                   norm("norm_grad"),
                   {of(kHalf, rows), of(kSingle, vector), of(kHalf, rows), of(kSingle, per_row), of(kSingle, per_row)},
                   {of(kHalf, rows), of(kSingle, vector), of(kSingle, vector)}});
  }
  for (Row row : std::vector<Row>{
           {"bias and GELU, bf16", gelu, {of(kHalf, up), of(kHalf, bias)}, {of(kHalf, up)}},
           {"residual sum, bf16", sum, {of(kHalf, x), of(kHalf, x)}, {of(kHalf, x)}},
           {"cast of parameters to bf16", cast, {of(kSingle, parameters)}, {of(kHalf, parameters)}},
           {"AdamW, fp32",
            adamw(),
            {of(kSingle, parameters), of(kSingle, parameters), of(kSingle, parameters), of(kSingle, parameters)},
            {of(kSingle, parameters), of(kSingle, parameters), of(kSingle, parameters)}},
           {"AdamW, gradient in bf16",
            adamw(),
            {of(kHalf, parameters), of(kSingle, parameters), of(kSingle, parameters), of(kSingle, parameters)},
            {of(kSingle, parameters), of(kSingle, parameters), of(kSingle, parameters)}},
       })
    all.push_back(std::move(row));
  return all;
}

void bandwidth(Device& device, std::int64_t shrink) {
  for (const Row& row : rows(shrink)) {
    const double copied = copy_speed(device, shrink);
    Bench bench(device, row.op, row.inputs, row.outputs);
    const double speed = bench.bytes() / fastest(shrink, [&](int times) { bench.run(times); });
    std::printf("%s\t%.0f GB/s, %.2f of a device copy\n", row.name.c_str(), speed / 1e9, speed / copied);
    std::fflush(stdout);
  }
}

void product(Device& device, std::int64_t shrink) {
  const std::int64_t n = std::max<std::int64_t>(64, 8192 / shrink);
  const Operand matrix = of(BALEEN_BF16, {n, n});
  Bench bench(device, OpSpec("matmul").text("spec", "mk,kn->mn"), {matrix, matrix}, {matrix});
  const double size = static_cast<double>(n);
  const double speed = 2 * size * size * size / fastest(shrink, [&](int times) { bench.run(times); });
  std::printf("product of %lld, bf16\t%.1f TFLOP/s\n", static_cast<long long>(n), speed / 1e12);
}

int run(int argc, char** argv) {
  if (helped(argc, argv, kHelp)) return 0;
  const long shrink = argc > 2 ? std::atol(argv[2]) : 1;
  if (argc < 2 || shrink < 1) return misused(kHelp);
  Plugin plugin(argv[1]);
  Device device(plugin, {});
  bandwidth(device, shrink);
  product(device, shrink);
  return 0;
}

}  // namespace
}  // namespace baleen::bench

int main(int argc, char** argv) {
  return baleen::bench::guarded([&] { return baleen::bench::run(argc, argv); });
}
