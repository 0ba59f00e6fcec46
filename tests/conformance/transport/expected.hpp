/// \file What a collective must give, computed on its own: inputs from a seed, sums as the tree of the contract.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "baleen/dtype.hpp"
#include "baleen/transport.h"

namespace baleen::conformance {

using Bytes = std::vector<std::byte>;

/// One buffer of a collective; for ALL_TO_ALL the elements from each member to each (rows: from).
struct Buffer {
  std::uint64_t count = 0, block = 0;
  std::vector<std::vector<std::uint64_t>> pieces = {};
};

struct Case {
  baleen_collective_t op = BALEEN_ALL_REDUCE;
  baleen_dtype_t dtype = BALEEN_F32;
  baleen_reduction_t reduction = BALEEN_SUM;
  std::size_t members = 2;
  std::size_t root = 0;
  std::vector<Buffer> buffers = {};
  std::vector<std::int32_t> destinations = {};
  std::uint64_t seed = 1;
  bool deterministic = true;

  std::size_t width() const { return dtype_size(dtype); }
  /// Elements that a member gives and gets.
  std::uint64_t given(std::size_t buffer, std::size_t member) const;
  std::uint64_t got(std::size_t buffer, std::size_t member) const;
};

/// The input of a member: the same whoever asks.
Bytes input_of(const Case& c, std::size_t buffer, std::size_t member);
/// The output that a member must have.
Bytes expected_of(const Case& c, std::size_t buffer, std::size_t member);

/// Both of one member, for all buffers.
struct Answer {
  Answer(const Case& c, std::size_t member);
  std::vector<Bytes> inputs, outputs;
};

}  // namespace baleen::conformance
