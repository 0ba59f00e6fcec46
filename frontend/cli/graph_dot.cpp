/// \file Graphs as Graphviz draws them.
#include "frontend/cli/graph_dot.hpp"

#include <iomanip>
#include <sstream>

#include "baleen/dtype.hpp"

namespace baleen::app {
namespace {

/// "%3 fp32 [8, 16]", and how it lies.
std::string title(ValueId id, const Value& value) {
  std::string text =
      "%" + std::to_string(id) + " " + std::string(dtype_name(value.dtype)) + " " + to_string(value.shape);
  if (!value.layout.empty()) text += " {" + to_string(value.layout) + "}";
  return text;
}

const char* colour(const Op& op) {
  if (op.kind->has(kStructural)) return "lightgrey";
  if (op.phase == Phase::backward) return "lightsalmon";
  return op.phase == Phase::update ? "palegreen" : "lightblue";
}

}  // namespace

std::string print_dot(const Graph& graph) {
  std::ostringstream text;
  text << "digraph {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const std::string label = op.kind->name + (op.name.empty() ? "" : "\n" + op.name);
    text << "  op" << id << " [label=" << std::quoted(label) << ", fillcolor=" << colour(op) << "];\n";
    for (ValueId input : op.inputs) {
      const Value& value = graph.value(input);
      text << "  op" << value.producer << " -> op" << id << " [label=" << std::quoted(title(input, value)) << "];\n";
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    const std::string name = "output " + output.name;
    text << "  " << std::quoted(name) << " [shape=ellipse, fillcolor=white];\n  op"
         << graph.value(output.value).producer << " -> " << std::quoted(name) << ";\n";
  }
  text << "}\n";
  return text.str();
}

}  // namespace baleen::app
