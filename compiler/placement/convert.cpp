/// \file Writes a placed graph's conversions into the graph.
#include "compiler/placement/passes.hpp"

namespace baleen {

Result<ValueId> append_step(Graph& graph, ValueId value, const Step& step, bool every_micro_batch) {
  std::vector<std::int64_t> axes;
  Layout from, to;
  for (int axis : step.axes) {
    axes.push_back(axis);
    from.push_back(step.from[static_cast<std::size_t>(axis)]);
    to.push_back(step.to[static_cast<std::size_t>(axis)]);
  }
  Attributes attributes{{"axes", std::move(axes)}, {"from", to_string(from)}, {"to", to_string(to)}};
  if (every_micro_batch) attributes.set("every_micro_batch", Attributes::ints({1}));
  BALEEN_TRY_ASSIGN(const ValueId made, graph.append1(to_string(step.collective), {value}, std::move(attributes)));
  graph.value(made).layout = step.to;
  return made;
}

namespace {

class Converter {
 public:
  Converter(Graph& graph, const PlacementRequest& request, const PlacedGraph& placed)
      : graph_(graph), request_(request), placed_(placed), results_(placed.conversions.size(), kNone) {}

  Status run() {
    list_pins();
    const std::vector<OpId> ops = graph_.ops();
    for (ValueId v = 0; v < placed_.layouts.size(); ++v) graph_.value(v).layout = placed_.layouts[v];
    for (OpId id : ops) {
      BALEEN_TRY(read_copies(id));
      order_.push_back(id);
      note_offer(id);
      for (ValueId v : Ids(graph_.op(id).outputs))
        if (auto pin = pins_.find(v); pin != pins_.end()) BALEEN_TRY(made(pin->second));
    }
    const std::vector<GraphOutput> outputs = graph_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      BALEEN_TRY_ASSIGN(const ValueId whole, result(outputs[i].value, placed_.outputs[i]));
      graph_.set_output(outputs[i].name, whole);
    }
    return graph_.reorder(order_);
  }

 private:
  void list_pins() {
    for (std::uint32_t i = 0; i < placed_.conversions.size(); ++i)
      if (placed_.conversions[i].pin) pins_[placed_.conversions[i].value] = i;
  }

  Status read_copies(OpId id) {
    const std::vector<std::uint32_t>& copies = placed_.ops[id].copies;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] == kNone) continue;
      BALEEN_TRY(made(copies[i]));
      BALEEN_TRY(graph_.set_input(id, i, results_[copies[i]]));
    }
    return {};
  }

  void note_offer(OpId id) {
    for (const Choice& choice : placed_.ops[id].choices) {
      if (choice.kind != Choice::Kind::offer) continue;
      const Offer& offer = request_.offers[choice.index];
      if (offer.owner.empty()) continue;
      OpSchedule& schedule = graph_.op(id).schedule.edit();
      schedule.offer = offer.name;
      schedule.owner = offer.owner;
    }
  }

  Result<ValueId> result(ValueId value, std::uint32_t conversion) {
    if (conversion == kNone) return value;
    BALEEN_TRY(made(conversion));
    return results_[conversion];
  }

  /// Appends the steps of a conversion, unless they are there.
  Status made(std::uint32_t number) {
    if (results_[number] != kNone) return {};
    const Conversion& conversion = placed_.conversions[number];
    BALEEN_TRY_ASSIGN(ValueId value, result(conversion.value, conversion.source));
    const Value& original = graph_.value(conversion.value);
    const Op& producer = *graph_.producer(conversion.value);
    const Role role = conversion.pin ? original.role : Role::copy;
    graph_.context() = {conversion.phase, kNone, producer.name, producer.where};
    for (std::size_t i = 0; i < conversion.steps.size(); ++i) {
      const std::size_t before = graph_.op_count();
      BALEEN_TRY_ASSIGN(value, append_step(graph_, value, conversion.steps[i], conversion.is_each(i)));
      if (graph_.op_count() == before) continue;  // an output that an op gathered already
      graph_.value(value).role = role;
      order_.push_back(graph_.value(value).producer);
    }
    // A compute copy that all see as it is pinned is on its way there.
    if (conversion.pin && is_compute_copy(*graph_.producer(conversion.value)))
      graph_.value(conversion.value).role = Role::copy;
    results_[number] = value;
    return {};
  }

  Graph& graph_;
  const PlacementRequest& request_;
  const PlacedGraph& placed_;
  std::vector<ValueId> results_;           ///< by conversion
  std::map<ValueId, std::uint32_t> pins_;  ///< the conversion that pins a value
  std::vector<OpId> order_;
};

}  // namespace

Status insert_conversions(Graph& graph, const PlacementRequest& request, const PlacedGraph& placed) {
  if (placed.layouts.size() != graph.value_count() || placed.ops.size() != graph.op_count())
    return internal("the graph has changed since it was placed");
  return Converter(graph, request, placed).run();
}

}  // namespace baleen
