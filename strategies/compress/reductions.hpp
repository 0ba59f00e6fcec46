/// \file Finds the collectives that add up gradients along one axis.
#pragma once
#include <map>

#include "options.hpp"
#include "region.hpp"

namespace baleen::compress {

/// The axis, and what is in a step.
struct Along {
  MeshView mesh;
  std::uint32_t axis;
  std::int64_t micro_batches = 1;
};

/// All sums of gradients along the axis alone. `parameters`: the names by the gradients' values.
std::vector<Reduction> reductions_of(GraphView graph, const Along& along,
                                     const std::map<baleen_value_t, std::string>& parameters);

/// What a method other than 16 bits cannot do here; text that says why and what to take instead.
Status check_reduction(GraphView graph, const Reduction& reduction, const Along& along, const Options& options);

}  // namespace baleen::compress
