/// \file How many threads a rank's compute plugin works with, where the user leaves it to us.
#pragma once
#include <cstdint>
#include <string>

#include "frontend/engine/setup.hpp"

namespace baleen::app {

/// What the user asks for; 0 where that is left to us.
int threads_asked(const Member& compute);
/// In a rank: unless the user gives the compute plugin a number of threads, it gets, where it takes one, what the
/// launcher says, or else the rank's share of the processors that this process may use.
void share_threads(Member& compute, const Setup& setup);
/// The same for a rank that is not started: as if `ranks` shared the processors of a list ("0-3,8"), or this machine's
/// where it is empty.
Status share_threads_of(Member& compute, std::int64_t ranks, const std::string& cores);

}  // namespace baleen::app
