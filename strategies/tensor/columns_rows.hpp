/// \file Mode 1d: weights cut by column, then by row, along one mesh axis (Megatron-LM, arXiv 1909.08053).
#pragma once
#include "mode.hpp"

namespace baleen::tensor_parallel {

/// Heads, inner widths and the vocabulary are cut; all else is whole on every rank of the axis.
class ColumnsRows : public Mode {
 public:
  explicit ColumnsRows(std::uint32_t axis) : axis_(axis) {}

  Status rewrite(GraphView graph) override;
  Status place(GraphView graph, Placing placing) override;

 private:
  std::uint32_t axis_;
};

}  // namespace baleen::tensor_parallel
