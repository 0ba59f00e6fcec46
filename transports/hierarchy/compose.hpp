/// \file From one collective of a group that spans hosts to collectives within hosts and between them.
#pragma once
#include <functional>
#include <vector>

#include "baleen/collective.hpp"
#include "group_shape.hpp"

namespace baleen::hierarchy {

/// Who takes part in a step, and through which of the two transports.
enum class Scope {
  kHost,  ///< inside: the group's members on this host
  kSelf,  ///< inside: this rank alone, to copy
  kRail,  ///< between: the members with this one's index on their hosts
  kAll,   ///< between: the whole group
};

struct Step {
  Scope scope = Scope::kAll;
  Collective collective;           ///< this rank's view among those who take part
  std::vector<std::size_t> after;  ///< earlier steps of this rank that it needs to be over
  bool whole = false;              ///< of kAll: it is the very collective that was asked for
};

/// Gives memory for so many bytes, which nobody else uses while the composition runs.
using TakeScratch = std::function<std::byte*(std::uint64_t bytes)>;

/// This rank's steps, in the order in which they are started; those who take part in a step agree on it. `collective`
/// is sound: all its members have compared it.
std::vector<Step> compose(const GroupShape& shape, const Collective& collective, const TakeScratch& take);

/// Why a reduction cannot be made of sums within hosts, as "the hosts' shares are no subtrees of the sum"; null where
/// it can.
const char* objection_to_host_sums(const GroupShape& shape, const Collective& collective);

}  // namespace baleen::hierarchy
