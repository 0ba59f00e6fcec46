/// \file Ranks of ucx with options.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "conformance/transport/exchange.hpp"
#include "conformance/transport/suite.hpp"

namespace baleen::conformance {

inline const test::TransportPlugin& ucx_plugin() {
  static const test::TransportPlugin plugin(test::built_plugin("transport", "ucx"));
  return plugin;
}

/// Ranks as processes; what went wrong, or empty.
inline std::string run_ucx(std::int32_t ranks, const test::RankOptions& options,
                           const std::function<void(Rank&)>& body) {
  return test::run_ranks(ucx_plugin(), As::kProcesses, ranks, body, options);
}

/// The sum of one buffer, 1 + 1 + ..., in place.
inline void expect_sum(Rank& rank, void* world, float* data, std::uint64_t count) {
  std::fill_n(data, count, 1.0F);
  const baleen_collective_entry_t entry{data, data, count, 0, nullptr, nullptr};
  const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry, 1, nullptr, 1,
                                      0,           abi("a.lua:1")};
  rank.run(rank.prepare(world, spec));
  const auto wanted = static_cast<float>(rank.ranks);
  expect(std::all_of(data, data + count, [&](float found) { return found == wanted; }), "another sum");
}

inline void expect_sum(Rank& rank, void* world, std::uint64_t count) {
  std::vector<float> data(count);
  expect_sum(rank, world, data.data(), count);
}

}  // namespace baleen::conformance
