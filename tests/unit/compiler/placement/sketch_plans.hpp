/// \file The prototype's 21 plans: a graph, a mesh, what strategies ask for, and what must be sent.
#pragma once
#include <memory>

#include "sketch_graph.hpp"

namespace baleen::test {

/// What a plan must send in a phase along an axis by a kind of collective. Elements per rank; a count of -1 is not
/// compared.
struct Expected {
  Phase phase;
  std::string axis, kind;
  std::int64_t count;
  double elements;
};

struct SketchPlan {
  std::string name;
  std::unique_ptr<SketchGraph> sketch;
  PlacementRequest request;
  std::vector<Expected> expected;
};

/// The names of all plans, in the prototype's order.
std::vector<std::string> plan_names();
/// Throws std::runtime_error for a name that is none.
SketchPlan make_plan(const std::string& name);

/// Transfers of as many elements (those of clipping) are not in the tables.
inline constexpr double kScalarElements = 3;

}  // namespace baleen::test
