/// \file Forward passes ahead, then one backward pass for each: 1F1B, its interleaved form, and those that put off
/// gradients of weights (H1, H2).
#include <algorithm>

#include "table.hpp"

namespace baleen::pipeline {
namespace {

/// `ahead`: forward passes before the first that is followed by a backward pass. `put_off`: backward passes whose
/// gradients of weights are left for later, where they are passes of their own.
Actions in_turn(std::uint32_t micro_batches, std::uint32_t ahead, const std::uint32_t* put_off) {
  Actions actions;
  std::uint32_t forward = 0, backward = 0, weights = 0;
  const auto add = [&](baleen_pass_t pass, std::uint32_t& next) { actions.push_back({pass, next++, 0, 0}); };
  while (forward < std::min(ahead, micro_batches)) add(BALEEN_PASS_FORWARD, forward);
  while (backward < micro_batches) {
    if (forward < micro_batches) add(BALEEN_PASS_FORWARD, forward);
    add(BALEEN_PASS_BACKWARD, backward);
    if (put_off && backward > *put_off) add(BALEEN_PASS_WEIGHT_GRADIENTS, weights);
  }
  while (put_off && weights < micro_batches) add(BALEEN_PASS_WEIGHT_GRADIENTS, weights);
  return actions;
}

/// The last rank has nobody to keep busy; each one before it goes `step` forward passes further ahead, and puts off
/// `step` weight gradients fewer.
Table with_weights(const Extents& extents, std::uint32_t step) {
  Table table{{extents.ranks, extents.micro_batches, 1}, Order::round, {}};
  for (std::uint32_t rank = 0; rank < extents.ranks; ++rank) {
    const std::uint32_t put_off = step * rank;
    table.ranks.push_back(in_turn(extents.micro_batches, step * (extents.ranks - 1 - rank), &put_off));
  }
  return table;
}

Action numbered(const Extents& extents, std::uint32_t number, bool forward) {
  const std::uint32_t group = extents.ranks * extents.chunks;
  const std::uint32_t chunk = number % group / extents.ranks;
  const std::uint32_t micro_batch = number / group * extents.ranks + number % extents.ranks;
  return forward ? Action{BALEEN_PASS_FORWARD, micro_batch, chunk, 0}
                 : Action{BALEEN_PASS_BACKWARD, micro_batch, extents.chunks - 1 - chunk, 0};
}

}  // namespace

Table one_forward_one_backward(const Extents& extents) {
  Table table{{extents.ranks, extents.micro_batches, 1}, Order::round, {}};
  for (std::uint32_t rank = 0; rank < extents.ranks; ++rank)
    table.ranks.push_back(in_turn(extents.micro_batches, extents.ranks - 1 - rank, nullptr));
  return table;
}

Table interleaved(const Extents& extents) {
  Table table{extents, Order::round, {}};
  const std::uint32_t all = extents.micro_batches * extents.chunks;
  for (std::uint32_t rank = 0; rank < extents.ranks; ++rank) {
    const std::uint32_t ahead = std::min(all, 2 * (extents.ranks - 1 - rank) + (extents.chunks - 1) * extents.ranks);
    Actions& actions = table.ranks.emplace_back();
    for (std::uint32_t number = 0; number < ahead; ++number) actions.push_back(numbered(extents, number, true));
    for (std::uint32_t number = 0; number < all; ++number) {
      if (ahead + number < all) actions.push_back(numbered(extents, ahead + number, true));
      actions.push_back(numbered(extents, number, false));
    }
  }
  return table;
}

Table zero_bubble_h1(const Extents& extents) { return with_weights(extents, 1); }
Table zero_bubble_h2(const Extents& extents) { return with_weights(extents, 2); }

}  // namespace baleen::pipeline
