/// \file What all tables share, and the table of a kind.
#include "table.hpp"

#include <algorithm>
#include <cstdlib>

namespace baleen::pipeline {

std::uint32_t stage_of(Order order, const Extents& extents, std::uint32_t rank, std::uint32_t chunk) {
  const bool backwards = order == Order::back && chunk % 2 == 1;
  return chunk * extents.ranks + (backwards ? extents.ranks - 1 - rank : rank);
}

std::uint32_t rank_of(Order order, const Extents& extents, std::uint32_t stage) {
  const std::uint32_t place = stage % extents.ranks;
  const bool backwards = order == Order::back && stage / extents.ranks % 2 == 1;
  return backwards ? extents.ranks - 1 - place : place;
}

const std::map<std::string, Kind, std::less<>>& kinds_by_name() {
  static const std::map<std::string, Kind, std::less<>> kinds{{"gpipe", Kind::gpipe},
                                                              {"1f1b", Kind::one_forward_one_backward},
                                                              {"interleaved", Kind::interleaved},
                                                              {"looped", Kind::looped},
                                                              {"zero_bubble", Kind::zero_bubble_h1},
                                                              {"zero_bubble_h2", Kind::zero_bubble_h2},
                                                              {"zero_bubble_v", Kind::zero_bubble_v}};
  return kinds;
}

bool Table::tells_weights_apart() const {
  return std::ranges::any_of(ranks, [](const Actions& actions) {
    return std::ranges::any_of(actions, [](const Action& a) { return a.pass == BALEEN_PASS_WEIGHT_GRADIENTS; });
  });
}

std::string set_micro_batches(const Extents& extents, std::uint32_t wish, std::uint32_t step) {
  const std::string set = "set gradient_accumulation_steps, or `micro_batches` of parallel.pipeline, to ";
  std::int64_t best = 0;
  for (std::int64_t count = step; count <= extents.rows; count += step)
    if (extents.rows % count == 0 && count >= extents.ranks && std::abs(count - wish) < std::abs(best - wish))
      best = count;
  if (best > 0) return set + std::to_string(best);
  if (extents.rows == 0) return set + std::to_string(wish);
  return set + std::to_string(wish) + " and batch = " + std::to_string((extents.rows + wish - 1) / wish * wish) + " (" +
         std::to_string(extents.rows) + " rows do not divide into so many)";
}

Result<Table> make_table(Kind kind, const Extents& extents) {
  const std::string chunks = std::to_string(extents.chunks);
  const auto one_chunk = [&](const char* name) {
    return invalid("the schedule \"" + std::string(name) +
                   "\" has one chunk of the model on each rank, and `chunks` is " + chunks +
                   "; leave it out, or take schedule = \"interleaved\" or \"looped\"");
  };
  switch (kind) {
    case Kind::gpipe: return extents.chunks == 1 ? Result<Table>(gpipe(extents)) : one_chunk("gpipe");
    case Kind::one_forward_one_backward:
      return extents.chunks == 1 ? Result<Table>(one_forward_one_backward(extents)) : one_chunk("1f1b");
    case Kind::zero_bubble_h1:
      return extents.chunks == 1 ? Result<Table>(zero_bubble_h1(extents)) : one_chunk("zero_bubble");
    case Kind::zero_bubble_h2:
      return extents.chunks == 1 ? Result<Table>(zero_bubble_h2(extents)) : one_chunk("zero_bubble_h2");
    case Kind::looped: return looped(extents);
    case Kind::interleaved:
      if (extents.micro_batches % extents.ranks == 0) return interleaved(extents);
      return invalid(
          "the schedule \"interleaved\" takes micro-batches in groups of the " + std::to_string(extents.ranks) +
          " ranks of its axis, and there are " + std::to_string(extents.micro_batches) + "; " +
          set_micro_batches(extents, (extents.micro_batches / extents.ranks + 1) * extents.ranks, extents.ranks) +
          ", or take schedule = \"looped\"");
    case Kind::zero_bubble_v:
      if (extents.chunks == 2) return zero_bubble_v(extents);
      return invalid("the schedule \"zero_bubble_v\" has two chunks of the model on each rank, and `chunks` is " +
                     chunks + "; set chunks = 2");
  }
  return internal("no such schedule");
}

}  // namespace baleen::pipeline
