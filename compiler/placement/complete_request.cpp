/// \file Checks a placement request and fills in what it leaves open.
#include "compiler/placement/passes.hpp"

#include <algorithm>

namespace baleen {
namespace {

class Completer {
 public:
  Completer(const Graph& graph, PlacementRequest request) : graph_(graph), request_(std::move(request)) {}

  Result<PlacementRequest> run() {
    request_.cuts.resize(std::max(request_.cuts.size(), axes()));
    if (request_.cuts.size() != axes()) return internal("a placement request for another mesh");
    BALEEN_TRY(check_layouts(request_.used, "used"));
    BALEEN_TRY(check_layouts(request_.stored, "stored"));
    for (auto& [value, pin] : request_.pins) BALEEN_TRY(check_pin(value, pin));
    for (const Offer& offer : request_.offers) BALEEN_TRY(check_offer(offer));
    nest_gathered_inside();
    for (const TrainedParameter& trained : request_.trained) default_states(trained);
    default_sources();
    for (const TrainedParameter& trained : request_.trained) nest_states(trained);
    for (const TrainedParameter& trained : request_.trained) pin_gradient(trained);
    return std::move(request_);
  }

 private:
  std::size_t axes() const { return graph_.mesh().axes.size(); }
  std::string name(ValueId v) const {
    return "`" + (graph_.value(v).name.empty() ? "%" + std::to_string(v) : graph_.value(v).name.str()) + "`";
  }

  /// One rank has all there is: nothing is cut, partial or elsewhere on an axis of size 1.
  Layout simplified(Layout layout) const {
    for (std::size_t i = 0; i < layout.size() && i < axes(); ++i)
      if (graph_.mesh().axes[i].size == 1) layout[i] = Placement::replicate();
    return canonical(std::move(layout));
  }

  Status check_layouts(std::map<ValueId, Layout>& layouts, const std::string& how) {
    for (auto& [value, layout] : layouts) {
      if (value >= graph_.value_count()) return internal("a placement request for a value that does not exist");
      layout = simplified(std::move(layout));
      if (Status status = check(layout, graph_.value(value).shape, graph_.mesh()); !status)
        return invalid(name(value) + " cannot be " + how + " so: " + status.error().message);
      const auto partial =
          std::find_if(layout.begin(), layout.end(), [](const Placement& p) { return p.is_partial(); });
      if (partial != layout.end())
        return invalid(name(value) + " cannot be " + how + " as " + to_string(layout) +
                       ": a persistent value is never partial");
    }
    return {};
  }

  Status check_pin(ValueId value, Pin& pin) {
    if (value >= graph_.value_count()) return internal("a placement request for a value that does not exist");
    if (pin.placements.size() != axes()) return internal(name(value) + " is pinned on another number of axes");
    Layout layout(axes(), Placement::replicate());
    for (std::size_t i = 0; i < axes(); ++i) {
      if (!pin.placements[i]) continue;
      if (graph_.mesh().axes[i].size == 1) pin.placements[i] = Placement::replicate();
      layout[i] = *pin.placements[i];
    }
    if (Status status = check(canonical(layout), graph_.value(value).shape, graph_.mesh()); !status)
      return invalid(name(value) + " cannot be pinned so: " + status.error().message);
    return {};
  }

  Status check_offer(const Offer& offer) {
    const std::string what =
        "the candidate `" + offer.name + "`" + (offer.owner.empty() ? "" : " of `" + offer.owner + "`");
    if (offer.op >= graph_.op_count() || !graph_.op(offer.op).live)
      return internal(what + " is for an op that does not exist");
    const Op& op = graph_.op(offer.op);
    const auto known = [&](int axis) { return axis >= 0 && axis < static_cast<int>(axes()); };
    if (offer.axes.empty() || !std::is_sorted(offer.axes.begin(), offer.axes.end()) ||
        !std::all_of(offer.axes.begin(), offer.axes.end(), known) || offer.inputs.size() != offer.axes.size() ||
        offer.outputs.size() != offer.axes.size())
      return internal(what + " for " + op.name + " must list mesh axes, ascending, and placements for each");
    for (std::size_t k = 0; k < offer.axes.size(); ++k)
      if (offer.inputs[k].size() != op.inputs.size() || offer.outputs[k].size() != op.outputs.size())
        return internal(what + " for " + op.name + " must place every operand and every result");
    return {};
  }

  /// A state lies as its parameter is used, along each axis where it is not told otherwise.
  void default_states(const TrainedParameter& trained) {
    const auto used = request_.used.find(trained.parameter);
    if (used == request_.used.end()) return;
    for (ValueId state : trained.states) {
      Layout layout;
      for (const Placement& placement : used->second)
        if (const auto own = following(graph_, trained, state, placement)) layout.push_back(*own);
      if (!layout.empty() && layout.size() == used->second.size()) store_as(state, layout);
    }
  }

  /// The value is stored so along the axes where nobody has said how.
  void store_as(ValueId value, const Layout& layout) {
    const auto [stored, is_new] = request_.stored.try_emplace(value, canonical(layout));
    const auto open = request_.open_axes.find(value);
    if (is_new || open == request_.open_axes.end()) return;
    const auto placement = [&](int axis) { return layout[static_cast<std::size_t>(axis)]; };
    std::vector<int> axes(open->second.begin(), open->second.end());
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return placement(a).depth < placement(b).depth; });
    for (const int axis : axes) stored->second = with_placement(stored->second, axis, placement(axis));
    request_.open_axes.erase(open);
  }

  /// Axes that cut a stored parameter, but not the compute copy that is kept of it, cut it last: then ranks along them
  /// have what makes up the copy.
  void nest_gathered_inside() {
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const auto stored = is_compute_copy(op) ? request_.stored.find(op.inputs[0]) : request_.stored.end();
      const auto pin = is_compute_copy(op) ? request_.pins.find(op.outputs[0]) : request_.pins.end();
      if (stored == request_.stored.end() || pin == request_.pins.end()) continue;
      std::vector<int> order = split_order(stored->second, kFlat);
      std::stable_partition(order.begin(), order.end(), [&](int axis) {
        const std::optional<Placement>& own = pin->second.placements[static_cast<std::size_t>(axis)];
        return !own || !own->is_replicate();
      });
      stored->second = with_order(std::move(stored->second), kFlat, order);
    }
  }

  /// Has axes that cut a dimension of both cut it in the order of `outer`, and those that cut `layout` alone cut what
  /// these leave: then it becomes as `outer` by gathers, without an exchange, in whatever order strategies came.
  static void nest_inside(const Layout& outer, Layout& layout) {
    for (const Placement& placement : Layout(layout)) {
      if (!placement.cut()) continue;
      const std::vector<int> first = split_order(outer, *placement.cut());
      std::vector<int> order = split_order(layout, *placement.cut());
      std::ranges::stable_sort(order, {}, [&](int axis) { return std::ranges::find(first, axis) - first.begin(); });
      layout = with_order(std::move(layout), *placement.cut(), order);
    }
  }

  bool is_like_parameter(const TrainedParameter& trained, ValueId state) const {
    return graph_.value(state).shape == graph_.value(trained.parameter).shape && !trained.follows.contains(state);
  }

  void nest_states(const TrainedParameter& trained) {
    for (const ValueId state : trained.states)
      if (is_like_parameter(trained, state)) nest_inside(request_.stored[trained.parameter], request_.stored[state]);
  }

  void default_sources() {
    const Layout whole(axes(), Placement::replicate());
    for (OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.outputs.size() != 1) continue;
      const Value& value = graph_.value(op.outputs[0]);
      if (is_compute_copy(op)) {
        request_.used[value.id] = request_.used[op.inputs[0]];
        request_.stored[value.id] = request_.stored[op.inputs[0]];
      } else if (value.role == Role::parameter) {
        request_.used.try_emplace(value.id, whole);
        store_as(value.id, request_.used[value.id]);
        nest_inside(request_.used[value.id], request_.stored[value.id]);
      } else if (value.role == Role::state && op.inputs.empty()) {
        request_.stored.try_emplace(value.id, whole);
      }
    }
  }

  /// A gradient comes to lie as the states that it changes, along each axis where it is not told otherwise.
  void pin_gradient(const TrainedParameter& trained) {
    if (trained.gradient == kNone) return;
    Layout layout = request_.stored[trained.parameter];
    for (ValueId state : trained.states)
      if (is_like_parameter(trained, state)) {
        layout = request_.stored[state];
        break;
      }
    Pin& pin = request_.pins[trained.gradient];
    pin.placements.resize(axes());
    for (std::size_t i = 0; i < axes(); ++i)
      if (std::optional<Placement>& own = pin.placements[i]; !own || own->same_kind(layout[i])) own = layout[i];
  }

  const Graph& graph_;
  PlacementRequest request_;
};

}  // namespace

std::optional<Placement> following(const Graph& graph, const TrainedParameter& trained, ValueId state,
                                   const Placement& parameter) {
  const auto found = trained.follows.find(state);
  if (found == trained.follows.end())
    return graph.value(state).shape == graph.value(trained.parameter).shape ? std::optional(parameter) : std::nullopt;
  const auto dim = parameter.cut();
  if (!dim) return parameter;
  const auto at = std::find(found->second.begin(), found->second.end(), *dim);
  if (*dim == kFlat || at == found->second.end()) return Placement::replicate();
  Placement own = parameter;
  own.argument = static_cast<int>(at - found->second.begin());
  return own;
}

Result<PlacementRequest> complete_request(const Graph& graph, PlacementRequest request) {
  return Completer(graph, std::move(request)).run();
}

}  // namespace baleen
