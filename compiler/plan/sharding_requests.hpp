/// \file Who asked for which placement in `place`, so that strategies that contradict each other are both named.
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/graph/graph.hpp"

namespace baleen {

/// The requests of a plan's strategies for the values of one graph.
class ShardingRequests {
 public:
  enum class How { used, stored, pinned };

  /// A strategy of the plan: two of one name differ by their place.
  struct Requester {
    std::size_t place = 0;
    std::string name;
  };

  /// Keeps a request; who asks again changes its own. Errors: another strategy asked for another placement along this
  /// axis. On an axis of one rank all placements are alike.
  Status ask(const Graph& graph, const Requester& requester, How how, ValueId value, std::uint32_t axis,
             Placement placement);

  /// Keeps that an op is to run by this strategy's candidate alone along an axis. Errors: another demanded its own
  /// there.
  Status demand(const Graph& graph, const Requester& requester, OpId op, std::uint32_t axis);

 private:
  struct Request {
    Requester requester;
    Placement placement;
  };
  std::map<std::tuple<How, ValueId, std::uint32_t>, Request> requests_;
  std::map<std::pair<OpId, std::uint32_t>, Requester> demands_;
};

}  // namespace baleen
