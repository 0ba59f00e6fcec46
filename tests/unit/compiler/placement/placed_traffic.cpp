/// \file What a placed graph sends, summed up.
#include "placed_traffic.hpp"

#include <array>
#include <charconv>
#include <tuple>

namespace baleen::test {
namespace {

std::string axis_names(const Graph& graph, const std::vector<int>& axes) {
  std::string text;
  for (int axis : axes) text += (text.empty() ? "" : "+") + graph.mesh().axes[static_cast<std::size_t>(axis)].name;
  return text;
}

/// The offer that an op took on some axis, at the first of its axes.
void add_offers(const Graph& graph, const PlacementRequest& request, const PlacedGraph& placed, const Op& op,
                std::vector<Transfer>& list) {
  const auto& choices = placed.ops[op.id].choices;
  for (std::size_t a = 0; a < choices.size(); ++a) {
    if (choices[a].kind != Choice::Kind::offer) continue;
    const Offer& offer = request.offers[choices[a].index];
    if (offer.axes.front() != static_cast<int>(a) || offer.bytes <= 0) continue;
    list.push_back(
        {op.phase, axis_names(graph, offer.axes), offer.name, offer.bytes, op.outputs.empty() ? kNone : op.outputs[0]});
  }
}

const char* name_of(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "update";
}

}  // namespace

std::vector<Transfer> transfers(const Graph& graph, const PlacementRequest& request, const PlacedGraph& placed) {
  std::vector<Transfer> list;
  for (const Conversion& conversion : placed.conversions)
    for (const Step& step : conversion.steps)
      if (sends(step.collective))
        list.push_back(
            {conversion.phase, axis_names(graph, step.axes), to_string(step.collective), step.bytes, conversion.value});
  for (const InternalReduction& internal : placed.internal) {
    const Op& op = graph.op(internal.op);
    list.push_back({op.phase, axis_names(graph, {internal.axis}), "internal", internal.bytes, op.outputs[0]});
  }
  for (OpId id : graph.ops())
    if (id < placed.ops.size()) add_offers(graph, request, placed, graph.op(id), list);
  return list;
}

std::vector<TrafficRow> traffic(const std::vector<Transfer>& transfers, double ignore) {
  std::map<std::tuple<Phase, std::string, std::string>, TrafficRow> rows;
  for (const Transfer& t : transfers) {
    if (t.bytes <= ignore) continue;
    TrafficRow& row =
        rows.try_emplace({t.phase, t.axis, t.kind}, TrafficRow{t.phase, t.axis, t.kind, 0, 0}).first->second;
    ++row.count;
    row.bytes += t.bytes;
  }
  std::vector<TrafficRow> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

std::string table_text(const std::vector<TrafficRow>& rows) {
  std::string text;
  for (const TrafficRow& row : rows) {
    std::array<char, 32> number{};
    const auto end =
        std::to_chars(number.data(), number.data() + number.size(), row.bytes, std::chars_format::fixed, 0).ptr;
    text += std::string(name_of(row.phase)) + " " + row.axis + " " + row.kind + ": " + std::to_string(row.count) +
            ", bytes " + std::string(number.data(), end) + "\n";
  }
  return text;
}

}  // namespace baleen::test
