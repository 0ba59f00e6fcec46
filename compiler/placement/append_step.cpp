#include "compiler/placement/append_step.hpp"

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

}  // namespace baleen
