/// \file The forward pass as a chain of segments, and the cheapest choice for each of them under a budget.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "blocks.hpp"
#include "segment.hpp"

namespace baleen::recompute {

/// Segments with their choices, each of one segment or of several that follow each other and keep nothing in between.
/// What is kept of a segment adds to what is kept of those before it (Chen et al., arXiv 1604.06174); bytes are those
/// of a model, which the caller holds against what is held in truth.
class Chain {
 public:
  /// A segment for each block, and for what stands before and behind them; without blocks the pass is cut where few
  /// bytes cross.
  Chain(const ForwardPass& pass, const Blocks& blocks);

  /// The fewest FLOPs with which the model holds at most `bytes`, by a dynamic program over segments whose states are
  /// the pairs of bytes kept and FLOPs that no other is better than in both. Empty where no choice does.
  Chosen cheapest(std::int64_t bytes) const;
  /// What the model holds where nothing runs again, and the least that it can.
  std::int64_t most() const { return most_; }
  std::int64_t least() const { return least_; }

 private:
  /// A choice of the segments from `first` on that end before `end`.
  struct Step {
    std::size_t end = 0;
    const Choice* choice = nullptr;
  };

  void cut(const Blocks& blocks);
  void cut_where_few_cross();
  void find_least();
  std::size_t begin_of(std::size_t segment) const { return segment == 0 ? 0 : ends_[segment - 1]; }

  const ForwardPass& pass_;
  std::vector<std::size_t> ends_;                       ///< of segments, in ops
  std::map<std::string, std::vector<Choice>> choices_;  ///< by signature
  std::vector<std::vector<Step>> steps_;                ///< by first segment
  std::int64_t most_ = 0, least_ = 0;
};

}  // namespace baleen::recompute
