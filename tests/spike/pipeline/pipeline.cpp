/// \file A pipeline of stages as a strategy, to try the interface: every op runs on one coordinate of the axis,
/// micro-batches take turns, a parameter may have several stages, a rank several chunks of the model. Schedules: 1F1B
/// and its interleaved form (Narayanan et al., arXiv 2006.09503 and 2104.04473), and one that fills bubbles with
/// gradients of weights (H1 of Qi et al., arXiv 2401.10241).
#include <algorithm>
#include <map>

#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "pipeline_spike", "1.0.0", "Apache-2.0", "Stages of a model on ranks", 0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "pipeline", "", "",
                                "the mesh axis to work along"),
                  BALEEN_OPTION("schedule", BALEEN_OPTION_STRING, 0, 1, 0, "1f1b", "1f1b|interleaved|zero_bubble|bad",
                                "", "the order of micro-batches; bad: weight gradients before what they are made of"),
                  BALEEN_OPTION("chunks", BALEEN_OPTION_INT, 0, 1, 8, "1", "", "", "of the model on each rank"));

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

using Actions = std::vector<baleen_pipeline_action_t>;

/// What a stage does in turn: forward as far as later stages need it to have something to do, then one of each. With
/// `weights` the stage's number of weight gradients is left for the time when it would wait.
Actions one_forward_one_backward(std::uint32_t stages, std::uint32_t stage, std::uint32_t micro_batches, bool weights) {
  Actions actions;
  std::uint32_t forward = 0, backward = 0, weight = 0;
  while (forward < std::min(stages - 1 - stage, micro_batches))
    actions.push_back({BALEEN_PASS_FORWARD, forward++, 0, 0});
  while (backward < micro_batches) {
    if (forward < micro_batches) actions.push_back({BALEEN_PASS_FORWARD, forward++, 0, 0});
    actions.push_back({BALEEN_PASS_BACKWARD, backward++, 0, 0});
    if (weights && backward > stage) actions.push_back({BALEEN_PASS_WEIGHT_GRADIENTS, weight++, 0, 0});
  }
  while (weights && weight < micro_batches) actions.push_back({BALEEN_PASS_WEIGHT_GRADIENTS, weight++, 0, 0});
  return actions;
}

/// The same for ranks that hold several chunks: groups of as many micro-batches as there are ranks go through all of
/// them. The micro-batches are a multiple of the ranks.
Actions interleaved(std::uint32_t ranks, std::uint32_t rank, std::uint32_t micro_batches, std::uint32_t chunks) {
  const std::uint32_t group = ranks * chunks, all = micro_batches * chunks;
  const auto action = [&](std::uint32_t k, bool forward) -> baleen_pipeline_action_t {
    const std::uint32_t chunk = k % group / ranks, micro = k / group * ranks + k % ranks;
    return {forward ? BALEEN_PASS_FORWARD : BALEEN_PASS_BACKWARD, micro, forward ? chunk : chunks - 1 - chunk, 0};
  };
  const std::uint32_t ahead = std::min(all, (ranks - 1 - rank) * 2 + (chunks - 1) * ranks);
  Actions actions;
  for (std::uint32_t k = 0; k < ahead; ++k) actions.push_back(action(k, true));
  for (std::uint32_t k = 0; k < all; ++k) {
    if (ahead + k < all) actions.push_back(action(ahead + k, true));
    actions.push_back(action(k, false));
  }
  return actions;
}

class Pipeline : public Strategy {
 public:
  static Result<std::unique_ptr<Pipeline>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "pipeline_spike"));
    return std::make_unique<Pipeline>(axis, axis == BALEEN_NONE ? 1 : mesh.size(axis), settings.text("schedule"),
                                      settings.integer("chunks"));
  }

  Pipeline(std::uint32_t axis, std::int64_t ranks, std::string_view schedule, std::int64_t chunks)
      : axis_(axis), ranks_(static_cast<int>(ranks)), chunks_(static_cast<int>(chunks)), schedule_(schedule) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    Stages stages(graph, ranks_ * chunks_);
    for (const baleen_trained_t& trained : placing.trained()) {
      const int stage = stages.of_value(trained.parameter);
      for (std::uint64_t s = 0; s < trained.state_count; ++s)
        if (graph.value(trained.states[s]).rank > 0) {
          stages.set_value(trained.states[s], stage);
          placing.set_storage_sharding(trained.states[s], axis_, here(stage));
        }
      placing.constrain(trained.gradient, axis_, here(stage));
    }
    stages.visit_update();
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).role != BALEEN_ROLE_PARAMETER || stages.of_value(id) == kNoStage) continue;
      placing.set_compute_sharding(id, axis_, here(stages.of_value(id)));
      placing.set_storage_sharding(id, axis_, here(stages.of_value(id)));
    }
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (const auto op = graph.op(id); op && stages.of_op(id) != kNoStage) offer(placing, id, *op, stages.of_op(id));
    stage_of_.clear();
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (graph.op(id) && stages.of_op(id) != kNoStage) stage_of_[id] = stages.of_op(id);
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    for (const auto& [op, stage] : stage_of_)
      if (chunks_ > 1 && op < graph.op_count() && graph.op(op) && graph.info(op).phase != BALEEN_PHASE_UPDATE)
        scheduling.set_chunk(op, static_cast<std::uint32_t>(stage / ranks_));
    for (int rank = 0; rank < ranks_; ++rank)
      scheduling.set_pipeline_schedule(axis_, rank, actions_of(rank, scheduling.micro_batches()));
    return {};
  }

 private:
  Actions actions_of(int rank, std::uint64_t micro_batches) const {
    const auto ranks = static_cast<std::uint32_t>(ranks_), own = static_cast<std::uint32_t>(rank),
               micro = static_cast<std::uint32_t>(micro_batches), chunks = static_cast<std::uint32_t>(chunks_);
    if (schedule_ == "interleaved") return interleaved(ranks, own, micro, chunks);
    Actions actions = one_forward_one_backward(ranks, own, micro, schedule_ != "1f1b");
    if (schedule_ == "bad")
      std::ranges::stable_partition(
          actions, [](const baleen_pipeline_action_t& action) { return action.pass != BALEEN_PASS_BACKWARD; });
    return actions;
  }

  /// The rank that has a stage: chunks go round the ranks.
  baleen_placement_t here(int stage) const { return at(stage % ranks_); }

  /// The op runs as it is, where all its operands are.
  void offer(Placing& placing, baleen_op_t id, const Op& op, int stage) const {
    const std::vector<baleen_placement_t> inputs(op.inputs().size(), here(stage)),
        outputs(op.outputs().size(), here(stage));
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
  int ranks_, chunks_;
  std::string schedule_;
  std::map<baleen_op_t, int> stage_of_;  // of the graph that was placed last
};

}  // namespace
}  // namespace baleen::pipeline_spike

BALEEN_STRATEGY(baleen::pipeline_spike::Pipeline);
