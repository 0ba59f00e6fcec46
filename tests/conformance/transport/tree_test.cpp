/// \file Sums do not depend on how the list is cut, where an element stands, or which transport adds.
#include <cstring>
#include <random>

#include "suite.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

class Tree : public TransportSuite {};

// The same elements as one buffer, and cut at random: equal bits.
TEST_P(Tree, CutsOfTheListChangeNoBit) {
  const std::uint64_t seed = test::seed();
  run(5, [&](Rank& rank) {
    void* world = rank.world();
    constexpr std::uint64_t kCount = 50'000;
    auto* arena = reinterpret_cast<float*>(arena_of(rank, 2 * kCount * sizeof(float)));
    Case c{BALEEN_ALL_REDUCE, BALEEN_F32, BALEEN_SUM, 5, 0, {{kCount}}, {}, seed};
    const Bytes input = input_of(c, 0, static_cast<std::size_t>(rank.rank)), expected = expected_of(c, 0, 0);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 8; ++round) {
      std::vector<float> own(kCount);
      float* data = round % 2 ? own.data() : arena;
      std::vector<baleen_collective_entry_t> entries;
      for (std::uint64_t at = 0; at < kCount;) {
        const std::uint64_t size = round < 2 ? kCount : std::min(kCount - at, 1 + random() % 9'000);
        entries.push_back({data + at, data + at, size, 0, nullptr, nullptr});
        at += size;
      }
      std::memcpy(data, input.data(), input.size());
      const baleen_collective_spec_t spec{sizeof spec,    BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, entries.data(),
                                          entries.size(), nullptr,           1,          0,          {}};
      rank.run(rank.prepare(world, spec));
      expect(std::memcmp(data, expected.data(), expected.size()) == 0,
             "another sum in round " + std::to_string(round) + ", seed " + std::to_string(seed));
    }
  });
}

// (2^24 + 1) + (1 + 1) rounds otherwise than any other order of these four; five values: (three) and (two).
TEST_P(Tree, IsBalancedOverTheRanks) {
  for (const std::int32_t ranks : {4, 5}) {
    run(ranks, [](Rank& rank) {
      void* world = rank.world();
      const float values[] = {16'777'216.0f, 1, 1, 1, 1};
      const float expected = rank.ranks == 4 ? (values[0] + values[1]) + (values[2] + values[3])
                                             : ((values[0] + values[1]) + values[2]) + (values[3] + values[4]);
      for (const std::uint64_t count : {1ull, 4'000ull}) {
        std::vector<float> data(count, values[rank.rank]);
        const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
        const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry,
                                            1,           nullptr,           1,          0,          {}};
        rank.run(rank.prepare(world, spec));
        expect(data == std::vector<float>(count, expected), "the tree gives " + std::to_string(expected));
      }
    });
  }
}

BALEEN_TRANSPORT_SUITE(Tree);

}  // namespace
}  // namespace baleen::conformance
