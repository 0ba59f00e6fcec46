/// \file Pins the inputs that have a sequence.
#include "inputs.hpp"

#include <string>

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

}  // namespace baleen::sequence_parallel
