/// \file Pins the inputs that have a sequence.
#include "inputs.hpp"

#include <string>

#include "baleen/closed_forms.hpp"

namespace baleen::sequence_parallel {

std::optional<int> sequence_dimension(const baleen_value_info_t& value) {
  for (std::uint32_t dim = 0; dim < value.rank; ++dim)
    if (view(value.axes[dim]) == "seq") return static_cast<int>(dim);
  return std::nullopt;
}

Status cut_inputs(GraphView graph, Placing placing, std::uint32_t axis, bool balanced) {
  placing.allow_sharding(axis, "seq");
  bool any = false;
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_INPUT) continue;
    const auto dim = sequence_dimension(value);
    if (!dim) continue;
    placing.constrain(id, axis, balanced ? shard_balanced(*dim) : shard(*dim));
    any = true;
  }
  if (any) return {};
  return invalid("no field of the data has the logical axis `seq`, so there is no sequence to cut along `" +
                 std::string(placing.mesh().name(axis)) + "`; take the strategy `data` there, or data with sequences");
}

void expect_tokens(GraphView graph, Placing placing, std::uint32_t axis) {
  FormsAlong forms(graph, placing, axis);
  constexpr std::string_view kWhole = "whole on each rank of the axis";
  forms.states([](baleen_value_t) { return StateShares{}; }, {kWhole, kWhole, kWhole});
  forms.activations([&](const auto& value) { return has_axis(value, "seq") ? 1 / forms.ranks() : 1; },
                    "1/P of what has tokens");
  forms.all_reduced("2 gradients (P - 1)/P");
}

}  // namespace baleen::sequence_parallel
