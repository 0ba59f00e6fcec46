/// \file Ranks of a case: a process for each, and a rendezvous for them to meet.
#pragma once
#include <cstdint>
#include <functional>

#include "baleen/transport.h"
#include "frontend/validate/apart.hpp"

namespace baleen::validate {

/// What a rank's process is given.
struct RankPlace {
  std::int32_t rank = 0, ranks = 1;
  baleen_rendezvous_t rendezvous;  ///< serves one `create`
};

/// Forks `ranks` processes that each run `body`, and waits for all. Throws Failure, or Skip, with what the first of
/// them says, without waiting for the others then: they end with the case. Meanwhile `mark` says what each is doing.
void run_ranks(std::int32_t ranks, Mark& mark, const std::function<void(const RankPlace&, Mark&)>& body);

}  // namespace baleen::validate
