/// \file More than 2^31 bytes, in place.
#include "suite.hpp"

namespace baleen::conformance {
namespace {

class Large : public TransportSuite {};

TEST_P(Large, TwoGibibytesAndOneInPlace) {
  run(2, [](Rank& rank) {
    constexpr std::uint64_t kCount = (std::uint64_t{1} << 31) + 1;
    void* world = rank.world();
    auto* data = static_cast<std::uint8_t*>(rank.allocate(kCount));
    const auto value = [](std::uint64_t i, std::int32_t of) {
      return static_cast<std::uint8_t>(i * 37 + (i >> 29) + static_cast<std::uint64_t>(of) * 101);
    };
    for (std::uint64_t i = 0; i < kCount; ++i) data[i] = value(i, rank.rank);
    const baleen_collective_entry_t entry{data, data, kCount, 0, nullptr, nullptr};
    const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_U8, 0, &entry,
                                        1,           nullptr,           1,          0,         {}};
    rank.run(rank.prepare(world, spec));
    for (std::uint64_t i = 0; i < kCount; ++i)
      if (data[i] != static_cast<std::uint8_t>(value(i, 0) + value(i, 1)))
        throw std::runtime_error("wrong at byte " + std::to_string(i));
  });
}

BALEEN_TRANSPORT_SUITE(Large);

}  // namespace
}  // namespace baleen::conformance
