/// \file Two chunks on each rank, down the ranks and back up, without bubbles where passes take equal time.
#include <algorithm>
#include <array>

#include "table.hpp"

namespace baleen::pipeline {
namespace {

/// The actions of one rank. Passes of micro-batches that a short step lacks are left out.
class Valley {
 public:
  Valley(const Extents& extents, std::uint32_t rank)
      : micro_batches_(extents.micro_batches),
        planned_(std::max(extents.micro_batches, 2 * extents.ranks - 1)),
        rank_(rank),
        above_(extents.ranks - rank) {}

  Actions run() {
    begin();
    while (done(kForward, 1) < done(kForward, 0) || done(kForward, 0) < planned_) {
      if (done(kForward, 0) < planned_) add(kForward, 0);
      backward(0);
      add(kForward, 1);
      backward(1);
    }
    end();
    return std::move(actions_);
  }

 private:
  static constexpr baleen_pass_t kForward = BALEEN_PASS_FORWARD, kBackward = BALEEN_PASS_BACKWARD,
                                 kWeights = BALEEN_PASS_WEIGHT_GRADIENTS;

  std::uint32_t& done(baleen_pass_t pass, std::uint32_t chunk) { return done_[static_cast<std::size_t>(pass)][chunk]; }

  void add(baleen_pass_t pass, std::uint32_t chunk) {
    const std::uint32_t micro_batch = done(pass, chunk)++;
    if (micro_batch < micro_batches_) actions_.push_back({pass, micro_batch, chunk, 0});
  }

  void backward(std::uint32_t chunk) {
    add(kBackward, chunk);
    add(kWeights, chunk);
  }

  /// Until the first micro-batch has come back from the last rank, and its gradient from there.
  void begin() {
    for (std::uint32_t i = 0; i < 2 * above_ - 1; ++i) add(kForward, 0);
    for (std::uint32_t i = 0; i < rank_; ++i) {
      add(kForward, 1);
      add(kForward, 0);
    }
    for (std::uint32_t i = 0; i < above_; ++i) {
      add(kForward, 1);
      backward(1);
    }
  }

  /// Other ranks wait for these gradients, for those of weights nobody does.
  void end() {
    for (std::uint32_t i = 0; i < rank_; ++i) {
      add(kBackward, 0);
      add(kBackward, 1);
    }
    for (std::uint32_t i = 0; i < above_; ++i) backward(0);
    for (const std::uint32_t chunk : {1u, 0u})
      while (done(kWeights, chunk) < done(kBackward, chunk)) add(kWeights, chunk);
  }

  const std::uint32_t micro_batches_, planned_, rank_, above_;  // above: ranks from this one to the last
  std::array<std::array<std::uint32_t, 2>, 3> done_{};
  Actions actions_;
};

}  // namespace

Table zero_bubble_v(const Extents& extents) {
  Table table{{extents.ranks, extents.micro_batches, 2}, Order::back, {}};
  for (std::uint32_t rank = 0; rank < extents.ranks; ++rank) table.ranks.push_back(Valley(table.extents, rank).run());
  return table;
}

}  // namespace baleen::pipeline
