/// \file Random cases. A failure names the seed, which stands for all of a case.
#include <random>

#include "suite.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

class RandomCases : public TransportSuite {};

Case random_case(std::uint64_t seed, std::size_t members) {
  std::mt19937_64 random(seed);
  const baleen_collective_t op = kCollectives[random() % std::size(kCollectives)];
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = random() % 6; i-- > 0;) counts.push_back(random() % (std::uint64_t{1} << random() % 17));
  Case c = case_of(op, kDtypes[random() % std::size(kDtypes)], members, counts, seed);
  if (random() % 4 == 0) c.reduction = BALEEN_MAXIMUM;
  return c;
}

TEST_P(RandomCases, AreAsExpected) {
  const std::uint64_t first = test::seed() >> 1;  // and more, which must not wrap
  for (const std::int32_t ranks : {2, 3, 4, 7}) {
    run(ranks, [&](Rank& rank) {
      std::byte* arena = arena_of(rank, 16 << 20);
      void* world = rank.world();
      for (std::uint64_t seed = first; seed < first + 40; ++seed) {
        const Case c = random_case(seed, static_cast<std::size_t>(rank.ranks));
        run_case(rank, world, static_cast<std::size_t>(rank.rank), c, static_cast<Memory>(seed % 3), seed % 2 == 0,
                 arena);
      }
    });
  }
}

BALEEN_TRANSPORT_SUITE(RandomCases);

}  // namespace
}  // namespace baleen::conformance
