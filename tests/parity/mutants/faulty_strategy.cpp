/// \file A strategy that plants one fault, of the kinds that users of other frameworks met, at a chosen place.
/// mutants.txt has the list. Everything else of the plan is right.
#include <algorithm>
#include <map>
#include <string>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "faulty", "1.0.0", "Apache-2.0", "Plants one fault", 0, "",
    BALEEN_OPTION("fault", BALEEN_OPTION_STRING, 0, 0, 0, "none", "", "", "what is wrong; mutants.txt has the list"),
    BALEEN_OPTION("at", BALEEN_OPTION_STRING, 0, 0, 1, "gradient", "gradient|value|update|parameter", "",
                  "the conversion behind a gradient or a parameter, before an update, or that makes a value"),
    BALEEN_OPTION("of", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "the parameter, state or value, by name"),
    BALEEN_OPTION("nth", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "of several of one name"),
    BALEEN_OPTION("along", BALEEN_OPTION_STRING, 0, 0, 0, "data", "", "", "the mesh axis of the conversion"),
    BALEEN_OPTION("other", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "", "another axis, or another state"),
    BALEEN_OPTION("step", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "", "the damaged step; 0: all"),
    BALEEN_OPTION("graph", BALEEN_OPTION_STRING, 0, 0, 1, "train", "train|evaluate", "", "the damaged graph"),
    BALEEN_OPTION("open", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "the layouts say what is there, not what ought to be"));

namespace baleen::test {

using namespace sdk;

namespace {

using Layout = std::vector<baleen_placement_t>;

class Faulty : public Strategy {
 public:
  static Result<std::unique_ptr<Faulty>> create(const Host&, const Settings& settings, MeshView mesh) {
    const auto along = mesh.find(settings.text("along"));
    if (!along) return invalid("no mesh axis `" + std::string(settings.text("along")) + "`");
    return std::make_unique<Faulty>(settings, mesh, *along);
  }
  Faulty(const Settings& settings, MeshView mesh, std::uint32_t along)
      : fault_(settings.text("fault")),
        at_(settings.text("at")),
        of_(settings.text("of")),
        other_(settings.text("other")),
        nth_(settings.integer("nth")),
        step_(static_cast<double>(settings.integer("step"))),
        evaluates_(settings.text("graph") == "evaluate"),
        open_(settings.boolean("open")),
        mesh_(mesh),
        along_(along),
        ranks_(static_cast<double>(mesh.size(along))) {}

  bool claims(std::uint32_t) const override { return false; }

  /// Steps are counted here.
  Status gradients(GraphView graph, Gradients gradients) override {
    const Value attempts{graph.table(), graph.add_state("attempts", gradients.dtype(), 0)};
    graph.assign(attempts.id(), (attempts + 1.0).id());
    if (!is_one_of({"zero", "double", "halve", "rounded"})) return {};
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (view(all[i].name) != of_) continue;
      const Value value{graph.table(), all[i].value};
      gradients.replace(i, all[i].gradient, select(now(attempts), damaged(value), value).id());
      return {};
    }
    return invalid("no gradient of `" + of_ + "`");
  }

  Status place(GraphView graph, Placing placing) override {
    for (const baleen_trained_t& one : placing.trained())
      gradients_[std::string(view(graph.value(one.parameter).name))] = one.gradient;
    if (!is_here(graph)) return {};
    if (fault_ == "count") return damage_count(graph);
    if (fault_ == "stale") return use_old_gradient(graph);
    if (fault_ == "swap") return swap_states(graph);
    if (!is_one_of({"decay", "fast", "frozen", "reset", "large"})) return {};
    const baleen_op_t id = assign_of(graph, of_);
    if (id == BALEEN_NONE) return invalid("nothing is assigned to `" + of_ + "`");
    const Value before{graph.table(), graph.op(id)->inputs()[0]}, next{graph.table(), graph.op(id)->inputs()[1]};
    graph.follow(id);
    const Value wrong = fault_ == "decay"    ? next - before * 0.001
                        : fault_ == "fast"   ? before + (next - before) * 1.3
                        : fault_ == "reset"  ? next * 0.0
                        : fault_ == "frozen" ? before * 1.0
                                             : next * 1.001;
    graph.amend(id, std::vector{before.id(), select(now(attempts(graph)), wrong, next).id()});
    return {};
  }

  Status lower(GraphView graph) override {
    if (!is_here(graph)) return {};
    if (fault_ == "alike") return draw_alike(graph);
    if (fault_ == "rows") return read_alike(graph);
    if (fault_ == "replica") return damage_replicas(graph);
    if (!is_one_of({"drop", "own", "twice", "axis", "again", "max", "first", "mean", "sum", "half", "roll", "drift"}))
      return {};
    const baleen_op_t id = conversion(graph);
    if (id == BALEEN_NONE) return invalid("no conversion at `" + of_ + "` along `" + name(along_) + "`");
    graph.follow(id);
    const baleen_value_t y = graph.op(id)->outputs()[0];
    const Layout layout = layout_of(graph, y);
    // What reads y reads a copy, so that the fault may read y itself.
    const baleen_value_t copy = graph.cast(y, graph.value(y).dtype);
    graph.set_layout(copy, layout);
    graph.redirect(y, copy, graph.value(copy).producer);
    Value wrong = wrong_result(graph, id);
    if (step_ > 0) {
      const Value chosen = with(graph, select(when(graph), wrong, Value{graph.table(), y}), layout);
      wrong = with(graph, cast(chosen, graph.value(y).dtype), layout);  // one of 16 bits was made wider
    }
    graph.redirect(copy, wrong.id());
    return {};
  }

 private:
  bool is_one_of(std::initializer_list<const char*> faults) const {
    return std::any_of(faults.begin(), faults.end(), [&](const char* fault) { return fault_ == fault; });
  }
  std::string name(std::uint32_t axis) const { return std::string(mesh_.name(axis)); }
  std::uint32_t other() const {
    const auto found = mesh_.find(other_);
    if (!found) throw std::invalid_argument("no mesh axis `" + other_ + "`");
    return *found;
  }

  // --- the graph

  static baleen_value_t find(GraphView graph, baleen_role_t role, const std::string& name) {
    for (baleen_value_t v = 0; v < graph.value_count(); ++v)
      if (const auto value = graph.value(v); value.role == role && view(value.name) == name) return v;
    return BALEEN_NONE;
  }
  static Value attempts(GraphView graph) { return {graph.table(), find(graph, BALEEN_ROLE_STATE, "faulty.attempts")}; }
  bool is_here(GraphView graph) const { return static_cast<bool>(attempts(graph)) != evaluates_; }

  /// 1 in the damaged step.
  Value now(Value attempts) const { return step_ > 0 ? equal(attempts, step_ - 1) : less_equal(0.0, attempts); }
  Value when(GraphView graph) const { return with(graph, now(attempts(graph)), whole()); }

  static baleen_op_t assign_of(GraphView graph, const std::string& target) {
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (const auto op = graph.op(id); op && op->kind() == "assign")
        if (const baleen_value_t v = op->inputs()[0]; view(graph.value(v).name) == target) return id;
    return BALEEN_NONE;
  }

  bool is_conversion(GraphView graph, baleen_op_t id) const {
    const auto op = graph.op(id);
    return op && op->has("from") && op->has("axes");
  }
  bool is_along(GraphView graph, baleen_op_t id) const {
    const auto op = graph.op(id);
    return op->integers("axes").size() == 1 && op->integers("axes")[0] == along_ && op->kind() != "take_partial";
  }

  /// The conversion to damage, or BALEEN_NONE.
  baleen_op_t conversion(GraphView graph) const {
    if (at_ == "gradient") {
      const auto found = gradients_.find(of_);
      return found == gradients_.end() ? BALEEN_NONE : behind(graph, found->second);
    }
    if (at_ == "parameter") return behind(graph, find(graph, BALEEN_ROLE_PARAMETER, of_));
    if (at_ == "update") return before(graph, graph.op(assign_of(graph, of_))->inputs()[1]);
    std::int64_t left = nth_;
    for (const baleen_op_t id : graph.ordered())
      if (is_conversion(graph, id) && is_along(graph, id))
        if (const baleen_value_t y = graph.op(id)->outputs()[0]; view(graph.value(y).name) == of_ && left-- == 0)
          return id;
    return BALEEN_NONE;
  }
  baleen_op_t behind(GraphView graph, baleen_value_t value) const {
    const baleen_value_info_t info = graph.value(value);
    const std::vector<baleen_op_t> users(info.users, info.users + info.user_count);
    for (const baleen_op_t user : users)
      if (is_conversion(graph, user) && is_along(graph, user)) return user;
    for (const baleen_op_t user : users)
      if (is_conversion(graph, user))
        if (const baleen_op_t found = behind(graph, graph.op(user)->outputs()[0]); found != BALEEN_NONE) return found;
    return BALEEN_NONE;
  }
  baleen_op_t before(GraphView graph, baleen_value_t value) const {
    const baleen_op_t producer = graph.value(value).producer;
    if (!is_conversion(graph, producer)) return BALEEN_NONE;
    return is_along(graph, producer) ? producer : before(graph, graph.op(producer)->inputs()[0]);
  }

  // --- layouts

  Layout whole() const { return Layout(mesh_.count(), replicate()); }
  static Layout layout_of(GraphView graph, baleen_value_t value) {
    const baleen_value_info_t info = graph.value(value);
    return {info.layout, info.layout + info.layout_count};
  }
  static Layout changed(Layout layout, std::uint32_t axis, baleen_placement_t placement) {
    layout[axis] = placement;
    return layout;
  }
  /// What is appended this late has no layout yet.
  static Value with(GraphView graph, Value value, const Layout& layout) {
    graph.set_layout(value.id(), layout);
    return value;
  }
  static std::vector<std::int64_t> shape_of(GraphView graph, baleen_value_t value) {
    const baleen_value_info_t info = graph.value(value);
    return {info.shape, info.shape + info.rank};
  }
  std::vector<std::int64_t> piece_of(std::vector<std::int64_t> shape, const Layout& layout) const {
    for (std::uint32_t axis = 0; axis < layout.size(); ++axis)
      if (layout[axis].kind == BALEEN_SHARD || layout[axis].kind == BALEEN_SHARD_BALANCED) {
        std::int64_t& extent = shape[static_cast<std::size_t>(layout[axis].argument)];
        extent = (extent + mesh_.size(axis) - 1) / mesh_.size(axis);
      }
    return shape;
  }

  Value to_local(GraphView graph, Value value) const {
    const auto shape = piece_of(shape_of(graph, value.id()), layout_of(graph, value.id()));
    return {graph.table(), graph.append("to_local", {value.id()}, AttributeList().integers("shape", shape))};
  }
  static Value from_local(GraphView graph, Value local, const std::vector<std::int64_t>& shape, const Layout& layout) {
    const auto attributes = AttributeList().integers("shape", shape).text("layout", layout_text(layout));
    return with(graph, {graph.table(), graph.append("from_local", {local.id()}, attributes)}, layout);
  }
  /// The same numbers, said to lie otherwise; with `open` nothing is said.
  Value relabel(GraphView graph, Value value, const Layout& layout) const {
    if (open_) return value;
    return from_local(graph, to_local(graph, value), shape_of(graph, value.id()), layout);
  }
  static Value convert(GraphView graph, std::string_view kind, Value value, std::uint32_t axis, std::string_view from,
                       std::string_view to, const Layout& layout) {
    const auto attributes = AttributeList().integers("axes", {axis}).text("from", from).text("to", to);
    return with(graph, {graph.table(), graph.append(kind, {value.id()}, attributes)}, layout);
  }
  Value collective_of_pieces(GraphView graph, Value value, std::string_view kind, AttributeList attributes,
                             const Layout& layout) const {
    attributes.integers("axes", {along_});
    const Value local{graph.table(), graph.append(kind, {to_local(graph, value).id()}, attributes)};
    return from_local(graph, local, shape_of(graph, value.id()), layout);
  }

  // --- faults of conversions

  Value wrong_result(GraphView graph, baleen_op_t id) const {
    const Op op = *graph.op(id);
    const std::string kind(op.kind()), from(op.text("from")), to(op.text("to"));
    const AttributeList attributes = AttributeList::of(op);
    const Value x{graph.table(), op.inputs()[0]}, y{graph.table(), op.outputs()[0]};
    const Layout before = layout_of(graph, x.id()), after = layout_of(graph, y.id());
    const Layout summed = changed(before, along_, replicate());
    /// The rank's part of what it has whole along the axis.
    const auto part = [&](Value value) {
      return to == "R" ? value : convert(graph, "take_shard", value, along_, "R", to, after);
    };
    const auto repeat = [&](Value value) {
      return with(graph, {graph.table(), graph.append(kind, {value.id()}, attributes)}, after);
    };
    if (fault_ == "drop") return part(relabel(graph, x, summed));
    if (fault_ == "own") return part(with(graph, relabel(graph, x, summed) * ranks_, open_ ? before : summed));
    if (fault_ == "twice") {
      const Value once = to == "R" ? y : convert(graph, "all_reduce", x, along_, "P", "R", summed);
      return repeat(relabel(graph, once, before));
    }
    if (fault_ == "axis") {
      const Value moved = relabel(graph, x, changed(summed, other(), partial_sum()));
      return part(convert(graph, "all_reduce", moved, other(), "P", "R", summed));
    }
    if (fault_ == "again") {
      const Value partial = relabel(graph, x, changed(before, other(), partial_sum()));
      return repeat(convert(graph, "all_reduce", partial, other(), "P", "R", before));
    }
    if (fault_ == "max")
      return part(open_
                      ? convert(graph, "all_reduce", x, along_, "Pmax", "R", summed)
                      : collective_of_pieces(graph, x, "all_reduce", AttributeList().text("reduction", "max"), summed));
    if (fault_ == "first")
      return part(open_ ? convert(graph, "broadcast", x, along_, "@0", "R", summed)
                        : collective_of_pieces(graph, x, "broadcast", AttributeList().integer("root", 0), summed));
    if (fault_ == "mean") return with(graph, y / ranks_, after);
    if (fault_ == "sum") return with(graph, y * ranks_, after);
    if (fault_ == "half") {
      const Value coarse = with(graph, cast(y, BALEEN_BF16), after);
      return with(graph, cast(coarse, y.info().dtype), after);
    }
    if (fault_ == "drift") {
      const Value piece = open_ ? y : to_local(graph, y);
      const Value wrong =
          with(graph, piece * with(graph, rank(graph, y.info().dtype) * 0.001 + 1.0, whole()), open_ ? after : whole());
      return open_ ? wrong : from_local(graph, wrong, shape_of(graph, y.id()), after);
    }
    return roll(graph, y, after);
  }

  /// The place on the axis.
  Value rank(GraphView graph, baleen_dtype_t dtype) const {
    const Value index{graph.table(), graph.append("axis_index", {}, AttributeList().integers("axes", {along_}))};
    return with(graph, cast(with(graph, index, whole()), dtype), whole());
  }

  /// Pieces joined in another order: each stands where the one before belongs.
  Value roll(GraphView graph, Value y, const Layout& layout) const {
    const std::vector<std::int64_t> shape = shape_of(graph, y.id());
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const std::int64_t piece = count / static_cast<std::int64_t>(ranks_);
    const auto add = [&](std::string_view kind, std::initializer_list<baleen_value_t> inputs,
                         const AttributeList& attributes) {
      return with(graph, {graph.table(), graph.append(kind, inputs, attributes)}, layout).id();
    };
    const auto slice = [&](baleen_value_t v, std::int64_t start, std::int64_t length) {
      return add("slice", {v}, AttributeList().integer("dim", 0).integer("start", start).integer("length", length));
    };
    const baleen_value_t flat = add("reshape", {y.id()}, AttributeList().integers("shape", {count}));
    const baleen_value_t rest = slice(flat, piece, count - piece), first = slice(flat, 0, piece);
    const baleen_value_t joined = add("concat", {rest, first}, AttributeList().integer("dim", 0));
    return {graph.table(), add("reshape", {joined}, AttributeList().integers("shape", shape))};
  }

  // --- other faults

  Value damaged(Value value) const {
    if (fault_ == "zero") return value * 0.0;
    if (fault_ == "double") return value * 2.0;
    if (fault_ == "halve") return value / 2.0;
    return cast(cast(value, BALEEN_BF16), value.info().dtype);
  }

  /// The gradient is that of the step before: `verify` keeps it in a state.
  Status use_old_gradient(GraphView graph) const {
    const std::string kept = "verify.gradient." + of_;
    const baleen_op_t assigned = assign_of(graph, kept);
    const auto found = gradients_.find(of_);
    if (assigned == BALEEN_NONE || found == gradients_.end()) return {};  // not under `verify`
    const Value right{graph.table(), found->second}, old{graph.table(), graph.op(assigned)->inputs()[0]};
    graph.follow(assigned);
    const Value copy = cast(right, right.info().dtype);
    graph.redirect(right.id(), copy.id(), copy.info().producer);
    graph.redirect(copy.id(), select(now(attempts(graph)), old, right).id());
    return {};
  }

  /// The optimizer counts one update too many.
  Status damage_count(GraphView graph) const {
    const baleen_value_t count = find(graph, BALEEN_ROLE_STATE, of_);
    const baleen_op_t assigned = assign_of(graph, of_);
    if (assigned == BALEEN_NONE) return invalid("no state `" + of_ + "`");
    const baleen_op_t own = graph.value(graph.op(assigned)->inputs()[1]).producer;
    graph.follow(own);
    const baleen_value_info_t info = graph.value(count);
    const std::vector<baleen_op_t> users(info.users, info.users + info.user_count);
    const Value right{graph.table(), count}, wrong = select(now(attempts(graph)), right - -1.0, right);
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
  Status swap_states(GraphView graph) const {
    const baleen_op_t one = assign_of(graph, of_), two = assign_of(graph, other_);
    if (one == BALEEN_NONE || two == BALEEN_NONE) return invalid("no states `" + of_ + "` and `" + other_ + "`");
    const std::vector<baleen_value_t> a(graph.op(one)->inputs().begin(), graph.op(one)->inputs().end());
    const std::vector<baleen_value_t> b(graph.op(two)->inputs().begin(), graph.op(two)->inputs().end());
    graph.follow(one);
    const Value mine{graph.table(), a[1]}, theirs{graph.table(), b[1]}, damages = now(attempts(graph));
    graph.amend(one, std::vector{a[0], select(damages, theirs, mine).id()});
    graph.amend(two, std::vector{b[0], select(damages, mine, theirs).id()});
    return {};
  }

  /// Copies of a parameter drift apart.
  Status damage_replicas(GraphView graph) const {
    const baleen_op_t id = assign_of(graph, of_);
    if (id == BALEEN_NONE) return invalid("nothing is assigned to `" + of_ + "`");
    graph.follow(id);
    const Value target{graph.table(), graph.op(id)->inputs()[0]}, next{graph.table(), graph.op(id)->inputs()[1]};
    const Layout layout = layout_of(graph, next.id());
    const Value piece = open_ ? next : to_local(graph, next);
    const Layout inside = open_ ? layout : whole();
    const Value by = with(graph, rank(graph, next.info().dtype) * 0.001, whole());
    const Value off = with(graph, with(graph, by * when(graph), whole()) + 1.0, whole());
    const Value wrong = with(graph, piece * off, inside);
    const Value closed = open_ ? wrong : from_local(graph, wrong, shape_of(graph, next.id()), layout);
    graph.amend(id, std::vector{target.id(), closed.id()});
    return {};
  }

  /// Every rank draws random numbers for its piece as if it were the first.
  Status draw_alike(GraphView graph) const {
    for (const baleen_op_t id : graph.ordered()) {
      const auto op = graph.op(id);
      if (op->kind() != "pointwise" || op->outputs().size() != 1) continue;
      const baleen_value_t y = op->outputs()[0];
      if (view(graph.value(y).name) != of_) continue;
      const AttributeList attributes = AttributeList::of(*graph.op(id));
      const std::vector<baleen_value_t> inputs(graph.op(id)->inputs().begin(), graph.op(id)->inputs().end());
      graph.follow(id);
      std::vector<baleen_value_t> pieces;
      for (const baleen_value_t v : inputs) pieces.push_back(to_local(graph, {graph.table(), v}).id());
      const Value local{graph.table(), graph.append("pointwise", pieces, attributes)};
      const Value wrong = from_local(graph, local, shape_of(graph, y), layout_of(graph, y));
      graph.redirect(y, wrong.id());
      return {};
    }
    return invalid("nothing random is `" + of_ + "`");
  }

  /// Every rank reads the first one's rows.
  Status read_alike(GraphView graph) const {
    const baleen_value_t rows = find(graph, BALEEN_ROLE_INPUT, of_);
    if (rows == BALEEN_NONE) return invalid("no input `" + of_ + "`");
    graph.follow(graph.value(rows).producer);
    const Value own = to_local(graph, {graph.table(), rows});
    const auto attributes = AttributeList().integers("axes", {along_}).integer("root", 0);
    const Value first{graph.table(), graph.append("broadcast", {own.id()}, attributes)};
    const Value wrong = from_local(graph, first, shape_of(graph, rows), layout_of(graph, rows));
    graph.redirect(rows, wrong.id(), graph.value(own.id()).producer);
    return {};
  }

  const std::string fault_, at_, of_, other_;
  const std::int64_t nth_;
  const double step_;
  const bool evaluates_, open_;
  const MeshView mesh_;
  const std::uint32_t along_;
  const double ranks_;
  std::map<std::string, baleen_value_t> gradients_;  ///< by parameter, of the train graph
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Faulty);
