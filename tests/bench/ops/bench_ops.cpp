/// \file Rates of the ops of one GPT step (6 layers, 384 wide, 6 heads, context 256, batch 8, 65 symbols): the best of
/// some runs, as GFLOP/s, as a fraction of the multiply-add peak measured beside it, and as memory touched per second.
/// Time is the processor's, spread over the threads, so that a busy machine disturbs little; with `wall`, it is the
/// clock's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>

#include "baleen/expression.h"
#include "bench.hpp"
#include "bench/help.hpp"
#include "fma_peak.hpp"

namespace baleen::bench {
namespace {

constexpr const char* kHelp =
    "Measures each op of one step of a small GPT (and some of GPT-2's) against the multiply-add peak beside it.\n"
    "Usage: bench_ops PLUGIN.so [threads=2] [cpu|wall] [name] [fp32|bf16|fp16]\n"
    "PLUGIN.so is a built compute plugin, such as build/release/lib/baleen/plugins/baleen_compute_cpu.so.\n"
    "cpu: the processor's time, spread over the threads, which a busy machine disturbs little; wall: the clock's.\n"
    "name: only ops whose names have it as a part; \"\" for all. Prints a line per op: the fastest of 20.\n";

double now(bool wall) {
  timespec t{};
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// What is measured: the clock, or the processor's time per thread.
struct Clock {
  bool wall = false;
  int threads = 1;
  template <class Body>
  double seconds(const Body& body) const {
    const double start = now(wall);
    body();
    return (now(wall) - start) / (wall ? 1 : threads);
  }
};

struct Row {
  std::string name;
  int times;  // per step
  OpSpec op;
  std::vector<Operand> inputs, outputs;
};

OpSpec matmul(const char* spec) { return OpSpec("matmul").text("spec", spec); }

baleen_instruction_t f(std::uint32_t opcode, std::uint32_t a, std::uint32_t b = 0) { return {opcode, a, b, 0, 0}; }
baleen_instruction_t number(double x) { return {BALEEN_X_CONSTANT, 0, 0, 0, x}; }

OpSpec adamw() {
  return OpSpec("pointwise")
      .expression({f(BALEEN_X_INPUT, 0),
                   f(BALEEN_X_INPUT, 1),
                   f(BALEEN_X_INPUT, 2),
                   f(BALEEN_X_INPUT, 3),
                   number(0.9),
                   number(0.1),
                   f(BALEEN_X_MUL, 1, 4),
                   f(BALEEN_X_MUL, 3, 5),
                   f(BALEEN_X_ADD, 6, 7),
                   number(0.999),
                   number(0.001),
                   f(BALEEN_X_MUL, 2, 9),
                   f(BALEEN_X_MUL, 3, 3),
                   f(BALEEN_X_MUL, 12, 10),
                   f(BALEEN_X_ADD, 11, 13),
                   f(BALEEN_X_SQRT, 14),
                   number(1e-8),
                   f(BALEEN_X_ADD, 15, 16),
                   f(BALEEN_X_DIV, 8, 17),
                   number(1e-3),
                   f(BALEEN_X_MUL, 18, 19),
                   f(BALEEN_X_MUL, 0, 19),
                   f(BALEEN_X_SUB, 0, 21),
                   f(BALEEN_X_SUB, 22, 20)},
                  {23, 8, 14});
}

// The twelve products of a block `width` wide: of the small GPT, counted, or of GPT-2 beside them.
std::vector<Row> products(const Shape& tokens, std::int64_t width, int times) {
  const std::int64_t b = tokens[0], s = tokens[1], d = width, h = width / 64, f = 4 * width;
  const Operand x{{b, s, d}}, qkv{{b, s, 3, h, 64}}, o{{b, s, h, 64}}, up{{b, s, f}};
  const Operand wqkv{{d, 3, h, 64}}, wo{{h, 64, d}}, wup{{d, f}}, wdown{{f, d}};
  return {{"qkv", times, matmul("bsd,dche->bsche"), {x, wqkv}, {qkv}},
          {"qkv dx", times, matmul("bsche,dche->bsd"), {qkv, wqkv}, {x}},
          {"qkv dw", times, matmul("bsd,bsche->dche"), {x, qkv}, {wqkv}},
          {"out", times, matmul("bshe,hed->bsd"), {o, wo}, {x}},
          {"out dx", times, matmul("bsd,hed->bshe"), {x, wo}, {o}},
          {"out dw", times, matmul("bshe,bsd->hed"), {o, x}, {wo}},
          {"up", times, matmul("bsd,df->bsf"), {x, wup}, {up}},
          {"up dx", times, matmul("bsf,df->bsd"), {up, wup}, {x}},
          {"up dw", times, matmul("bsd,bsf->df"), {x, up}, {wup}},
          {"down", times, matmul("bsf,fd->bsd"), {up, wdown}, {x}},
          {"down dx", times, matmul("bsd,fd->bsf"), {x, wdown}, {up}},
          {"down dw", times, matmul("bsf,bsd->fd"), {up, x}, {wdown}}};
}

std::vector<Row> products() {
  std::vector<Row> all = products({8, 256}, 384, 6);
  all.push_back({"[2048,128]x[128,512]", 0, matmul("mk,kn->mn"), {{{2048, 128}}, {{128, 512}}}, {{{2048, 512}}}});
  for (Row& row : products({4, 256}, 768, 0)) {
    row.name = "gpt2 " + row.name;
    all.push_back(std::move(row));
  }
  return all;
}

std::vector<Row> attentions() {
  const Shape part{256 * 1152, 1152, 64, 1};
  const Operand view{{8, 256, 6, 64}, false, part}, o{{8, 256, 6, 64}}, lse{{8, 6, 256}};
  const auto attention = [](const char* kind) { return OpSpec(kind).integer("causal", 1).number("scale", 0.125); };
  std::vector<Row> out{
      {"attention", 6, attention("attention"), {view, view, view}, {o, lse}},
      {"attention grad", 6, attention("attention_grad"), {view, view, view, o, lse, o}, {view, view, view}}};
  static const char* const names[] = {"attention 128x32", "attention 128x32 grad", "attention 1024x64",
                                      "attention 1024x64 grad"};
  int i = 0;
  for (const auto& [s, e] : {std::pair<std::int64_t, std::int64_t>{128, 32}, {1024, 64}}) {
    const Operand q{{4, s, 4, e}}, l{{4, 4, s}};
    out.push_back({names[i++], 0, attention("attention"), {q, q, q}, {q, l}});
    out.push_back({names[i++], 0, attention("attention_grad"), {q, q, q, q, l, q}, {q, q, q}});
  }
  return out;
}

std::vector<Row> others() {
  const Operand x{{8, 256, 384}}, up{{8, 256, 1536}}, d{{384}}, row{{8, 256}}, bias{{1, 1, 1536}}, ids{{8, 256}, true};
  const Operand all{{10700000}}, w{{384, 65}};
  const auto in = [](std::uint32_t i) { return f(BALEEN_X_INPUT, i); };
  const auto norm = [](const char* kind) {
    return OpSpec(kind).text("kind", "layer").number("epsilon", 1e-5).integer("bias", 1);
  };
  return {
      {"norm", 13, norm("norm"), {x, d, d}, {x, row, row}},
      {"norm grad", 13, norm("norm_grad"), {x, d, x, row, row}, {x, d, d}},
      {"bias + gelu",
       6,
       OpSpec("pointwise").expression({in(0), in(1), f(BALEEN_X_ADD, 0, 1), f(BALEEN_X_GELU, 2)}, {2, 3}),
       {up, bias},
       {up, up}},
      {"gelu grad",
       6,
       OpSpec("pointwise").expression({in(0), in(1), f(BALEEN_X_GELU_GRAD, 0), f(BALEEN_X_MUL, 1, 2)}, {3}),
       {up, up},
       {up}},
      {"gelu tanh", 0, OpSpec("pointwise").expression({in(0), f(BALEEN_X_GELU_TANH, 0)}, {1}), {up}, {up}},
      {"add", 24, OpSpec("pointwise").expression({in(0), in(1), f(BALEEN_X_ADD, 0, 1)}, {2}), {x, x}, {x}},
      {"dropout",
       0,
       OpSpec("pointwise")
           .expression({in(0), f(BALEEN_X_UNIFORM, 1), number(0.1), f(BALEEN_X_LT, 2, 1), f(BALEEN_X_MUL, 0, 3)}, {4}),
       {x},
       {x}},
      {"bias grad 1536", 6, OpSpec("reduce").integers("dims", {0, 1}).text("kind", "sum"), {up}, {{{1536}}}},
      {"bias grad 384", 12, OpSpec("reduce").integers("dims", {0, 1}).text("kind", "sum"), {x}, {d}},
      {"sum of squares", 1, OpSpec("reduce").integers("dims", {0}).text("kind", "sum"), {all}, {{{}}}},
      {"adamw", 1, adamw(), {all, all, all, all}, {all, all, all}},
      {"embedding", 1, OpSpec("embedding"), {{{65, 384}}, ids}, {x}},
      {"embedding grad", 1, OpSpec("embedding_grad").integer("rows", 65), {ids, x}, {{{65, 384}}}},
      {"loss", 1, OpSpec("linear_cross_entropy").integer("transposed", 0), {x, w, ids}, {row, row}},
      {"loss grad", 1, OpSpec("linear_cross_entropy_grad").integer("transposed", 0), {x, w, ids, row, row}, {x, w}},
      {"transpose", 0, OpSpec("transpose").integers("permutation", {1, 0}), {{{2048, 384}}}, {{{384, 2048}}}}};
}

// What is asked for on the command line.
struct Wish {
  Clock clock;
  std::string only;  // part of the rows' names
  baleen_dtype_t dtype = BALEEN_F32;
};

void print(Device& device, const std::vector<Row>& rows, const Wish& wish, double& total) {
  const Clock& clock = wish.clock;
  for (const Row& row : rows) {
    if (row.name.find(wish.only) == std::string::npos) continue;
    Bench bench(device, row.op, row.inputs, row.outputs, wish.dtype);
    double best = 1e9, peak = 0;
    bench.run();
    for (int i = 0; i < 20; ++i) {
      best = std::min(best, clock.seconds([&] { bench.run(); }));
      if (i % 7 == 0)
        peak = std::max(peak, 1e-9 * fma_work(clock.threads) / clock.seconds([&] { fma_run(clock.threads); }));
    }
    total += best * row.times;
    std::printf("%-22s %8.3f ms  %7.1f GFLOP/s  %5.2f of peak  %6.1f GB/s\n", row.name.c_str(), best * 1e3,
                bench.flops() / best * 1e-9, bench.flops() / best * 1e-9 / peak, bench.bytes() / best * 1e-9);
  }
}

int run(int argc, char** argv) {
  if (helped(argc, argv, kHelp)) return 0;
  const std::map<std::string, baleen_dtype_t> dtypes{{"fp32", BALEEN_F32}, {"bf16", BALEEN_BF16}, {"fp16", BALEEN_F16}};
  const auto dtype = dtypes.find(argc > 5 ? argv[5] : "fp32");
  if (argc < 2 || dtype == dtypes.end()) return misused(kHelp);
  const Clock clock{argc > 3 && std::strcmp(argv[3], "wall") == 0, argc > 2 ? std::atoi(argv[2]) : 2};
  const Wish wish{clock, argc > 4 ? argv[4] : "", dtype->second};
  Plugin plugin(argv[1]);
  Device device(plugin, {{"threads", clock.threads}});
  double total = 0;
  for (const auto& rows : {products(), attentions(), others()}) print(device, rows, wish, total);
  std::printf("all ops of one step: %.1f ms\n", total * 1e3);
  return 0;
}

}  // namespace
}  // namespace baleen::bench

int main(int argc, char** argv) {
  return baleen::bench::guarded([&] { return baleen::bench::run(argc, argv); });
}
