/// \file A strategy that plants one fault, of the kinds that users of other frameworks met, at a chosen place.
/// mutants.txt has the list. Everything else of the plan is right.
#include "fault.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "faulty", "1.0.0", "Apache-2.0", "Plants one fault", 0, "",
    BALEEN_OPTION("fault", BALEEN_OPTION_STRING, 0, 0, 0, "none", "", "", "what is wrong; mutants.txt has the list"),
    BALEEN_OPTION(
        "at", BALEEN_OPTION_STRING, 0, 0, 1, "gradient", "gradient|value|update|parameter|region|op", "",
        "the conversion behind a gradient or a parameter, before an update, or that makes a value; what ranks "
        "send within a local region; the op that makes a value"),
    BALEEN_OPTION("of", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "the parameter, state or value, by name"),
    BALEEN_OPTION("nth", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                  "of several of one name; the term of a gradient; the micro-batch"),
    BALEEN_OPTION("along", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "",
                  "the mesh axis of the conversion; without one the outermost"),
    BALEEN_OPTION("other", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "another axis, or another state"),
    BALEEN_OPTION("step", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "the damaged step; 0: all"),
    BALEEN_OPTION("graph", BALEEN_OPTION_STRING, 0, 0, 1, "train", "train|evaluate", "", "the damaged graph"),
    BALEEN_OPTION("open", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "the layouts say what is there, not what ought to be"));

namespace baleen::test {
namespace {

class Faulty : public Strategy {
 public:
  static Result<std::unique_ptr<Faulty>> create(const Host&, const Settings& settings, MeshView mesh) {
    const std::string_view name = settings.text("along");
    const auto along = name.empty() ? std::optional(0u) : mesh.find(name);
    if (!along) return invalid("no mesh axis `" + std::string(name) + "`");
    return std::make_unique<Faulty>(settings, mesh, *along);
  }
  Faulty(const Settings& settings, MeshView mesh, std::uint32_t along) : fault_(settings, mesh, along) {}

  bool claims(std::uint32_t) const override { return false; }

  /// Steps are counted here.
  Status gradients(GraphView graph, Gradients gradients) override {
    const Value attempts{graph.table(), graph.add_state("attempts", gradients.dtype(), 0)};
    graph.assign(attempts.id(), (attempts + 1.0).id());
    Placed placed(graph, fault_);
    if (fault_.is({"stale"}) && fault_.at != "gradient") return use_old_value(placed, gradients, attempts);
    if (fault_.at == "op" || !fault_.is({"zero", "double", "halve", "rounded", "lose", "extra"})) return {};
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (view(all[i].name) != fault_.of) continue;
      const Value value{graph.table(), all[i].value};
      BALEEN_TRY_ASSIGN(const Value wrong, damaged(graph, value));
      gradients.replace(i, all[i].gradient, select(placed.now(attempts), wrong, value).id());
      return {};
    }
    return invalid("no gradient of `" + fault_.of + "`");
  }

  Status place(GraphView graph, Placing placing) override {
    Placed placed(graph, fault_);
    fault_.micro_batches = placing.micro_batches();
    for (const baleen_trained_t& one : placing.trained()) gradients_[placed.name(one.parameter)] = one.gradient;
    if (!placed.is_here()) return {};
    if (fault_.is({"count"})) return damage_count(placed);
    if (fault_.is({"stale"}) && fault_.at == "gradient") return use_old_gradient(placed);
    if (fault_.is({"swap"})) return swap_states(placed);
    if (!fault_.is({"decay", "fast", "frozen", "reset", "large"})) return {};
    const baleen_op_t id = placed.assign_of(fault_.of);
    if (id == BALEEN_NONE) return invalid("nothing is assigned to `" + fault_.of + "`");
    const Value before{graph.table(), graph.op(id)->inputs()[0]}, next{graph.table(), graph.op(id)->inputs()[1]};
    graph.follow(id);
    const Value wrong = fault_.is({"decay"})    ? next - before * 0.001
                        : fault_.is({"fast"})   ? before + (next - before) * 1.3
                        : fault_.is({"reset"})  ? next * 0.0
                        : fault_.is({"frozen"}) ? before * 1.0
                                                : next * 1.001;
    graph.amend(id, std::vector{before.id(), select(placed.now(), wrong, next).id()});
    return {};
  }

  Status lower(GraphView graph) override {
    const Placed placed(graph, fault_);
    if (!placed.is_here()) return {};
    if (fault_.is({"alike"})) return draw_alike(placed);
    if (fault_.is({"redraw"})) return draw_again(placed);
    if (fault_.is({"rows"})) return read_alike(placed);
    if (fault_.is({"replica"})) return damage_replicas(placed);
    if (fault_.is({"missed", "repeated", "last"})) return damage_micro_batches(placed, gradients_);
    if (fault_.at == "op") return damage_value(placed);
    if (!fault_.is({"drop", "own", "twice", "axis", "again", "max", "first", "mean", "sum", "half", "roll", "drift",
                    "part", "root"}))
      return {};
    return damage_conversion(placed, gradients_);
  }

 private:
  Result<Value> damaged(GraphView graph, Value value) const {
    if (fault_.is({"zero"})) return value * 0.0;
    if (fault_.is({"double"})) return value * 2.0;
    if (fault_.is({"halve"})) return value / 2.0;
    if (fault_.is({"rounded"})) return cast(cast(value, BALEEN_BF16), value.info().dtype);
    const auto sum = graph.op(value.info().producer);
    const auto nth = static_cast<std::size_t>(fault_.nth);
    if (sum->kind() != "pointwise" || sum->inputs().size() < 2 || nth >= sum->inputs().size())
      return invalid("the gradient of `" + fault_.of + "` is no sum with a term " + std::to_string(nth));
    const Value term{graph.table(), sum->inputs()[nth]};
    return fault_.is({"lose"}) ? value - term : value + term;
  }

  /// The forward and backward pass read a parameter, or a value, of the step before: it is kept in a state.
  Status use_old_value(Placed placed, const Gradients& gradients, Value attempts) const {
    GraphView& graph = placed.graph;
    const Value right{graph.table(), fault_.at == "parameter" ? placed.find(BALEEN_ROLE_PARAMETER, fault_.of)
                                                              : value_named(placed, fault_.of)};
    if (!right) return invalid("no " + fault_.at + " `" + fault_.of + "`");
    const std::vector<std::int64_t> shape = placed.shape_of(right.id());
    const Value old{graph.table(), graph.add_state("old", gradients.dtype(), 0, shape)};
    graph.follow(fault_.at == "parameter" ? placed.users(right.id())[0] : right.info().producer);
    const Value condition = placed.now(attempts);
    const Value read = select(condition, old, right);
    graph.redirect(right.id(), read.id(), read.info().producer);
    graph.assign(old.id(), right.id());
    return {};
  }
  static baleen_value_t value_named(Placed& placed, const std::string& name) {
    for (const baleen_op_t id : placed.graph.ordered())
      if (const auto op = placed.graph.op(id); !op->outputs().empty())
        if (const baleen_value_t y = op->outputs()[0]; placed.name(y) == name) return y;
    return BALEEN_NONE;
  }

  /// The gradient is that of the step before: `verify` keeps it in a state.
  Status use_old_gradient(Placed placed) const {
    GraphView& graph = placed.graph;
    const baleen_op_t assigned = placed.assign_of("verify.gradient." + fault_.of);
    const auto found = gradients_.find(fault_.of);
    if (assigned == BALEEN_NONE || found == gradients_.end()) return {};  // not under `verify`
    const Value right{graph.table(), found->second}, old{graph.table(), graph.op(assigned)->inputs()[0]};
    graph.follow(assigned);
    const Value copy = cast(right, right.info().dtype);
    graph.redirect(right.id(), copy.id(), copy.info().producer);
    graph.redirect(copy.id(), select(placed.now(), old, right).id());
    return {};
  }

  /// The optimizer counts one update too many.
  Status damage_count(Placed placed) const {
    GraphView& graph = placed.graph;
    const baleen_value_t count = placed.find(BALEEN_ROLE_STATE, fault_.of);
    const baleen_op_t assigned = placed.assign_of(fault_.of);
    if (assigned == BALEEN_NONE) return invalid("no state `" + fault_.of + "`");
    const baleen_op_t own = graph.value(graph.op(assigned)->inputs()[1]).producer;
    graph.follow(own);
    const std::vector<baleen_op_t> users = placed.users(count);
    const Value right{graph.table(), count}, wrong = select(placed.now(), right - -1.0, right);
    for (const baleen_op_t user : users) {
      const auto op = graph.op(user);
      if (user == own || op->kind() == "assign" || op->outputs()[0] == wrong.id()) continue;
      std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
      std::replace(inputs.begin(), inputs.end(), count, wrong.id());
      graph.amend(user, inputs);
    }
    return {};
  }

  /// Two states get each other's new values.
  Status swap_states(Placed placed) const {
    GraphView& graph = placed.graph;
    const baleen_op_t one = placed.assign_of(fault_.of), two = placed.assign_of(fault_.other);
    if (one == BALEEN_NONE || two == BALEEN_NONE)
      return invalid("no states `" + fault_.of + "` and `" + fault_.other + "`");
    const std::vector<baleen_value_t> a(graph.op(one)->inputs().begin(), graph.op(one)->inputs().end());
    const std::vector<baleen_value_t> b(graph.op(two)->inputs().begin(), graph.op(two)->inputs().end());
    graph.follow(one);
    const Value mine{graph.table(), a[1]}, theirs{graph.table(), b[1]}, damages = placed.now();
    graph.amend(one, std::vector{a[0], select(damages, theirs, mine).id()});
    graph.amend(two, std::vector{b[0], select(damages, mine, theirs).id()});
    return {};
  }

  Fault fault_;
  GradientsByName gradients_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Faulty);
