/// \file Who asked for which placement in `place`, so that strategies that contradict each other are both named.
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/graph/graph.hpp"

namespace baleen {

/// The wishes of a plan's strategies for the values of one graph.
class Wishes {
 public:
  enum class How { used, stored, pinned };

  /// A strategy of the plan: two of one name differ by their place.
  struct Asker {
    std::size_t place = 0;
    std::string name;
  };

  /// Keeps a wish; who asks again changes its own. Errors: another strategy asked for another placement along this
  /// axis. On an axis of one rank all placements are alike.
  Status ask(const Graph& graph, const Asker& asker, How how, ValueId value, std::uint32_t axis, Placement placement);

  /// Keeps that an op is to run in no form but this strategy's along an axis. Errors: another demanded its own there.
  Status demand(const Graph& graph, const Asker& asker, OpId op, std::uint32_t axis);

 private:
  struct Wish {
    Asker asker;
    Placement placement;
  };
  std::map<std::tuple<How, ValueId, std::uint32_t>, Wish> wishes_;
  std::map<std::pair<OpId, std::uint32_t>, Asker> demands_;
};

}  // namespace baleen
