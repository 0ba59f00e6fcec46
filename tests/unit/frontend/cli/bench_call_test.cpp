/// \file What `baleen bench transport` expects of a collective: right results pass, each kind of damage is counted.
#include "frontend/cli/bench_call.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "frontend/cli/transport_bench.hpp"

namespace baleen::app {
namespace {

/// All members of one collective with their buffers, in this process.
struct Members {
  Members(const char* name, std::uint64_t count, std::uint64_t bytes) {
    for (std::uint64_t place = 0; place < count; ++place) {
      auto& a = inputs.emplace_back(std::make_unique<float[]>(bytes + 64));
      auto& b = outputs.emplace_back(std::make_unique<float[]>(bytes + 64));
      calls.emplace_back(*find_bench_kind(name), place, count, bytes, a.get(), b.get());
      calls.back().fill();
    }
  }
  std::uint64_t wrong() const {
    std::uint64_t all = 0;
    for (const BenchCall& call : calls) all += call.wrong();
    return all;
  }

  std::vector<std::unique_ptr<float[]>> inputs, outputs;
  std::vector<BenchCall> calls;
};

void sum_up(Members& members, std::uint64_t count) {
  for (std::uint64_t at = 0; at < count; ++at) {
    float sum = 0;
    for (const auto& input : members.inputs) sum += input[at];
    for (const auto& input : members.inputs) input[at] = sum;
  }
}

void exchange(Members& members) {
  for (BenchCall& to : members.calls) {
    float* out = to.output;
    for (const BenchCall& from : members.calls) {
      const float* in = from.input;
      for (std::uint64_t other = 0; other < to.place; ++other) in += from.sends[other];
      std::memcpy(out, in, from.sends[to.place] * sizeof(float));
      out += from.sends[to.place];
    }
  }
}

TEST(BenchCall, KnowsSums) {
  for (const char* name : {"all_reduce", "reduce", "reduce_scatter"})
    for (const std::uint64_t count : {2u, 3u, 5u}) {
      Members members(name, count, 100);
      EXPECT_GT(members.wrong(), 0u) << name << ": nothing was summed";
      sum_up(members, members.calls.front().count);
      EXPECT_EQ(members.wrong(), 0u) << name << " of " << count;
      members.inputs[0][members.calls.front().block - 1] += 1;
      EXPECT_EQ(members.wrong(), 1u) << name << " of " << count;
    }
}

TEST(BenchCall, KnowsExchanges) {
  for (const char* name : {"all_to_all", "all_to_all_v", "gather", "scatter"})
    for (const std::uint64_t count : {2u, 3u, 5u}) {
      Members members(name, count, 100);
      EXPECT_GT(members.wrong(), 0u) << name << ": nothing was exchanged";
      exchange(members);
      EXPECT_EQ(members.wrong(), 0u) << name << " of " << count;
      members.outputs[0][0] += 1;
      EXPECT_EQ(members.wrong(), 1u) << name << " of " << count;
    }
}

TEST(BenchCall, SendsAsMuchAsItSays) {
  for (const char* name : {"all_to_all", "all_to_all_v", "gather", "scatter"}) {
    const Members members(name, 4, 4096);
    for (const BenchCall& one : members.calls) {
      std::uint64_t sent = 0, received = 0;
      for (std::uint64_t other = 0; other < 4; ++other) {
        EXPECT_EQ(one.sends[other], members.calls[other].receives[one.place]) << name;
        sent += one.sends[other];
        received += one.receives[other];
      }
      EXPECT_LE(std::max(sent, received), one.most()) << name;
    }
  }
  EXPECT_NE(Members("all_to_all_v", 2, 4096).calls[0].sends[0], Members("all_to_all_v", 2, 4096).calls[0].sends[1]);
}

TEST(BenchCall, LeavesNothingEmpty) {
  for (const BenchKind& kind : kBenchKinds) {
    const BenchCall call(kind, 0, 8, 4, nullptr, nullptr);
    EXPECT_GE(call.most(), kind.shape == BenchShape::nothing ? 0u : 1u) << kind.name;
  }
  EXPECT_EQ(find_bench_kind("allreduce"), nullptr);
}

TEST(BenchPoint, HasTheLoadOfABus) {
  BenchPoint point{"all_reduce", "data", 4, 1000, 1e-3};
  EXPECT_DOUBLE_EQ(point.algorithm_bandwidth(), 1e6);
  EXPECT_DOUBLE_EQ(point.bus_bandwidth(), 1.5e6);
  point.collective = "all_gather";
  EXPECT_DOUBLE_EQ(point.bus_bandwidth(), 0.75e6);
  point.collective = "broadcast";
  EXPECT_DOUBLE_EQ(point.bus_bandwidth(), 1e6);
}

}  // namespace
}  // namespace baleen::app
