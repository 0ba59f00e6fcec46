/// \file A product on a square grid of ranks, block by block.
#pragma once
#include <compare>
#include <set>
#include <string>

#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

using namespace sdk;

/// Where products run.
struct SummaGrid {
  MeshView mesh;
  std::uint32_t row, col;      ///< its axes, of one size
  std::int64_t micro_batches;  ///< into which a step's batch is cut

  std::int64_t side() const { return mesh.size(row); }
};

/// Bytes that a rank sends for a matmul: two of its three operands hold the letter `travels`, which `row` cuts in one
/// and `col` in the other; a rank's block of each goes to side - 1 others, or is summed from them.
double summa_bytes(GraphView graph, baleen_op_t matmul, char travels, std::int64_t side);

/// The broadcasts of a block, and the product that hides them: that of the block before.
struct SummaStep {
  std::vector<baleen_value_t> broadcasts;
  baleen_value_t product;
};

/// Extents that blocks fill up with zeros: what a product pads, by the logical axis ("" for none).
struct Padding {
  std::string axis;
  std::int64_t extent, padded;

  friend auto operator<=>(const Padding&, const Padding&) = default;
};

/// What the products of a graph became.
struct SummaCalls {
  std::vector<SummaStep> steps;
  std::vector<baleen_value_t> sums;  ///< of blocks of results
  std::set<Padding> paddings;        ///< what blocks of ceil(n / q) add
};

/// Puts a local region in place of a matmul whose operands and result are cut along both axes. Each step takes one
/// block of the letter that row cuts in one operand and col in another: an input's block is broadcast to those who need
/// it, a result's is summed where it belongs. The third operand stays where it is. Appends to `calls`.
Status lower_summa(GraphView graph, baleen_op_t matmul, const SummaGrid& grid, SummaCalls& calls);

}  // namespace baleen::tensor_parallel
