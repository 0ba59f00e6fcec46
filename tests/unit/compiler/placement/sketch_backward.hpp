/// \file Reverse mode over the prototype's kinds, written as there.
#pragma once
#include "sketch_graph.hpp"

namespace baleen::test {

/// Appends the backward pass and fills in the parameters' gradients.
void sketch_backward(SketchGraph& sketch, ValueId loss);

}  // namespace baleen::test
