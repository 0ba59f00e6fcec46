#include "layers.hpp"

#include <algorithm>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen::pipeline {
namespace {

/// The path of the block that the op stands in, or of its layer.
std::string path_of(GraphView& graph, baleen_op_t id) {
  std::string name(graph.op(id)->name());
  const std::string block(graph.tag(id, "block"));
  if (block.empty()) return name;
  const std::string padded = "." + name + ".", wanted = "." + block + ".";
  const auto at = padded.find(wanted);
  return at == std::string::npos ? name : name.substr(0, at + block.size());
}

/// Copies of parameters stand where the parameters do.
bool is_copy(GraphView& graph, baleen_op_t id) {
  const auto op = graph.op(id);
  const std::vector<baleen_value_t> outputs(op->outputs().begin(), op->outputs().end());
  return std::ranges::any_of(outputs, [&](baleen_value_t v) { return graph.value(v).role == BALEEN_ROLE_PARAMETER; });
}

double bytes_of(const baleen_value_info_t& value) {
  double count = static_cast<double>(dtype_size(value.dtype));
  for (std::uint32_t d = 0; d < value.rank; ++d) count *= static_cast<double>(value.shape[d]);
  return count;
}

bool reads_parameters(GraphView& graph, const Layer& layer) {
  return std::ranges::any_of(layer.ops, [&](baleen_op_t id) {
    const auto op = graph.op(id);
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    return std::ranges::any_of(inputs, [&](baleen_value_t v) { return graph.value(v).role == BALEEN_ROLE_PARAMETER; });
  });
}

void append(Layer& to, Layer&& from) {
  to.names.insert(to.names.end(), from.names.begin(), from.names.end());
  to.ops.insert(to.ops.end(), from.ops.begin(), from.ops.end());
}

}  // namespace

bool is_source(const Op& op) { return op.inputs().empty(); }

std::vector<Layer> layers_of(GraphView graph) {
  std::vector<Layer> runs;
  std::map<std::string, int> seen;
  std::string path;
  for (const baleen_op_t id : graph.ordered()) {
    if (graph.info(id).phase != BALEEN_PHASE_FORWARD || is_source(*graph.op(id)) || is_copy(graph, id)) continue;
    std::string own = path_of(graph, id);
    if (runs.empty() || (own != path && !own.starts_with(path + "."))) {
      const int times = ++seen[own];
      runs.push_back({{times > 1 ? own + "#" + std::to_string(times) : own}, {}, {}});
      path = std::move(own);
    }
    runs.back().ops.push_back(id);
  }
  std::vector<Layer> layers;
  bool first_is_whole = false;  // the first of `layers` has parameters
  for (Layer& run : runs) {
    const bool stands_alone = reads_parameters(graph, run);
    if (layers.empty() || (stands_alone && first_is_whole))
      layers.push_back(std::move(run));
    else
      append(layers.back(), std::move(run));
    first_is_whole |= stands_alone;
  }
  return layers;
}

void add_costs(std::vector<Layer>& layers, GraphView graph, const Placing& placing) {
  std::map<baleen_op_t, std::size_t> layer_of;
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (const baleen_op_t id : layers[l].ops) layer_of[id] = l;
  std::map<baleen_value_t, double> state_bytes;  // of trained parameters, gradient included
  for (const baleen_trained_t& trained : placing.trained()) {
    double& bytes = state_bytes[trained.parameter] = bytes_of(graph.value(trained.gradient));
    for (std::uint64_t s = 0; s < trained.state_count; ++s) bytes += bytes_of(graph.value(trained.states[s]));
  }
  std::set<baleen_value_t> counted;
  for (const baleen_op_t id : graph.ordered()) {
    const baleen_op_info_t info = graph.info(id);
    const bool forward = info.phase == BALEEN_PHASE_FORWARD;
    const auto found = layer_of.find(forward ? id : info.twin);
    if (found == layer_of.end() || info.phase == BALEEN_PHASE_UPDATE) continue;
    LayerCost& cost = layers[found->second].cost;
    const Placing::Cost own = placing.cost(id);
    cost.work += own.flops + kBytesAsFlops * own.bytes;
    if (!forward) continue;
    const auto op = graph.op(id);
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    const std::vector<baleen_value_t> outputs(op->outputs().begin(), op->outputs().end());
    for (const baleen_value_t v : inputs)
      if (graph.value(v).role == BALEEN_ROLE_PARAMETER && counted.insert(v).second) {
        const auto states = state_bytes.find(graph.master_parameter(v));
        cost.held_bytes += bytes_of(graph.value(v)) + (states == state_bytes.end() ? 0 : states->second);
      }
    for (const baleen_value_t v : outputs) {
      const baleen_value_info_t value = graph.value(v);
      const bool kept = std::any_of(value.users, value.users + value.user_count,
                                    [&](baleen_op_t user) { return graph.info(user).phase == BALEEN_PHASE_BACKWARD; });
      if (kept) cost.kept_bytes += bytes_of(value) / static_cast<double>(placing.micro_batches());
    }
  }
}

}  // namespace baleen::pipeline
