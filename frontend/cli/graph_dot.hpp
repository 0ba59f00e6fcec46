/// \file Graphs as drawings.
#pragma once
#include <string>

#include "compiler/graph/graph.hpp"

namespace baleen::app {

/// Graphviz: a box per op, coloured by its phase, an arrow per operand with its type.
std::string print_dot(const Graph& graph);

}  // namespace baleen::app
