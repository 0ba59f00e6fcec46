/// \file How long an all_reduce of fp32 takes, in place, one after the other, each rank a process:
/// `bench_transport PLUGIN.so RANKS arena|private BYTES...` prints "bytes microseconds" per size, the median of
/// samples.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/help.hpp"
#include "support/ranks.hpp"

namespace baleen::bench {
namespace {

using test::Rank;

constexpr const char* kHelp =
    "Measures how long an all_reduce of fp32 takes, in place, one after the other, each rank a process.\n"
    "Usage: bench_transport PLUGIN.so RANKS arena|private BYTES...\n"
    "PLUGIN.so is a built transport, such as build/release/lib/baleen/plugins/baleen_transport_shm.so. arena: on "
    "memory of\n"
    "the transport's; private: on other memory. Prints \"bytes microseconds\" per size, the median of samples.\n";

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Samples and operations per sample: the same in transport_mpi.c and transport_gloo.py.
int operations(std::uint64_t bytes) { return bytes <= 65536 ? 200 : bytes <= (4u << 20) ? 20 : 3; }
constexpr int kSamples = 15;

// A core for each rank where there are enough, as mpirun does.
void pin(std::int32_t rank, std::int32_t ranks) {
  if (ranks > static_cast<std::int32_t>(std::thread::hardware_concurrency())) return;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<std::size_t>(rank), &core);
  sched_setaffinity(0, sizeof core, &core);
}

void measure(Rank& rank, void* world, std::uint64_t bytes, bool arena) {
  std::vector<float> own(arena ? 0 : bytes / 4);
  auto* data = arena ? static_cast<float*>(rank.allocate(bytes)) : own.data();
  const baleen_collective_entry_t entry{data, data, bytes / 4, 0, nullptr, nullptr};
  const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry,
                                      1,           nullptr,           1,          0,          {}};
  void* slot = rank.prepare(world, spec);
  std::vector<double> samples;
  baleen_event_t done{};
  std::uint64_t value = 0;
  for (int sample = -2; sample < kSamples; ++sample) {
    const double begin = now();
    for (int i = 0; i < operations(bytes); ++i) {
      rank.start(slot, nullptr, 0, &done, ++value);
      rank.finish(done, value);
    }
    if (sample >= 0) samples.push_back((now() - begin) / operations(bytes));
  }
  std::sort(samples.begin(), samples.end());
  if (rank.rank == 0) std::printf("%llu %.3f\n", static_cast<unsigned long long>(bytes), samples[kSamples / 2] * 1e6);
  if (arena) rank.table.release(rank.get(), data);
}

int run(int count, char** words) {
  if (helped(count, words, kHelp)) return 0;
  if (count < 5) return misused(kHelp);
  const test::TransportPlugin plugin(words[1]);
  const bool arena = std::string(words[3]) == "arena";
  const std::int32_t ranks = std::atoi(words[2]);
  test::SharedRendezvous rendezvous;
  const std::string failures = test::run_bodies(test::As::kProcesses, ranks, [&](std::int32_t number) {
    pin(number, ranks);
    Rank rank(plugin, rendezvous, number, ranks);
    void* world = rank.world();
    for (int i = 4; i < count; ++i) measure(rank, world, std::strtoull(words[i], nullptr, 10), arena);
    std::fflush(stdout);
  });
  std::fprintf(stderr, "%s", failures.c_str());
  return failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace baleen::bench

int main(int count, char** words) {
  return baleen::bench::guarded([&] { return baleen::bench::run(count, words); });
}
