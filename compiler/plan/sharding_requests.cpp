/// \file Refuses requests of two strategies that cannot both come true.
#include "compiler/plan/sharding_requests.hpp"

namespace baleen {

Status ShardingRequests::ask(const Graph& graph, const Requester& requester, How how, ValueId value, std::uint32_t axis,
                             Placement placement) {
  const MeshAxis& along = graph.mesh().axes[axis];
  if (along.size == 1) return {};
  const auto [it, is_new] = requests_.try_emplace({how, value, axis}, Request{requester, placement});
  Request& earlier = it->second;
  if (is_new || earlier.placement == placement) return {};
  if (earlier.requester.place == requester.place) {
    earlier.placement = placement;
    return {};
  }
  const std::string& name = graph.value(value).name;
  const char* verb = how == How::used ? "used" : how == How::stored ? "stored" : "pinned";
  return invalid("`" + (name.empty() ? "%" + std::to_string(value) : name) + "` is to be " + verb + " " +
                 in_words(earlier.placement) + " along `" + along.name + "` for strategy `" + earlier.requester.name +
                 "`, and " + in_words(placement) + " for strategy `" + requester.name +
                 "`; leave one of the two out of the plan, or let it work along another axis");
}

Status ShardingRequests::demand(const Graph& graph, const Requester& requester, OpId op, std::uint32_t axis) {
  const MeshAxis& along = graph.mesh().axes[axis];
  if (along.size == 1) return {};
  const auto [it, is_new] = demands_.try_emplace({op, axis}, requester);
  if (is_new || it->second.place == requester.place) return {};
  const Op& both = graph.op(op);
  return invalid("`" + both.name + "` (" + both.kind->name + ") is to run along `" + along.name +
                 "` in no form but that of strategy `" + it->second.name + "`, and in no form but that of strategy `" +
                 requester.name + "`; leave one of the two out of the plan, or let it work along another axis");
}

}  // namespace baleen
