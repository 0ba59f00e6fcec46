/// \file Refuses wishes of two strategies that cannot both come true.
#include "compiler/plan/wishes.hpp"

namespace baleen {

Status Wishes::ask(const Graph& graph, const Asker& asker, How how, ValueId value, std::uint32_t axis,
                   Placement placement) {
  const MeshAxis& along = graph.mesh().axes[axis];
  if (along.size == 1) return {};
  const auto [it, is_new] = wishes_.try_emplace({how, value, axis}, Wish{asker, placement});
  Wish& earlier = it->second;
  if (is_new || earlier.placement == placement) return {};
  if (earlier.asker.place == asker.place) {
    earlier.placement = placement;
    return {};
  }
  const std::string& name = graph.value(value).name;
  const char* verb = how == How::used ? "used" : how == How::stored ? "stored" : "pinned";
  return invalid("`" + (name.empty() ? "%" + std::to_string(value) : name) + "` is to be " + verb + " as " +
                 to_string(earlier.placement) + " along `" + along.name + "` for strategy `" + earlier.asker.name +
                 "`, and as " + to_string(placement) + " for strategy `" + asker.name +
                 "`; leave one of the two out of the plan, or let it work along another axis");
}

Status Wishes::demand(const Graph& graph, const Asker& asker, OpId op, std::uint32_t axis) {
  const MeshAxis& along = graph.mesh().axes[axis];
  if (along.size == 1) return {};
  const auto [it, is_new] = demands_.try_emplace({op, axis}, asker);
  if (is_new || it->second.place == asker.place) return {};
  const Op& both = graph.op(op);
  return invalid("`" + both.name + "` (" + both.kind->name + ") is to run along `" + along.name +
                 "` in no form but that of strategy `" + it->second.name + "`, and in no form but that of strategy `" +
                 asker.name + "`; leave one of the two out of the plan, or let it work along another axis");
}

}  // namespace baleen
