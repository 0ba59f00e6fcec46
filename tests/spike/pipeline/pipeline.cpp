/// \file A pipeline of stages with the schedule 1F1B (Narayanan et al., arXiv 2006.09503 and 2104.04473) as a strategy,
/// to try the interface: every op runs on one coordinate of the axis, micro-batches take turns, a parameter may have
/// several stages.
#include <map>

#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "pipeline_spike", "1.0.0", "Apache-2.0", "Stages of a model on ranks, by 1F1B", 0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "pipeline", "", "",
                                "the mesh axis to work along"));

namespace baleen::pipeline_spike {

using namespace sdk;

namespace {

constexpr int kNoStage = -1;

/// The stage of every op and value.
class Stages {
 public:
  Stages(GraphView& graph, int stages) : graph_(graph), stages_(stages), of_value_(graph.value_count(), kNoStage) {
    const std::vector<baleen_op_t> ordered = graph.ordered();
    count(ordered);
    for (const baleen_op_t id : ordered)
      if (graph.info(id).phase != BALEEN_PHASE_UPDATE) visit(id, *graph.op(id));
  }

  /// Once all parameters and states have their stages.
  void visit_update() {
    for (const baleen_op_t id : graph_.ordered())
      if (graph_.info(id).phase == BALEEN_PHASE_UPDATE) visit(id, *graph_.op(id));
  }

  int of_op(baleen_op_t id) const {
    const auto found = of_op_.find(id);
    return found == of_op_.end() ? kNoStage : found->second;
  }
  int of_value(baleen_value_t id) const { return of_value_[id]; }
  void set_value(baleen_value_t id, int stage) { of_value_[id] = stage; }

 private:
  static bool is_source(const Op& op) { return op.inputs().empty(); }

  /// Blocks, where ops are tagged with theirs; else forward ops.
  void count(const std::vector<baleen_op_t>& ordered) {
    for (const baleen_op_t id : ordered) {
      const auto op = graph_.op(id);
      if (is_source(*op) || graph_.info(id).phase != BALEEN_PHASE_FORWARD) continue;
      const std::string block(graph_.tag(id, "block"));
      if (!block.empty()) blocks_ = std::max(blocks_, std::stoi(block) + 1);
      order_[id] = ops_++;
    }
  }

  void visit(baleen_op_t id, const Op& op) {
    if (is_source(op) || op.kind() == "assign") return;
    const std::vector<baleen_value_t> inputs(op.inputs().begin(), op.inputs().end());
    const std::vector<baleen_value_t> outputs(op.outputs().begin(), op.outputs().end());
    const int stage = stage_of(id, inputs);
    if (stage == kNoStage) return;
    of_op_[id] = stage;
    for (const baleen_value_t v : outputs) of_value_[v] = stage;
    for (const baleen_value_t v : inputs)
      if (graph_.value(v).role == BALEEN_ROLE_PARAMETER && of_value_[v] == kNoStage) of_value_[v] = stage;
  }

  int stage_of(baleen_op_t id, const std::vector<baleen_value_t>& inputs) {
    const baleen_op_info_t info = graph_.info(id);
    if (info.phase == BALEEN_PHASE_FORWARD) return forward_stage(id, inputs);
    if (info.twin != BALEEN_NONE && of_op_.contains(info.twin)) return of_op_[info.twin];
    const bool backward = info.phase == BALEEN_PHASE_BACKWARD;
    const int stage = common_stage(inputs, backward);
    return stage == kNoStage && backward ? stages_ - 1 : stage;  // what the loss starts from
  }

  int forward_stage(baleen_op_t id, const std::vector<baleen_value_t>& inputs) {
    if (blocks_ == 0) return order_[id] * stages_ / ops_;
    const std::string block(graph_.tag(id, "block"));
    if (!block.empty()) return std::stoi(block) * stages_ / blocks_;
    int stage = 0;
    for (const baleen_value_t v : inputs) stage = std::max(stage, of_value_[v]);
    return stage;
  }

  /// Of a sum of gradients from several stages: the first. What the update makes of numbers alone every rank computes.
  int common_stage(const std::vector<baleen_value_t>& inputs, bool first) const {
    int stage = kNoStage;
    for (const baleen_value_t v : inputs) {
      if (!first && graph_.value(v).rank == 0) continue;
      const int own = of_value_[v];
      if (own == kNoStage) continue;
      if (stage != kNoStage && own != stage && !first) return kNoStage;
      stage = stage == kNoStage ? own : std::min(stage, own);
    }
    return stage;
  }

  GraphView& graph_;
  int stages_, blocks_ = 0, ops_ = 0;
  std::map<baleen_op_t, int> order_, of_op_;
  std::vector<int> of_value_;
};

/// What a stage does in turn: forward as far as later stages need it to have something to do, then one of each.
std::vector<baleen_pipeline_action_t> one_forward_one_backward(std::uint32_t stages, std::uint32_t stage,
                                                               std::uint32_t micro_batches) {
  std::vector<baleen_pipeline_action_t> actions;
  std::uint32_t forward = 0, backward = 0;
  while (forward < std::min(stages - 1 - stage, micro_batches)) actions.push_back({BALEEN_PASS_FORWARD, forward++});
  while (backward < micro_batches) {
    if (forward < micro_batches) actions.push_back({BALEEN_PASS_FORWARD, forward++});
    actions.push_back({BALEEN_PASS_BACKWARD, backward++});
  }
  return actions;
}

class Pipeline : public Strategy {
 public:
  static Result<std::unique_ptr<Pipeline>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "pipeline_spike"));
    return std::make_unique<Pipeline>(axis);
  }

  explicit Pipeline(std::uint32_t axis) : axis_(axis) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    Stages stages(graph, static_cast<int>(placing.mesh().size(axis_)));
    for (const baleen_trained_t& trained : placing.trained()) {
      const int stage = stages.of_value(trained.parameter);
      for (std::uint64_t s = 0; s < trained.state_count; ++s)
        if (graph.value(trained.states[s]).rank > 0) {
          stages.set_value(trained.states[s], stage);
          placing.set_storage_sharding(trained.states[s], axis_, at(stage));
        }
      placing.constrain(trained.gradient, axis_, at(stage));
    }
    stages.visit_update();
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).role != BALEEN_ROLE_PARAMETER || stages.of_value(id) == kNoStage) continue;
      placing.set_compute_sharding(id, axis_, at(stages.of_value(id)));
      placing.set_storage_sharding(id, axis_, at(stages.of_value(id)));
    }
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (const auto op = graph.op(id); op && stages.of_op(id) != kNoStage) offer(placing, id, *op, stages.of_op(id));
    return {};
  }

  Status schedule(GraphView, Scheduling scheduling) override {
    const auto stages = static_cast<std::uint32_t>(scheduling.mesh().size(axis_));
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      scheduling.set_pipeline_schedule(axis_, stage,
                                       one_forward_one_backward(stages, stage, scheduling.micro_batches()));
    return {};
  }

 private:
  /// The op runs as it is, where all its operands are.
  void offer(Placing& placing, baleen_op_t id, const Op& op, int stage) const {
    const std::vector<baleen_placement_t> inputs(op.inputs().size(), at(stage)),
        outputs(op.outputs().size(), at(stage));
    const std::string name = "stage " + std::to_string(stage);
    baleen_candidate_t offer{};
    offer.size = sizeof(offer);
    offer.op = id;
    offer.exclusive = 1;
    offer.run_unmodified = 1;
    offer.name = abi(name);
    offer.axes = &axis_;
    offer.axis_count = 1;
    offer.inputs = inputs.data();
    offer.outputs = outputs.data();
    placing.add_candidate(offer);
  }

  std::uint32_t axis_;
};

}  // namespace
}  // namespace baleen::pipeline_spike

BALEEN_STRATEGY(baleen::pipeline_spike::Pipeline);
