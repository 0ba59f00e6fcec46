/// \file The layers of a graph, in the order in which they run: what a cut into stages keeps together.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baleen/strategy_tools.hpp"
#include "cut.hpp"

namespace baleen::pipeline {

/// Forward ops of one block of `nn.repeated`, or of one layer outside of all blocks, that follow each other. Layers
/// without parameters belong to the one before, or to the first.
struct Layer {
  std::vector<std::string> names;  ///< "blocks.3"; of those that belong to it, too: the second "head" is "head#2"
  std::vector<baleen_op_t> ops;
  LayerCost cost;
};

/// Whether a forward op reads nothing: it stands on every rank.
bool is_source(const Op& op);

/// The layers of a graph's forward ops. Their costs are zero.
std::vector<Layer> layers_of(GraphView graph);

/// Adds what the layers cost in training: the work of a forward op and its backward ops in FLOPs, kBytesAsFlops for a
/// byte that they read or write; parameters with gradients and states, at the first layer that reads them; results that
/// backward ops read, of one micro-batch.
void add_costs(std::vector<Layer>& layers, GraphView graph, const Placing& placing);

/// A byte takes as long as so many FLOPs: between processors (about 5) and accelerators (100 and more).
inline constexpr double kBytesAsFlops = 16;

}  // namespace baleen::pipeline
