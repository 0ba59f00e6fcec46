/// \file Ranks of ucx, each with an emulated device of its own, on a UCX that knows such memory.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/transport/device_arena.hpp"

namespace baleen::conformance {

inline const test::TransportPlugin& bare_ucx() {
  static const test::TransportPlugin plugin(test::built_plugin("transport", "ucx"));
  return plugin;
}

/// Each rank has a device of its own.
inline test::TransportPlugin& ucx_on_devices() {
  static test::TransportPlugin& plugin = *[] {
    auto* made = new test::TransportPlugin(test::built_plugin("transport", "ucx"));
    test::hand_over_devices(*made);
    return made;
  }();
  return plugin;
}

/// What only moves bytes.
inline constexpr baleen_collective_t kMoving[] = {BALEEN_ALL_GATHER, BALEEN_BROADCAST, BALEEN_ALL_TO_ALL,
                                                  BALEEN_PERMUTE};

inline baleen_operations_t operations_of(const Rank& rank) {
  const auto& memory =
      *static_cast<const baleen_transport_memory_t*>(rank.table.query(nullptr, abi(BALEEN_TRANSPORT_MEMORY)));
  return memory.takes_operations(rank.get(), abi("cuda"));
}

/// Ranks as processes; what went wrong, or empty.
inline std::string run_devices(std::int32_t ranks, const std::function<void(Rank&)>& body,
                               const test::RankOptions& options = {}) {
  return test::run_ranks(ucx_on_devices(), As::kProcesses, ranks, body, options);
}

/// Bytes that tell ranks and runs apart.
inline Bytes numbered(std::int32_t rank, std::uint64_t run, std::uint64_t count) {
  Bytes bytes(count);
  for (std::uint64_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(rank) * 71 + run * 13 + i * 7 + i / 251);
  return bytes;
}

/// A collective of bytes; `entries` and what they point to stay.
inline baleen_collective_spec_t bytes_spec(baleen_collective_t op,
                                           const std::vector<baleen_collective_entry_t>& entries, std::int32_t root = 0,
                                           const std::int32_t* destinations = nullptr) {
  return {sizeof(baleen_collective_spec_t),
          op,
          0,
          BALEEN_U8,
          root,
          entries.data(),
          entries.size(),
          destinations,
          1,
          0,
          abi("a.lua:1")};
}

}  // namespace baleen::conformance
