/// \file All forward passes, then all backward passes: GPipe, and looped over several chunks.
#include "table.hpp"

namespace baleen::pipeline {

Table looped(const Extents& extents) {
  Actions actions;
  for (std::uint32_t chunk = 0; chunk < extents.chunks; ++chunk)
    for (std::uint32_t m = 0; m < extents.micro_batches; ++m) actions.push_back({BALEEN_PASS_FORWARD, m, chunk, 0});
  for (std::uint32_t chunk = extents.chunks; chunk-- > 0;)
    for (std::uint32_t m = 0; m < extents.micro_batches; ++m) actions.push_back({BALEEN_PASS_BACKWARD, m, chunk, 0});
  return {extents, Order::round, std::vector<Actions>(extents.ranks, actions)};
}

Table gpipe(const Extents& extents) { return looped({extents.ranks, extents.micro_batches, 1}); }

}  // namespace baleen::pipeline
