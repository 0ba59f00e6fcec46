/// \file The parameters of the suite: every transport that was built, and hierarchies of two, with ranks as threads
/// and, where it joins any, as processes.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>

#include <string>
#include <vector>

#include "exchange.hpp"
#include "support/emulated_ranks.hpp"

namespace baleen::conformance {

using test::As;
using test::expect;
using test::expect_contains;
using test::Rank;

struct Member {
  std::string name, path;
  As as = As::kThreads;
  std::string variant = {};
  test::RankOptions options = {};  ///< of the variant
  std::string hosts = {};          ///< a letter per rank, the same for ranks of one host; empty: all are on one
  std::string text() const {
    return name + (variant.empty() ? "" : "_" + variant) + (as == As::kThreads ? "_threads" : "_processes");
  }
};
/// For GoogleTest, which would print bytes.
inline void PrintTo(const Member& member, std::ostream* out) { *out << member.text(); }

/// Those that join threads of one process only. Each must refuse processes in these words; all others must start.
inline constexpr const char* kThreadsOnly[] = {"loopback"};

inline bool joins_processes(const std::string& name) {
  return std::find(std::begin(kThreadsOnly), std::end(kThreadsOnly), name) == std::end(kThreadsOnly);
}

/// A transport that has several ways to move bytes is one member for each.
inline std::vector<std::pair<std::string, test::RankOptions>> variants(const std::string& name) {
  if (name == "nccl") return {{"", test::double_of_nccl()}};
  if (name != "ucx") return {{}};
  return {{"tcp", {{"tls", "tcp"}}},
          {"posix", {{"tls", "posix"}}},
          {"cma", {{"tls", "posix\ncma"}}},
          {"encrypted", {{"encrypt", "true"}}}};
}

/// What the option of a transport that is made of others says: a file, and the option `tls`.
inline std::string member_text(const std::string& name, const std::string& tls = {}) {
  return test::built_plugin("transport", name) + (tls.empty() ? "" : "\ntls=" + tls);
}

/// A transport of two on hosts that a letter per rank tells apart.
struct Hierarchy {
  std::string variant;
  As as;
  const char *inside, *inside_tls, *between, *between_tls, *hosts;
};

/// Those whose transports were built. Hosts in pairs, of different sizes, and with their ranks apart from each other.
inline void add_hierarchies(std::vector<Member>& all) {
  const Hierarchy kinds[] = {{"pairs", As::kThreads, "loopback", "", "loopback", "", "aabbccdd"},
                             {"uneven", As::kThreads, "loopback", "", "loopback", "", "abbcccdd"},
                             {"no_fuse", As::kThreads, "loopback", "", "loopback", "", "abababab"},
                             {"shm_tcp_pairs", As::kProcesses, "shm", "", "ucx", "tcp", "aabbccdd"},
                             {"shm_tcp_uneven", As::kProcesses, "shm", "", "ucx", "tcp", "abbbcccc"},
                             {"posix_tcp_halves", As::kProcesses, "ucx", "posix", "ucx", "tcp", "aaaabbbb"}};
  const std::vector<std::string> built = test::built_members("transport");
  const auto is_built = [&](const char* name) { return std::find(built.begin(), built.end(), name) != built.end(); };
  for (const Hierarchy& kind : kinds) {
    if (!is_built(kind.inside) || !is_built(kind.between)) continue;
    all.push_back({"hierarchy",
                   test::built_plugin("transport", "hierarchy"),
                   kind.as,
                   kind.variant,
                   {{"intra_host", member_text(kind.inside, kind.inside_tls)},
                    {"inter_host", member_text(kind.between, kind.between_tls)}},
                   kind.hosts});
  }
}

inline std::vector<Member> members() {
  std::vector<Member> all;
  for (const std::string& name : test::built_members("transport")) {
    if (name == "hierarchy") continue;               // it needs others: `add_hierarchies`
    if (name == "nccl" && !EMULATES_CUDA) continue;  // it needs devices
    for (const auto& [variant, options] : variants(name))
      for (const As as : {As::kThreads, As::kProcesses})
        if (as == As::kThreads ? variant != "cma" : joins_processes(name))  // cma reads the memory of other processes
          all.push_back({name, test::built_plugin("transport", name), as, variant, options});
  }
  return all;
}

inline std::vector<Member> members_and_hierarchies() {
  std::vector<Member> all = members();
  add_hierarchies(all);
  return all;
}

class TransportSuite : public testing::TestWithParam<Member> {
 protected:
  TransportSuite() {
    if (GetParam().name == "nccl") test::hand_over_devices(plugin);
  }
  // For the test of this suite (members_test.cpp): a transport that cannot start.
  void SetUp() override {
    if (!std::getenv("BALEEN_TEST_BROKEN_CREATE")) return;
    plugin.table.create = [](const baleen_host_t* host, const baleen_settings_t*, const baleen_rendezvous_t*,
                             baleen_transport_flags_t,
                             void**) { return host->fail(host->self, BALEEN_INTERNAL, abi("a broken create")); };
  }
  void run(std::int32_t ranks, const std::function<void(Rank&)>& body) {
    EXPECT_EQ(test::run_ranks(plugin, GetParam().as, ranks, body, GetParam().options, GetParam().hosts), "");
  }
  test::TransportPlugin plugin{GetParam().path};
};

#define BALEEN_TRANSPORT_SUITE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Members, Suite, testing::ValuesIn(members_and_hierarchies()), \
                           [](const auto& info) { return info.param.text(); })

inline constexpr baleen_dtype_t kDtypes[] = {BALEEN_F32, BALEEN_F64, BALEEN_F16, BALEEN_BF16,
                                             BALEEN_I32, BALEEN_I64, BALEEN_U8};

/// A case of `op` with buffers of these counts; blocks with short and empty tails, uneven pieces.
inline Case case_of(baleen_collective_t op, baleen_dtype_t dtype, std::size_t members,
                    const std::vector<std::uint64_t>& counts, std::uint64_t seed) {
  Case c{op, dtype, BALEEN_SUM, members, seed % members, {}, {}, seed};
  for (const std::uint64_t count : counts) {
    Buffer buffer{count};
    if (op == BALEEN_REDUCE_SCATTER || op == BALEEN_ALL_GATHER)
      buffer.block = (count + members - 1) / members + (count % 5 == 0 ? count / 7 : 0);
    if (op == BALEEN_ALL_TO_ALL) {
      const bool even = count % 2 == 0;
      buffer.block = even ? count : 0;
      buffer.count = even ? count * members : 0;
      for (std::size_t from = 0; from < members; ++from) {
        buffer.pieces.emplace_back();
        for (std::size_t to = 0; to < members; ++to)
          buffer.pieces.back().push_back(even ? count : count * ((from * 3 + to * 5 + seed) % 4) / 3);
      }
    }
    c.buffers.push_back(std::move(buffer));
  }
  if (op == BALEEN_PERMUTE)
    for (std::size_t from = 0; from < members; ++from) {
      const bool silent = seed % 3 == 1 && from == seed % members;
      c.destinations.push_back(silent ? -1 : static_cast<std::int32_t>((from + seed) % members));
    }
  return c;
}

inline constexpr baleen_collective_t kCollectives[] = {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER,
                                                       BALEEN_BROADCAST,  BALEEN_REDUCE,         BALEEN_ALL_TO_ALL,
                                                       BALEEN_PERMUTE};

/// An arena for cases of up to so many bytes; zeroed, as the contract says.
inline std::byte* arena_of(Rank& rank, std::uint64_t bytes) {
  auto* arena = static_cast<std::byte*>(rank.allocate(bytes));
  expect(reinterpret_cast<std::uintptr_t>(arena) % 64 == 0, "an arena is not aligned to 64 bytes");
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (arena[i] != std::byte{0}) throw std::runtime_error("an arena is not zeroed");
  return arena;
}

}  // namespace baleen::conformance
