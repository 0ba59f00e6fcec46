/// \file Prints graphs between passes.
#include "frontend/engine/pass_printer.hpp"

#include <algorithm>

#include "baleen/pattern.hpp"
#include "core/log/printed.hpp"

namespace baleen::app {
namespace {

/// "train" of "train: propagate"; the whole where there is no such name before it.
std::string graph_of(const std::string& phase) { return phase.substr(0, phase.find(": ")); }

std::string pass_of(const std::string& phase) {
  const std::size_t colon = phase.find(": ");
  return colon == std::string::npos ? phase : phase.substr(colon + 2);
}

}  // namespace

std::string legend(const Mesh& mesh) {
  std::string text = "# %1 = kind(%0) attributes : dtype [shape]  # name  file:line\n";
  std::string axes;
  for (const MeshAxis& axis : mesh.axes)
    if (axis.name != kMicroAxis) axes += (axes.empty() ? "" : ", ") + axis.name;
  if (axes.empty()) return text;
  return text + "# {a,b}: how ranks hold a value, a letter for each axis of the mesh (" + axes +
         "), and one for micro-batches where they are cut:\n"
         "#   R whole on each; S0 cut along dimension 0, counted from 0; B0 the same in balanced pieces; F cut into "
         "even runs\n"
         "#   of its elements; P each holds a term of the sum, Pmax of the maximum; @1 only coordinate 1 holds it; "
         "S0.1 the\n"
         "#   second of the axes that cut dimension 0, from the outermost. [key=tag]: what strategies have noted\n";
}

PassObserver PassPrinter::observer() {
  if (!view_.prints) return {};
  return [this](const std::string& phase, const Graph& graph) { show(phase, graph); };
}

void PassPrinter::begin_again() {
  if (!view_.prints) return;
  print_text("--- planned again, with more outside the device ---\n\n");
  before_.clear();
  seen_.clear();
}

void PassPrinter::show(const std::string& phase, const Graph& graph) {
  seen_.push_back(phase);
  Lines lines;
  for (const OpId id : graph.ops())
    if (is_shown(graph.op(id))) lines.emplace(id, print(graph, id));
  bool is_asked = view_.passes.empty();
  for (const std::string& pattern : view_.passes)
    if (matches(pattern, phase) || matches(pattern, pass_of(phase))) {
      used_.insert(pattern);
      is_asked = true;
    }
  if (is_asked) {
    if (!std::exchange(explained_, true)) print_text(legend(mesh_));
    const bool whole = view_.ops.empty() && !view_.changes;
    print_text("--- " + phase + " ---\n" + (whole ? print(graph) : text_of(phase, graph, lines)) + "\n");
    flush_printed();  // monitors write past it
  }
  if (view_.changes) before_[graph_of(phase)] = std::move(lines);
}

bool PassPrinter::is_shown(const Op& op) {
  bool shown = view_.ops.empty();
  for (const std::string& pattern : view_.ops)
    if (matches(pattern, op.name) || matches(pattern, op.kind->name)) {
      used_.insert(pattern);
      shown = true;
    }
  return shown;
}

/// The lines in the order of ops; of changes first those that are gone.
std::string PassPrinter::text_of(const std::string& phase, const Graph& graph, const Lines& lines) {
  std::string text;
  const Lines& before = before_[graph_of(phase)];
  if (view_.changes)
    for (const auto& [id, line] : before)
      if (!lines.contains(id)) text += "- " + line + "\n";
  for (const OpId id : graph.ops()) {
    const auto now = lines.find(id);
    if (now == lines.end()) continue;
    if (!view_.changes) {
      text += now->second + "\n";
      continue;
    }
    const auto old = before.find(id);
    if (old != before.end() && old->second == now->second) continue;
    if (old != before.end()) text += "- " + old->second + "\n";
    text += "+ " + now->second + "\n";
  }
  return text;
}

Status PassPrinter::finish() const {
  if (!view_.prints) return {};
  for (const std::string& pattern : view_.passes)
    if (!used_.contains(pattern)) {
      std::string known;
      for (const std::string& phase : seen_) known += (known.empty() ? "`" : ", `") + phase + "`";
      return invalid("--pass: no pass that changed a graph matches `" + pattern + "`; those that did: " + known);
    }
  for (const std::string& pattern : view_.ops)
    if (!used_.contains(pattern))
      return invalid("--op: no op has a name or a kind that matches `" + pattern +
                     "`; `baleen graph --ops` prints them, and `*` stands for any text");
  return {};
}

}  // namespace baleen::app
