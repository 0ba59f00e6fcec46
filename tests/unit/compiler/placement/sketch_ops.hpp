/// \file Test-only kinds of ops whose letters are their attributes, as in the prototype of
/// propagation (docs/design.md).
#pragma once
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace baleen::test {

/// The built-in kinds and the sketch's: "sketch.<name>", each with any letters.
const OpRegistry& sketch_ops();

/// One op of the sketch: letters of operands and results, and what else its iteration says.
struct SketchOp {
  std::string kind;
  std::vector<ValueId> inputs;
  std::vector<std::string> in, out;
  std::vector<std::vector<std::uint32_t>> linear = {};
  std::string uncut = {};     ///< letters that may not be cut
  std::string internal = {};  ///< "h:bs:2": sharding h reduces 2 numbers per element of b and s
  std::string fresh = {};     ///< letters that no input has, of `extents`
  std::vector<std::int64_t> extents = {};
};

/// Appends it; throws std::runtime_error where that fails.
std::vector<ValueId> append(Graph& graph, const SketchOp& op, const std::string& name = {});

}  // namespace baleen::test
