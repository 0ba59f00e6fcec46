/// \file The transport nccl on the double, and collectives in the memory of devices.
#pragma once
#include <gtest/gtest.h>

#include "baleen/collective.hpp"
#include "conformance/transport/suite.hpp"

namespace baleen::conformance {

/// Without devices: those that a test hands over itself, or none.
inline test::TransportPlugin& bare_nccl() {
  static test::TransportPlugin plugin(test::built_plugin("transport", "nccl"));
  return plugin;
}

/// Each rank has a device of its own.
inline test::TransportPlugin& nccl() {
  static test::TransportPlugin& plugin = *[] {
    setenv("EMULATED_CUDA_DEVICES", "16", 1);
    auto* made = new test::TransportPlugin(test::built_plugin("transport", "nccl"));
    test::hand_over_devices(*made);
    return made;
  }();
  return plugin;
}

inline std::string run_nccl(std::int32_t ranks, const std::function<void(Rank&)>& body, test::RankOptions more = {}) {
  test::RankOptions options = test::double_of_nccl();
  options.insert(options.end(), more.begin(), more.end());
  return test::run_ranks(nccl(), As::kProcesses, ranks, body, options);
}

/// What a test that expects a failure of `create` gets.
inline std::string refusal(const test::RankOptions& options, std::int32_t ranks = 1) {
  return test::run_ranks(
      bare_nccl(), As::kProcesses, ranks, [](Rank&) {}, options);
}

inline baleen_collective_spec_t barrier_spec() {
  return {sizeof(baleen_collective_spec_t), BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, abi("the end")};
}

/// A collective of one buffer of fp32, everywhere in place where that may be; lists live as long as this.
struct OneBuffer {
  baleen_collective_entry_t entry{};
  std::vector<std::uint64_t> pieces;
  std::vector<std::int32_t> destinations;
  baleen_collective_spec_t spec{};

  OneBuffer(baleen_collective_t op, float* in, float* out, std::uint64_t count, const Rank& rank) {
    const auto members = static_cast<std::uint64_t>(rank.ranks), place = static_cast<std::uint64_t>(rank.rank);
    entry = {in, out, count, 0, nullptr, nullptr};
    if (op == BALEEN_REDUCE_SCATTER || op == BALEEN_ALL_GATHER) entry.block = count / members;
    if (op == BALEEN_REDUCE_SCATTER) entry.output = in + place * entry.block;
    if (op == BALEEN_ALL_GATHER) entry.input = out + place * entry.block;
    if (op == BALEEN_ALL_TO_ALL) {
      pieces.assign(members, count / members);
      entry.count = 0;
      entry.sends = entry.receives = pieces.data();
    }
    if (op == BALEEN_PERMUTE)
      for (std::uint64_t m = 0; m < members; ++m) destinations.push_back(static_cast<std::int32_t>((m + 1) % members));
    spec = {sizeof spec,
            op,
            is_reducing(op) ? BALEEN_SUM : 0,
            BALEEN_F32,
            0,
            &entry,
            1,
            destinations.empty() ? nullptr : destinations.data(),
            0,
            0,
            abi("train.lua:7")};
  }
  OneBuffer(const OneBuffer&) = delete;
};

}  // namespace baleen::conformance
