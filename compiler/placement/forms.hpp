/// \file Forms of parameters: what a strategy makes of a parameter once per step, for all to read in its place (copies
/// in 16 bits).
#pragma once
#include "compiler/graph/graph.hpp"

namespace baleen {

/// An op with it makes a form of the parameter that it reads.
inline constexpr const char* kFormTag = "form";

/// Checks new forms, gives their results the role, the name and the logical axes of their parameters, and puts them
/// behind the sources: what is gathered may then begin anywhere.
Status settle_forms(Graph& graph);

inline bool is_form(const Op& op) { return op.tags.contains(kFormTag); }

/// The parameter that a value is a form of; other values are returned as they are.
ValueId parameter_behind(const Graph& graph, ValueId value);

}  // namespace baleen
