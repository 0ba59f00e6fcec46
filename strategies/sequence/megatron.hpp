/// \file Sequence parallelism around tensor-parallel regions (Korthikanti et al., arXiv 2205.05198), on the same axis.
#pragma once
#include "mode.hpp"

namespace baleen::sequence_parallel {

/// Norms, dropout and residuals, which tensor parallelism leaves whole, are cut along the sequence: an all-gather
/// before the first product of a pair, a reduce-scatter in place of the all-reduce after the second.
class Megatron : public Mode {
 public:
  explicit Megatron(std::uint32_t axis) : axis_(axis) {}
  /// The axis is the strategy `tensor`'s.
  bool claims_axis() const override { return false; }
  Status place(GraphView graph, Placing placing) override;
  void expect(GraphView graph, Placing placing) const override;

 private:
  std::uint32_t axis_;
};

}  // namespace baleen::sequence_parallel
