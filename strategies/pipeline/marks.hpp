/// \file Stages that a script marks itself, by `parallel.stage` around forward code.
#pragma once
#include "layers.hpp"

namespace baleen::pipeline {

/// A place in the script where a stage is marked, with its number from 0.
struct Mark {
  std::uint32_t stage = 0;
  std::string where;
};

/// Of an op; nothing where the script marks none.
std::optional<Mark> mark_of(GraphView& graph, baleen_op_t id);

/// The stage of each layer, as the tags of its ops say; empty where the script marks none. `stages`: as many as the
/// plan has. Layers before the first mark belong to the first stage, others without one to the stage of the layer
/// before. INVALID, with the place in the script: another number of stages, a block of which two stages have a part, a
/// value that an earlier stage reads.
Result<std::vector<std::uint32_t>> marked_stages(std::vector<Layer>& layers, GraphView graph, std::uint32_t stages);

}  // namespace baleen::pipeline
