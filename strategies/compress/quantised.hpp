/// \file A sum of gradients in 8 bits or 1 bit per element.
#pragma once
#include "options.hpp"
#include "region.hpp"

namespace baleen::compress {

/// In place of a reduction: each rank quantises its term part by part and gives each part to the rank that adds it up
/// in fp32; that one quantises the sum and gives it to all, or keeps it where the reduction scatters. With states, what
/// quantising lost is added to what is quantised in the next step.
void lower_quantised(GraphView graph, const Reduction& reduction, const Options& options, const States& states);

}  // namespace baleen::compress
