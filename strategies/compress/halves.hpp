/// \file Sums of gradients in 16 bits: a cast on either side of the collective.
#pragma once
#include "region.hpp"

namespace baleen::compress {

/// Where the collective runs once per step it reads the sum over micro-batches, which is fp32: the casts belong to the
/// update then, whose ops micro-batches do not pass through (docs/design.md, section 3).
void lower_halves(GraphView graph, const Reduction& reduction, baleen_dtype_t dtype);

}  // namespace baleen::compress
