/// \file A strategy that is wrong on several ranks and right on one: what `baleen verify` is there to find.
/// drop: one sum over ranks is left out; twice: a gradient is divided by the number of ranks once more; state,
/// parameter: its new value is too large by a share of itself (`by`); evaluation: what the held-out loss reads is.
/// Wrong on one rank too: doubled, a gradient.
#include <string>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "mutant", "1.0.0", "Apache-2.0", "Wrong on several ranks", 0, "",
                  BALEEN_OPTION("damage", BALEEN_OPTION_STRING, 0, 1, 0, "none",
                                "none|drop|twice|doubled|state|parameter|replica|evaluation", "",
                                "a sum over ranks left out; one more division; a new value made too large; held-out"),
                  BALEEN_OPTION("of", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "the parameter, or state, by name"),
                  BALEEN_OPTION("by", BALEEN_OPTION_FLOAT, 0, 0, 1, "0.001", "", "", "the share of a value"),
                  BALEEN_OPTION("step", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "the damaged step; 0: all"),
                  BALEEN_OPTION("skip", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "a step that is left out, on one rank too; 0: none"),
                  BALEEN_OPTION("keeps", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "", "a tensor for itself"));

namespace baleen::test {

using namespace sdk;

namespace {

class Mutant : public Strategy {
 public:
  static Result<std::unique_ptr<Mutant>> create(const Host&, const Settings& settings, MeshView mesh) {
    return std::make_unique<Mutant>(settings, mesh);
  }
  Mutant(const Settings& settings, MeshView mesh)
      : damage_(settings.text("damage")),
        of_(settings.text("of")),
        by_(settings.number("by")),
        step_(static_cast<double>(settings.integer("step"))),
        skip_(static_cast<double>(settings.integer("skip"))),
        keeps_(settings.boolean("keeps")) {
    for (std::uint32_t axis = 0; axis < mesh.count(); ++axis) ranks_ *= static_cast<double>(mesh.size(axis));
    axes_ = mesh.count();
  }

  bool claims(std::uint32_t) const override { return false; }

  /// Attempted steps are counted, as an update that is left out counts nowhere else.
  Status gradients(GraphView graph, Gradients gradients) override {
    const Value attempts{graph.table(), graph.add_state("attempts", gradients.dtype(), 0)};
    graph.assign(attempts.id(), (attempts + 1.0).id());
    if (keeps_) {
      const Value kept{graph.table(), graph.add_state("kept", gradients.dtype(), 0, std::vector<std::int64_t>{2})};
      graph.assign(kept.id(), (kept + 1.0).id());
    }
    if (skip_ > 0) gradients.apply(not_equal(attempts, skip_ - 1).id());
    if ((damage_ != "twice" || ranks_ == 1) && damage_ != "doubled") return {};
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (view(all[i].name) != of_) continue;
      const Value value{graph.table(), all[i].value};
      gradients.replace(i, all[i].gradient,
                        select(now(attempts), damage_ == "doubled" ? value * 2.0 : value / ranks_, value).id());
      return {};
    }
    // Another of the job's graphs may train it.
    return find(graph, BALEEN_ROLE_PARAMETER, of_) != BALEEN_NONE ? Status() : invalid("no gradient of `" + of_ + "`");
  }

  /// Called where there are several ranks.
  Status place(GraphView graph, Placing) override {
    const baleen_value_t attempts = find(graph, BALEEN_ROLE_STATE, "mutant.attempts");
    const bool trains = attempts != BALEEN_NONE;
    if (damage_ == "evaluation" && !trains) return damage_loss(graph);
    if (!trains || (damage_ != "state" && damage_ != "parameter")) return {};
    const baleen_value_t target = find(graph, damage_ == "state" ? BALEEN_ROLE_STATE : BALEEN_ROLE_PARAMETER, of_);
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind() != "assign" || op->inputs()[0] != target) continue;
      const Value next{graph.table(), op->inputs()[1]};
      const Value damaged = select(now({graph.table(), attempts}), next * (1 + by_), next);
      graph.amend(id, std::vector{target, damaged.id()});
      return {};
    }
    return invalid("nothing is assigned to `" + of_ + "`");
  }

  Status lower(GraphView graph) override {
    const baleen_value_t attempts = find(graph, BALEEN_ROLE_STATE, "mutant.attempts");
    if (attempts == BALEEN_NONE || (damage_ != "drop" && damage_ != "replica")) return {};
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind() != (damage_ == "drop" ? "all_reduce" : "assign")) continue;
      const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
      if (damage_ == "drop") {
        const baleen_value_t summed = op->outputs()[0];
        if (view(graph.value(summed).name) == of_) return drop(graph, id, inputs[0], summed, attempts);
      } else if (view(graph.value(inputs[0]).name) == of_) {
        return damage_replicas(graph, id, inputs, attempts);
      }
    }
    return invalid("nothing to damage of `" + of_ + "`");
  }

 private:
  /// 1 in the damaged step.
  Value now(Value attempts) const { return step_ > 0 ? equal(attempts, step_ - 1) : less_equal(0.0, attempts); }

  static baleen_value_t find(GraphView graph, baleen_role_t role, const std::string& name) {
    for (baleen_value_t v = 0; v < graph.value_count(); ++v)
      if (const auto value = graph.value(v); value.role == role && view(value.name) == name) return v;
    return BALEEN_NONE;
  }

  static std::vector<std::int64_t> shape_of(const baleen_value_info_t& value) {
    return {value.shape, value.shape + value.rank};
  }
  /// A value that every rank holds whole, as ranks see it and as the graph does.
  static Value open(GraphView graph, baleen_value_t whole) {
    const auto shape = AttributeList().integers("shape", shape_of(graph.value(whole)));
    return {graph.table(), graph.append("to_local", {whole}, shape)};
  }
  static baleen_value_t close(GraphView graph, Value local, baleen_value_t like) {
    const baleen_value_info_t value = graph.value(like);
    const std::vector<baleen_placement_t> layout(value.layout, value.layout + value.layout_count);
    const auto attributes = AttributeList().integers("shape", shape_of(value)).text("layout", layout_text(layout));
    const baleen_value_t closed = graph.append("from_local", {local.id()}, attributes);
    graph.set_layout(closed, layout);
    return closed;
  }
  /// What is appended this late has no layout yet: whole on every rank, also what stands in a local region.
  Value whole(GraphView graph, Value value) const {
    graph.set_layout(value.id(), std::vector<baleen_placement_t>(axes_, replicate()));
    return value;
  }

  /// Each rank goes on with what it has itself.
  Status drop(GraphView graph, baleen_op_t op, baleen_value_t own, baleen_value_t summed, baleen_value_t attempts) {
    graph.follow(op);
    const Value alone{graph.table(), close(graph, open(graph, own), summed)};
    if (step_ == 0) {
      graph.redirect(summed, alone.id());
      return {};
    }
    const Value when = whole(graph, now({graph.table(), attempts}));
    const Value chosen = whole(graph, select(when, alone, Value{graph.table(), summed}));
    graph.redirect(summed, chosen.id(), graph.value(chosen.id()).producer);
    return {};
  }

  Status damage_replicas(GraphView graph, baleen_op_t op, const std::vector<baleen_value_t>& inputs,
                         baleen_value_t attempts) {
    graph.follow(op);
    const baleen_value_t index = graph.append("axis_index", {}, AttributeList().integer("axes", 0));
    const Value rank = whole(graph, cast(whole(graph, {graph.table(), index}), graph.value(inputs[1]).dtype));
    const Value when = whole(graph, now({graph.table(), attempts}));
    const Value next = whole(graph, open(graph, inputs[1]));
    const Value damaged = whole(graph, next * 1.001);
    const Value chosen = whole(graph, select(whole(graph, when * rank), damaged, next));
    graph.amend(op, std::vector{inputs[0], close(graph, chosen, inputs[1])});
    return {};
  }

  static Status damage_loss(GraphView graph) {
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind().find("cross_entropy") == std::string_view::npos) continue;
      std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
      inputs[0] = (Value{graph.table(), inputs[0]} * 1.001).id();
      graph.amend(id, inputs);
      return {};
    }
    return invalid("no loss to damage");
  }

  const std::string damage_, of_;
  const double by_;
  const double step_, skip_;
  const bool keeps_;
  double ranks_ = 1;
  std::uint32_t axes_ = 0;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Mutant);
