/// \file The strategy `pipeline`: the model is cut into stages, each on one rank along a mesh axis; micro-batches go
/// through them in the order that a table says (table.hpp).
#include <algorithm>
#include <map>

#include "stages.hpp"
#include "text.hpp"

BALEEN_DESCRIPTOR("strategy", "pipeline", "1.0.0", "Apache-2.0", "Stages of the model on ranks, micro-batches in turn",
                  0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "pipeline", "", "",
                                "the mesh axis to work along"),
                  BALEEN_OPTION("schedule", BALEEN_OPTION_STRING, 0, 1, 0, "1f1b",
                                "gpipe|1f1b|interleaved|looped|zero_bubble|zero_bubble_h2|zero_bubble_v|table", "",
                                "the order of the passes of micro-batches"),
                  BALEEN_OPTION("chunks", BALEEN_OPTION_INT, 0, 0, 64, "0", "", "",
                                "of the model on each rank; 0: 2 for interleaved, looped and zero_bubble_v, else 1"),
                  BALEEN_OPTION("table", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "schedule = \"table\": what each rank does, as \"F0 F1 B0 B1\"; F3.1 is of chunk 1"),
                  BALEEN_OPTION("memory_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "0", "", "",
                                "MiB that a stage may hold, as the cut reckons them; 0: no bound"),
                  BALEEN_OPTION("show", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "", "tell the table and the stages"));

namespace baleen::pipeline {
namespace {

struct Options {
  std::string schedule;
  std::uint32_t chunks = 1;
  std::vector<std::string> table;
  double most_bytes = 0;
  bool show = false;
};

Result<Options> read_options(const Settings& settings) {
  Options options{std::string(settings.text("schedule")),
                  static_cast<std::uint32_t>(settings.integer("chunks")),
                  {},
                  settings.number("memory_mb") * 1048576.0,
                  settings.boolean("show")};
  for (const std::string_view line : settings.list("table")) options.table.emplace_back(line);
  if (options.table.empty() == (options.schedule == "table"))
    return options.table.empty()
               ? invalid(
                     "schedule = \"table\" has no table; give `table` a line per rank, as in table = [\"F0 F1 B0 B1\", "
                     "\"F0 B0 F1 B1\"]")
               : invalid("there is a `table`, and schedule = \"" + options.schedule +
                         "\" does not read it; set schedule = \"table\"");
  if (options.chunks == 0) {
    const auto& name = options.schedule;
    options.chunks = name == "interleaved" || name == "looped" || name == "zero_bubble_v" ? 2 : 1;
  }
  return options;
}

class Pipeline : public Strategy {
 public:
  static Result<std::unique_ptr<Pipeline>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "pipeline"));
    BALEEN_TRY_ASSIGN(Options options, read_options(settings));
    const std::uint32_t ranks = axis == kNoAxis ? 1 : static_cast<std::uint32_t>(mesh.size(axis));
    auto made = std::make_unique<Pipeline>(axis, ranks, std::move(options));
    if (ranks > 1) BALEEN_TRY(made->table_for(made->extents(4 * ranks)));  // what is wrong with any micro-batches
    return made;
  }

  Pipeline(std::uint32_t axis, std::uint32_t ranks, Options options)
      : axis_(axis), ranks_(ranks), options_(std::move(options)) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    table_.reset();
    if (ranks_ == 1) return {};
    BALEEN_TRY(prepare(graph, placing));
    GraphStages stages(graph, model_, ranks_ * options_.chunks);
    place_trained(graph, placing, stages);
    stages.visit_update();
    keep_numbers_whole(graph, placing, stages);
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).role != BALEEN_ROLE_PARAMETER || !stages.of_value(id)) continue;
      placing.set_compute_sharding(id, axis_, here(*stages.of_value(id)));
      placing.set_storage_sharding(id, axis_, here(*stages.of_value(id)));
    }
    stage_of_.clear();
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      const Stage stage = op ? stages.of_op(id) : Stage();
      if (!stage) continue;
      offer(placing, id, *op, *stage);
      stage_of_[id] = *stage;
    }
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    if (!table_) return {};
    for (const auto& [op, stage] : stage_of_)
      if (options_.chunks > 1 && op < graph.op_count() && graph.op(op) && graph.info(op).phase != BALEEN_PHASE_UPDATE)
        scheduling.set_chunk(op, stage / ranks_);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
      scheduling.set_pipeline_schedule(axis_, rank, table_->ranks[rank]);
    if (options_.show) BALEEN_TRY(show(scheduling));
    return {};
  }

 private:
  Extents extents(std::uint32_t micro_batches, std::int64_t rows = 0) const {
    return {ranks_, micro_batches, options_.chunks, rows};
  }
  static std::int64_t rows_of(GraphView graph) {
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role == BALEEN_ROLE_INPUT && value.rank > 0 && view(value.axes[0]) == "batch") return value.shape[0];
    }
    return 0;
  }
  Order order() const { return options_.schedule == "zero_bubble_v" ? Order::back : Order::round; }
  /// The rank that has a stage.
  baleen_placement_t here(std::uint32_t stage) const {
    return at(static_cast<int>(rank_of(order(), extents(1), stage)));
  }

  Result<Table> table_for(const Extents& extents) const {
    if (const auto kind = kinds_by_name().find(options_.schedule); kind != kinds_by_name().end())
      return make_table(kind->second, extents);
    Table table{extents, Order::round, {}};
    for (const std::string& line : options_.table) {
      BALEEN_TRY_ASSIGN(Actions actions, parse_actions(line));
      table.ranks.push_back(std::move(actions));
    }
    return table;
  }

  /// The table of the train graph, which comes first, and the model's stages. Programs that learn have no
  /// micro-batches.
  Status prepare(GraphView graph, const Placing& placing) {
    const bool trains = !placing.trained().empty();
    const auto micro_batches = static_cast<std::uint32_t>(placing.micro_batches());
    if (trains && (!model_.chosen || micro_batches > 1)) {
      if (micro_batches < ranks_ && options_.schedule != "table")
        return invalid("a pipeline of " + std::to_string(ranks_) + " ranks needs " + std::to_string(ranks_) +
                       " micro-batches or more to keep them busy, and gradient_accumulation_steps is " +
                       std::to_string(micro_batches) + "; " +
                       set_micro_batches(extents(micro_batches, rows_of(graph)), 2 * ranks_, 1) +
                       ", or make the axis smaller");
      BALEEN_TRY_ASSIGN(Table table, table_for(extents(micro_batches, rows_of(graph))));
      BALEEN_TRY(check_table(table));
      table_ = std::move(table);
    }
    if (!model_.chosen) {
      BALEEN_TRY_ASSIGN(model_, choose_stages(graph, placing, in_flight(), options_.most_bytes));
    }
    return {};
  }

  /// By stage: micro-batches that a stage holds activations of.
  std::vector<std::uint32_t> in_flight() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t stage = 0; stage < ranks_ * options_.chunks; ++stage) {
      Actions own;
      if (table_)
        std::ranges::copy_if(table_->ranks[rank_of(order(), extents(1), stage)], std::back_inserter(own),
                             [&](const Action& action) { return action.chunk == stage / ranks_; });
      all.push_back(table_ ? peak_in_flight(own) : 1);
    }
    return all;
  }

  void place_trained(GraphView& graph, Placing& placing, GraphStages& stages) const {
    for (const baleen_trained_t& trained : placing.trained()) {
      const Stage stage = stages.of_value(trained.parameter);
      if (!stage) continue;
      for (std::uint64_t s = 0; s < trained.state_count; ++s)
        if (graph.value(trained.states[s]).rank > 0) {
          stages.set_value(trained.states[s], stage);
          placing.set_storage_sharding(trained.states[s], axis_, here(*stage));
        }
      placing.constrain(trained.gradient, axis_, here(*stage));
    }
  }

  /// Numbers that the update makes of one parameter are told to all ranks one by one: what adds them up (a norm) then
  /// has the same bits wherever stages end.
  void keep_numbers_whole(GraphView& graph, Placing& placing, const GraphStages& stages) const {
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || !stages.of_op(id) || graph.info(id).phase != BALEEN_PHASE_UPDATE) continue;
      const std::vector<baleen_value_t> outputs(op->outputs().begin(), op->outputs().end());
      for (const baleen_value_t v : outputs)
        if (graph.value(v).rank == 0) placing.constrain(v, axis_, replicate());
    }
  }

  /// The op runs as it is, where all its operands are.
  void offer(Placing& placing, baleen_op_t id, const Op& op, std::uint32_t stage) const {
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

  Status show(Scheduling& scheduling) const {
    std::string text = "the layers of each stage:";
    for (std::uint32_t stage = 0; stage < ranks_ * options_.chunks; ++stage) {
      text += "\n  stage " + std::to_string(stage) + " on rank " + std::to_string(here(stage).argument) + ":";
      for (const std::string& layer : model_.layers)
        if (model_.of_layer.at(layer) == stage && !layer.empty() && !layer.starts_with("#")) text += " " + layer;
    }
    scheduling.note(text);
    BALEEN_TRY_ASSIGN(const std::string drawn, draw(*table_));
    scheduling.note("the schedule \"" + options_.schedule +
                    "\", a backward pass taken as long as two forward passes:" + drawn);
    return {};
  }

  std::uint32_t axis_, ranks_;
  Options options_;
  ModelStages model_;
  std::optional<Table> table_;                     // of the graph that was placed last
  std::map<baleen_op_t, std::uint32_t> stage_of_;  // of that graph
};

}  // namespace
}  // namespace baleen::pipeline

BALEEN_STRATEGY(baleen::pipeline::Pipeline);
