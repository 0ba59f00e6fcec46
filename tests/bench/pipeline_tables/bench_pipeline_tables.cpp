/// \file What each schedule's table lets hide of its transfers, by simulation: what `pipeline.py --share` is held
/// against.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/help.hpp"
#include "transfers.hpp"

namespace {

using namespace baleen::pipeline;

constexpr const char* kHelp =
    "Measures nothing: computes which part of a pipeline's transfers its tables let hide.\n"
    "Usage: bench_pipeline_tables [--ranks 2] [--micro-batches 8] [--times 1:1:1] [--json] SHARE...\n"
    "Per share of a step's time that the sends of the rank with the most take, and schedule: the part that a step "
    "does\n"
    "not grow by (1: all hides; below 0: transfers wait for each other) where a rank asks for everything at the\n"
    "beginning, with a link each way and with one for both; and where it asks an action ahead, as programs do, with "
    "one\n"
    "link. --times: forward, backward, gradients of weights.\n";

struct Options {
  std::uint32_t ranks = 2, micro_batches = 8;
  PassTimes times;
  bool json = false;
  std::vector<double> shares;
};

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&]() -> const char* { return i + 1 < argc ? argv[++i] : "0"; };
    if (word == "--ranks")
      options.ranks = static_cast<std::uint32_t>(std::atoi(next()));
    else if (word == "--micro-batches")
      options.micro_batches = static_cast<std::uint32_t>(std::atoi(next()));
    else if (word == "--times")
      std::sscanf(next(), "%lf:%lf:%lf", &options.times.forward, &options.times.backward, &options.times.weights);
    else if (word == "--json")
      options.json = true;
    else
      options.shares.push_back(std::atof(word.c_str()));
  }
  return options;
}

/// By share and schedule: the three parts.
int print(const Options& options) {
  const char* between = "";
  if (options.json) std::printf("[");
  for (const double share : options.shares)
    for (const auto& [name, kind] : kinds_by_name()) {
      const bool chunks = name == "interleaved" || name == "looped" || name == "zero_bubble_v";
      const auto table = make_table(kind, {options.ranks, options.micro_batches, chunks ? 2u : 1u});
      if (!table) continue;
      const auto step = time_table(*table, options.times);
      if (!step) continue;
      Transfers transfers{1, true, Transfers::Posted::at_once};
      const auto sends = static_cast<double>(most_sent(*table));
      transfers.time = share * step->makespan / sends;
      const auto free = hidden_share(*table, options.times, transfers);
      transfers.both_ways = false;
      const auto shared = hidden_share(*table, options.times, transfers);
      transfers.posted = Transfers::Posted::one_ahead;
      const auto program = hidden_share(*table, options.times, transfers);
      if (!free || !shared || !program) return 1;
      if (options.json)
        std::printf(
            "%s{\"schedule\": \"%s\", \"share\": %g, \"sends\": %g, \"both_ways\": %.4f, \"one_link\": %.4f, "
            "\"program\": %.4f}",
            between, name.c_str(), share, sends, *free, *shared, *program);
      else
        std::printf("share %-5g %-15s a link each way %6.3f, one link %6.3f, asked an action ahead %6.3f\n", share,
                    name.c_str(), *free, *shared, *program);
      between = ",\n ";
    }
  if (options.json) std::printf("]\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (baleen::bench::helped(argc, argv, kHelp)) return 0;
  return baleen::bench::guarded([&] {
    const Options options = read(argc, argv);
    if (options.shares.empty() || options.ranks == 0 || options.micro_batches == 0)
      return baleen::bench::misused(kHelp);
    return print(options);
  });
}
