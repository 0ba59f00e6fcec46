/// \file A collective to be measured, as one rank takes part in it: its entry, its numbers, and what they must become.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/collective.hpp"
#include "core/execute/communicator.hpp"

namespace baleen::app {

/// What the slowest link carries of a collective's bytes: all, (n-1)/n, or 2(n-1)/n.
enum class BenchLoad { whole, shared, twice };
/// How its buffers are cut; `pair` is there and back between the first two members.
enum class BenchShape { whole, blocks, pieces, uneven, gather, scatter, pair, nothing };

struct BenchKind {
  const char* name;
  baleen_collective_t op;
  BenchShape shape;
  BenchLoad load;
};

/// In the order of a report.
inline constexpr BenchKind kBenchKinds[] = {
    {"all_reduce", BALEEN_ALL_REDUCE, BenchShape::whole, BenchLoad::twice},
    {"reduce_scatter", BALEEN_REDUCE_SCATTER, BenchShape::blocks, BenchLoad::shared},
    {"all_gather", BALEEN_ALL_GATHER, BenchShape::blocks, BenchLoad::shared},
    {"broadcast", BALEEN_BROADCAST, BenchShape::whole, BenchLoad::whole},
    {"reduce", BALEEN_REDUCE, BenchShape::whole, BenchLoad::whole},
    {"all_to_all", BALEEN_ALL_TO_ALL, BenchShape::pieces, BenchLoad::shared},
    {"all_to_all_v", BALEEN_ALL_TO_ALL, BenchShape::uneven, BenchLoad::shared},
    {"gather", BALEEN_ALL_TO_ALL, BenchShape::gather, BenchLoad::shared},
    {"scatter", BALEEN_ALL_TO_ALL, BenchShape::scatter, BenchLoad::shared},
    {"permute", BALEEN_PERMUTE, BenchShape::whole, BenchLoad::whole},
    {"send", BALEEN_SEND, BenchShape::pair, BenchLoad::whole},
    {"barrier", BALEEN_BARRIER, BenchShape::nothing, BenchLoad::whole},
};

/// Null where there is none of this name.
const BenchKind* find_bench_kind(std::string_view name);

/// In place where the operation can be. The buffers hold `most()` floats each and live as long as the slots.
struct BenchCall {
  const BenchKind& kind;
  std::uint64_t place, members;
  float *input, *output;
  std::uint64_t count = 0, block = 0;  ///< elements of a buffer, and of a member's part of it
  std::vector<std::uint64_t> sends, receives;
  std::vector<std::int32_t> destinations;
  std::vector<void*> slots;  ///< to be started one after the other; who only watches has none

  BenchCall(const BenchKind& kind, std::uint64_t place, std::uint64_t members, std::uint64_t bytes, float* input,
            float* output);

  /// Elements of the larger side on the member that has most.
  std::uint64_t most() const;
  /// Gives this member's input the numbers that `wrong` expects.
  void fill() const;
  /// How many elements of this member's result are wrong after one run.
  std::uint64_t wrong() const;
  /// Collective over the group of this rank along `axes`.
  Status prepare(Communicator& communicator, const std::vector<std::string>& axes);

 private:
  bool exchanges() const { return kind.op == BALEEN_ALL_TO_ALL; }
  /// Elements that one member of an exchange sends another.
  std::uint64_t piece(std::uint64_t from, std::uint64_t to) const;
  CollectiveEntry entry() const;
  Status add(Communicator& communicator, const std::vector<std::string>& axes, baleen_collective_t op, std::size_t root,
             CollectiveEntry entry);
  std::uint64_t wrong_sums() const;
  std::uint64_t wrong_pieces() const;
};

}  // namespace baleen::app
