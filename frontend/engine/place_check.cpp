/// \file Each process says which rank it is.
#include "frontend/engine/place_check.hpp"

#include <unistd.h>

namespace baleen::app {

Status compare_places(RankLink& link) {
  const Place& place = link.place();
  const auto key = [](int rank) { return "process of rank " + std::to_string(rank); };
  const std::string own = "process " + std::to_string(getpid()) + " on host `" + place.host + "`";
  const std::string number = "rank " + std::to_string(place.rank) + " of " + std::to_string(place.ranks);
  if (Status is_first = link.put(key(place.rank), own); !is_first) {
    if (is_first.error().code != BALEEN_INVALID) return is_first;
    BALEEN_TRY_ASSIGN(const std::string other, link.get(key(place.rank)));
    return invalid(link.title() + " says that two processes are " + number + ": " + other + ", and " + own);
  }
  for (int rank = 0; rank < place.ranks; ++rank) {
    const auto process = link.get(key(rank));
    if (process) continue;
    if (process.error().code != BALEEN_TIMEOUT) return process.error();
    return Error{BALEEN_TIMEOUT,
                 "no process says that it is rank " + std::to_string(rank) + " of " + std::to_string(place.ranks) +
                     ": " + process.error().text(),
                 {}};
  }
  return {};
}

}  // namespace baleen::app
