#include "stages.hpp"

#include <algorithm>

#include "marks.hpp"

namespace baleen::pipeline {
namespace {

std::vector<baleen_value_t> inputs_of(GraphView& graph, baleen_op_t id) {
  const auto op = graph.op(id);
  return {op->inputs().begin(), op->inputs().end()};
}

/// A parameter is where the first layer is that reads it.
void note_parameters(ModelStages& model, GraphView& graph, const Layer& layer, std::uint32_t stage) {
  for (const baleen_op_t id : layer.ops)
    for (const baleen_value_t v : inputs_of(graph, id)) {
      if (graph.value(v).role != BALEEN_ROLE_PARAMETER) continue;
      const std::string name(view(graph.value(graph.master_parameter(v)).name));
      const auto [at, added] = model.of_parameter.try_emplace(name, stage);
      if (!added) at->second = std::min(at->second, stage);
    }
}

}  // namespace

Result<ModelStages> choose_stages(GraphView graph, const Placing& placing, const std::vector<std::uint32_t>& in_flight,
                                  double most_bytes) {
  std::vector<Layer> layers = layers_of(graph);
  BALEEN_TRY_ASSIGN(std::vector<std::uint32_t> stage_of,
                    marked_stages(layers, graph, static_cast<std::uint32_t>(in_flight.size())));
  if (stage_of.empty()) {
    add_costs(layers, graph, placing);
    CutRequest request{{}, in_flight, most_bytes};
    for (const Layer& layer : layers) request.layers.push_back(layer.cost);
    BALEEN_TRY_ASSIGN(const std::vector<std::uint32_t> counts, cut_layers(request));
    for (std::uint32_t stage = 0; stage < counts.size(); ++stage) stage_of.insert(stage_of.end(), counts[stage], stage);
  }
  ModelStages model;
  model.chosen = true;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const std::string& name : layers[l].names) {
      model.of_layer[name] = stage_of[l];
      model.layers.push_back(name);
    }
    note_parameters(model, graph, layers[l], stage_of[l]);
  }
  return model;
}

GraphStages::GraphStages(GraphView graph, const ModelStages& model, std::uint32_t stages)
    : graph_(graph), model_(model), stages_(stages), of_value_(graph.value_count()) {
  for (const Layer& layer : layers_of(graph))
    for (const std::string& name : layer.names)
      if (const auto found = model_.of_layer.find(name); found != model_.of_layer.end())
        for (const baleen_op_t id : layer.ops) {
          const auto mark = mark_of(graph_, id);
          of_layer_op_.try_emplace(id, mark && mark->stage < stages ? mark->stage : found->second);
        }
  for (baleen_value_t v = 0; v < graph_.value_count(); ++v) {
    if (graph_.value(v).role != BALEEN_ROLE_PARAMETER) continue;
    const std::string name(view(graph_.value(graph_.master_parameter(v)).name));
    if (const auto found = model_.of_parameter.find(name); found != model_.of_parameter.end())
      of_value_[v] = found->second;
  }
  for (const baleen_op_t id : graph_.ordered())
    if (graph_.info(id).phase != BALEEN_PHASE_UPDATE) visit(id, *graph_.op(id));
}

void GraphStages::visit_update() {
  for (const baleen_op_t id : graph_.ordered())
    if (graph_.info(id).phase == BALEEN_PHASE_UPDATE) visit(id, *graph_.op(id));
}

Stage GraphStages::of_op(baleen_op_t id) const {
  const auto found = of_op_.find(id);
  return found == of_op_.end() ? Stage() : found->second;
}

void GraphStages::visit(baleen_op_t id, const Op& op) {
  if (is_source(op) || op.kind() == "assign") return;
  const std::vector<baleen_value_t> inputs(op.inputs().begin(), op.inputs().end());
  const std::vector<baleen_value_t> outputs(op.outputs().begin(), op.outputs().end());
  const Stage stage = stage_of(id, inputs);
  if (!stage) return;
  of_op_[id] = *stage;
  for (const baleen_value_t v : outputs)
    if (graph_.value(v).role != BALEEN_ROLE_PARAMETER) of_value_[v] = stage;
  for (const baleen_value_t v : inputs)
    if (graph_.value(v).role == BALEEN_ROLE_PARAMETER && !of_value_[v]) of_value_[v] = stage;
}

Stage GraphStages::stage_of(baleen_op_t id, const std::vector<baleen_value_t>& inputs) {
  const baleen_op_info_t info = graph_.info(id);
  if (info.phase == BALEEN_PHASE_FORWARD) {
    const auto found = of_layer_op_.find(id);
    const Stage least = forward_stage(inputs);
    if (found == of_layer_op_.end()) return least;
    return std::max(found->second, least.value_or(0));
  }
  if (info.twin != BALEEN_NONE && of_op_.contains(info.twin)) return of_op_[info.twin];
  const bool backward = info.phase == BALEEN_PHASE_BACKWARD;
  const Stage stage = common_stage(inputs, backward);
  return !stage && backward ? Stage(stages_ - 1) : stage;  // what the loss starts from
}

/// Behind all that it reads; parameters count where it reads nothing else.
Stage GraphStages::forward_stage(const std::vector<baleen_value_t>& inputs) const {
  std::uint32_t stage = 0, of_parameters = 0;
  bool any = false;
  for (const baleen_value_t v : inputs) {
    const Stage own = of_value_[v];
    if (!own) continue;
    const bool parameter = graph_.value(v).role == BALEEN_ROLE_PARAMETER;
    (parameter ? of_parameters : stage) = std::max(parameter ? of_parameters : stage, *own);
    any |= !parameter;
  }
  return any ? stage : of_parameters;
}

/// Of a sum of gradients from several stages: the first. What the update makes of numbers alone every rank computes.
Stage GraphStages::common_stage(const std::vector<baleen_value_t>& inputs, bool first) const {
  Stage stage;
  for (const baleen_value_t v : inputs) {
    if (!first && graph_.value(v).rank == 0) continue;
    const Stage own = of_value_[v];
    if (!own) continue;
    if (stage && *own != *stage && !first) return std::nullopt;
    stage = stage ? std::min(*stage, *own) : own;
  }
  return stage;
}

}  // namespace baleen::pipeline
