/// \file Which tokens a row holds: windows of one context over a part, in an order that each epoch draws anew.
#pragma once
#include <algorithm>
#include <cstdint>

#include "baleen/permutation.hpp"

namespace baleen::text {

using namespace sdk;

/// A row needs context + 1 tokens: the inputs, and one more for the last target. Shuffled, each epoch cuts the part at
/// another random offset, for which one window is given up, and visits the windows in another order.
class Windows {
 public:
  Windows() = default;
  Windows(std::int64_t tokens, std::int64_t context, bool shuffle, std::uint64_t seed)
      : context_(context), shuffle_(shuffle), seed_(seed) {
    const std::int64_t fitting = tokens > context ? (tokens - 1) / context : 0;
    rows_ = shuffle && fitting > 1 ? fitting - 1 : fitting;
    slack_ = rows_ > 0 ? tokens - 1 - rows_ * context : 0;
  }

  /// Rows of one epoch; 0 where the part is too short.
  std::int64_t rows() const { return rows_; }

  /// The first token of the row at a position of the endless stream.
  std::int64_t start(std::int64_t position) const {
    const std::int64_t epoch = position / rows_, row = position % rows_;
    if (!shuffle_) return row * context_;
    const auto number = static_cast<std::uint64_t>(epoch);
    const auto offset = mix_key(seed_, number, 1) % (static_cast<std::uint64_t>(slack_) + 1);
    const Permutation order(static_cast<std::uint64_t>(rows_), mix_key(seed_, number, 2));
    return static_cast<std::int64_t>(offset) +
           static_cast<std::int64_t>(order(static_cast<std::uint64_t>(row))) * context_;
  }

 private:
  std::int64_t context_ = 1, rows_ = 0, slack_ = 0;
  bool shuffle_ = false;
  std::uint64_t seed_ = 0;
};

}  // namespace baleen::text
