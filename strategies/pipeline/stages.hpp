/// \file Which stage every op and value of a graph belongs to.
#pragma once
#include "layers.hpp"
#include "table.hpp"

namespace baleen::pipeline {

/// The stages of a model, which all graphs of a job have alike: by layer and by parameter.
struct ModelStages {
  std::map<std::string, std::uint32_t> of_layer, of_parameter;
  std::vector<std::string> layers;  ///< in the order in which they run
  bool chosen = false;
};

/// Fills the stages of layers: as the script's `parallel.stage` says, where it does, else by a cut that balances work
/// and memory. `in_flight` by stage. Errors name the place in the script.
Result<ModelStages> choose_stages(GraphView graph, const Placing& placing, const std::vector<std::uint32_t>& in_flight,
                                  double most_bytes);

/// Nothing: every rank computes it.
using Stage = std::optional<std::uint32_t>;

/// The stages of one graph. Parameters belong to the first stage that reads them; a backward op to its forward op's; a
/// sum of gradients from several stages to the first of them; an op of the update where its parameter is.
class GraphStages {
 public:
  GraphStages(GraphView graph, const ModelStages& model, std::uint32_t stages);

  /// Ops of the update, once all parameters and states have their stages.
  void visit_update();

  Stage of_op(baleen_op_t id) const;
  Stage of_value(baleen_value_t id) const { return of_value_[id]; }
  void set_value(baleen_value_t id, Stage stage) { of_value_[id] = stage; }

 private:
  void visit(baleen_op_t id, const Op& op);
  Stage stage_of(baleen_op_t id, const std::vector<baleen_value_t>& inputs);
  Stage forward_stage(const std::vector<baleen_value_t>& inputs) const;
  Stage common_stage(const std::vector<baleen_value_t>& inputs, bool first) const;

  GraphView graph_;
  const ModelStages& model_;
  const std::uint32_t stages_;
  std::map<baleen_op_t, std::uint32_t> of_op_, of_layer_op_;
  std::vector<Stage> of_value_;
};

}  // namespace baleen::pipeline
