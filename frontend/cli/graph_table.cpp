/// \file Ops by the layer that their names say.
#include "frontend/cli/graph_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>

#include "baleen/dtype.hpp"
#include "core/runtime/session_memory.hpp"
#include "frontend/engine/plan_report.hpp"

namespace baleen::app {
namespace {

struct Layer {
  std::string name, shape, where;
  std::int64_t parameters = 0;
  double forward = 0, others = 0;  ///< FLOPs, of the forward pass and of what follows
  std::uint64_t kept = 0;          ///< bytes
  bool goes_on = false;            ///< another layer reads what `shape` is of

  void add(const Layer& other) {
    parameters += other.parameters;
    forward += other.forward;
    others += other.others;
    kept += other.kept;
  }
};

constexpr const char* kUpdate = "(update)";
constexpr const char* kRest = "(the rest)";
constexpr std::string_view kGradient = ".grad";  // names of backward ops end so

/// Layers by name, in the order in which they came.
class Layers {
 public:
  Layer& of(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, all_.size());
    if (is_new) all_.push_back({name, {}, {}, 0, 0, 0, 0, false});
    return all_[at->second];
  }
  bool has(const std::string& name) const { return numbers_.contains(name); }
  std::vector<Layer>& all() { return all_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<Layer> all_;
};

std::uint64_t bytes_of(const Value& value) {
  return static_cast<std::uint64_t>(element_count(value.shape)) * dtype_size(value.dtype);
}

/// Whether the backward pass reads it; of a tensor that it reads through a view the view counts.
bool is_kept(const Graph& graph, const Value& value) {
  return std::ranges::any_of(value.users, [&](OpId id) { return graph.op(id).phase == Phase::backward; });
}

/// The layer of a forward op, by itself or by the forward op that it belongs to.
std::string layer_of(const Graph& graph, const Op& op) {
  const Op& forward = op.forward_op == kNone ? op : graph.op(op.forward_op);
  if (forward.phase == Phase::update) return kUpdate;
  std::string name = forward.name;
  if (name.ends_with(kGradient)) name.resize(name.size() - kGradient.size());
  return name.empty() ? kRest : name;
}

/// Not only another view, nor a constant: these stand anywhere.
bool computes(const Op& op) { return !op.kind->has(kStructural) && !op.kind->has(kView) && op.inputs.size() > 0; }

/// Whether another layer's forward pass reads it.
bool leaves(const Graph& graph, const Value& value, const std::string& layer) {
  return std::ranges::any_of(value.users, [&](OpId id) {
    return graph.op(id).phase == Phase::forward && layer_of(graph, graph.op(id)) != layer;
  });
}

void add_op(const Graph& graph, const Op& op, Layers& layers) {
  if (op.kind->has(kStructural)) return;
  Layer& layer = layers.of(layer_of(graph, op));
  const double flops = op.kind->cost ? op.kind->cost(graph, op).flops : 0;
  if (op.phase != Phase::forward) {
    layer.others += flops;
    return;
  }
  layer.forward += flops;
  if (layer.where.empty()) layer.where = op.where;
  if (op.outputs.size() > 0 && (computes(op) || layer.shape.empty())) {
    const Value& last = graph.value(op.outputs[0]);
    if (const bool goes_on = leaves(graph, last, layer.name); goes_on || !layer.goes_on) {
      layer.goes_on = goes_on;
      layer.shape = std::string(dtype_name(last.dtype)) + " " + to_string(last.shape);
    }
  }
  for (const ValueId id : op.outputs)
    if (const Value& value = graph.value(id); is_kept(graph, value)) layer.kept += bytes_of(value);
}

/// A parameter belongs to the layer whose name is the longest beginning of its own.
void add_parameters(const std::vector<PersistentSpec>& persistent, Layers& layers) {
  for (const PersistentSpec& spec : persistent) {
    if (spec.role != Role::parameter) continue;
    std::string name = spec.name;
    while (!name.empty() && !layers.has(name)) name.resize(name.rfind('.') == name.npos ? 0 : name.rfind('.'));
    const std::string own = name.empty() ? spec.name.substr(0, spec.name.rfind('.')) : name;
    layers.of(own).parameters += element_count(spec.type.shape);
  }
}

std::string flops_text(double flops) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T", " P", " E"};
  if (flops == 0) return "-";
  std::size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < kUnits.size(); ++unit) flops /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g%s", flops, kUnits[unit]);
  return text;
}

using Cells = std::array<std::string, 7>;

Cells cells_of(const Layer& layer) {
  return {layer.name,
          layer.shape,
          layer.parameters ? with_commas(static_cast<std::uint64_t>(layer.parameters)) : "-",
          flops_text(layer.forward),
          flops_text(layer.others),
          layer.kept ? bytes_text(layer.kept) : "-",
          layer.where};
}

std::string text_of(const std::vector<Cells>& rows) {
  std::array<std::size_t, 7> widths{};
  for (const Cells& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - row[i].size(), ' ');
      const bool is_number = i >= 2 && i <= 5;
      line += (is_number ? room + row[i] : row[i] + room) + "  ";
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string layer_table(const ScheduledGraph& scheduled, const std::vector<PersistentSpec>& persistent) {
  const Graph& graph = scheduled.graph;
  Layers layers;
  for (const OpId id : graph.ops())  // the order of lines
    if (graph.op(id).phase == Phase::forward && computes(graph.op(id))) layers.of(layer_of(graph, graph.op(id)));
  for (const OpId id : graph.ops())
    if (graph.op(id).phase == Phase::forward) add_op(graph, graph.op(id), layers);
  for (const OpId id : graph.ops())
    if (graph.op(id).phase != Phase::forward) add_op(graph, graph.op(id), layers);
  add_parameters(persistent, layers);
  Layer total{"total", {}, {}, 0, 0, 0, 0};
  std::vector<Cells> rows = {{"layer", "result", "parameters", "FLOP", "FLOP backward", "activations", "where"}};
  for (const Layer& layer : layers.all()) {
    rows.push_back(cells_of(layer));
    total.add(layer);
  }
  rows.push_back(cells_of(total));
  return text_of(rows);
}

}  // namespace baleen::app
