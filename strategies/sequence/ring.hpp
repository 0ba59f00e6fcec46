/// \file Ring attention (arXiv 2310.01889): each rank keeps its queries; keys and values travel around the ring.
#pragma once
#include "mode.hpp"

namespace baleen::sequence_parallel {

/// Everything is cut along the sequence, attention too. Where some attention is causal, ranks hold balanced chunks: r
/// and 2P - 1 - r of 2P, so that each has as many pairs to look at.
class Ring : public Mode {
 public:
  Ring(std::uint32_t axis, MeshView mesh);
  Status place(GraphView graph, Placing placing) override;
  void expect(GraphView graph, Placing placing) const override;
  Status lower(GraphView graph) override;

 private:
  Status check_layouts(GraphView graph, const Op& op) const;
  void offer(GraphView& graph, const Op& op, baleen_op_t id, bool balanced, Placing& placing) const;

  std::uint32_t axis_;
  MeshView mesh_;
  std::int64_t micro_batches_ = 1;
};

}  // namespace baleen::sequence_parallel
