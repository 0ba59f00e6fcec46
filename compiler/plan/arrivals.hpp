/// \file Where what is sent from one coordinate to another is received.
#pragma once
#include <map>

#include "compiler/plan/plan.hpp"

namespace baleen {

/// Of each `send` of a loop the section, by its number, in which its value is received: that of its op, or that of
/// another chunk that reads it first in the same pass. All ranks of the receiving coordinate receive it there, though
/// some may have no element of it, since they may wait for each other. What is made of received values alone stands
/// where its own reader does.
std::map<OpId, std::uint32_t> find_arrivals(const ScheduledGraph& scheduled, int loop);

}  // namespace baleen
