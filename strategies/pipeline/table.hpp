/// \file A pipeline schedule as a table: what each rank along the axis does in turn. Made by pure functions, so that it
/// can be checked, printed and drawn without a model.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::pipeline {

using namespace sdk;

/// A pass of one micro-batch through one chunk of the model.
using Action = baleen_pipeline_action_t;
using Actions = std::vector<Action>;

/// `ranks` along the axis, each with `chunks` chunks of the model, which is cut into ranks * chunks stages; a step has
/// `micro_batches`. All are 1 or more.
struct Extents {
  std::uint32_t ranks = 1, micro_batches = 1, chunks = 1;
  std::int64_t rows = 0;  ///< of the batch, which micro-batches divide evenly; 0: not known

  std::uint32_t stages() const { return ranks * chunks; }
};

/// Which rank has which stage.
enum class Order {
  round,  ///< stage s is chunk s / ranks of rank s % ranks
  back    ///< every other chunk goes from the last rank to the first: the last rank has two stages that follow on
};

std::uint32_t stage_of(Order order, const Extents& extents, std::uint32_t rank, std::uint32_t chunk);
std::uint32_t rank_of(Order order, const Extents& extents, std::uint32_t stage);

/// One list of actions per rank. A table without weight gradient passes makes those with the backward pass.
struct Table {
  Extents extents;
  Order order = Order::round;
  std::vector<Actions> ranks;

  std::uint32_t stage(std::uint32_t rank, std::uint32_t chunk) const { return stage_of(order, extents, rank, chunk); }
  /// Whether gradients of weights are passes of their own.
  bool tells_weights_apart() const;
};

enum class Kind { gpipe, one_forward_one_backward, interleaved, looped, zero_bubble_h1, zero_bubble_h2, zero_bubble_v };

/// By the words for them.
const std::map<std::string, Kind, std::less<>>& kinds_by_name();

/// The table of a kind of schedule, for any extents that the kind has a table for. Errors say which it has none for:
/// interleaved needs micro-batches that are a multiple of the ranks, zero_bubble_v two chunks, those that are no looped
/// or interleaved one, one chunk.
Result<Table> make_table(Kind kind, const Extents& extents);
/// For the user: "set gradient_accumulation_steps = 8", about `wish` micro-batches, a multiple of `step` that is no
/// fewer than the ranks and divides the batch; where there is none, `wish` of them with a batch that they divide.
std::string set_micro_batches(const Extents& extents, std::uint32_t wish, std::uint32_t step);

/// Huang et al., arXiv 1811.06965: all forward passes, then all backward passes.
Table gpipe(const Extents& extents);
/// GPipe for ranks that hold several chunks: all micro-batches go through a chunk before the next one (breadth first:
/// Lamy-Poirier, arXiv 2211.05953).
Table looped(const Extents& extents);
/// PipeDream-flush (Narayanan et al., arXiv 2006.09503): as many forward passes as keep later stages busy, then one
/// backward pass for each forward pass.
Table one_forward_one_backward(const Extents& extents);
/// The same for ranks that hold several chunks (Narayanan et al., arXiv 2104.04473, section 2.2): groups of as many
/// micro-batches as there are ranks go through all chunks. `micro_batches` is a multiple of `ranks`.
Table interleaved(const Extents& extents);
/// Qi et al., arXiv 2401.10241. H1 holds what 1F1B's first stage holds, on every rank, and fills with gradients of
/// weights; H2 begins with twice as many forward passes; V (section 6) has two chunks on each rank, in the order
/// `back`.
Table zero_bubble_h1(const Extents& extents);
Table zero_bubble_h2(const Extents& extents);
Table zero_bubble_v(const Extents& extents);

}  // namespace baleen::pipeline
