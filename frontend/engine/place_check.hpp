/// \file That what a launcher told the processes of a job fits together.
#pragma once
#include "core/launch/rank_link.hpp"

namespace baleen::app {

/// Collective: compares what the launcher told each rank. Two processes of one number, or a number that no process
/// has, are errors that name it.
Status compare_places(RankLink& link);

}  // namespace baleen::app
