/// \file All-to-all over heads (DeepSpeed-Ulysses, arXiv 2309.14509): attention sees whole sequences of some heads.
#pragma once
#include "mode.hpp"

namespace baleen::sequence_parallel {

/// Everything is cut along the sequence but attention, which is cut along heads.
class Ulysses : public Mode {
 public:
  Ulysses(std::uint32_t axis, MeshView mesh);
  Status place(GraphView graph, Placing placing) override;
  void expect(GraphView graph, Placing placing) const override;
  /// Changes nothing: checks heads that several axes share.
  Status lower(GraphView graph) override;

 private:
  void offer_heads(const Op& op, baleen_op_t id, Placing& placing) const;

  std::uint32_t axis_;
  MeshView mesh_;
};

}  // namespace baleen::sequence_parallel
