/// \file A scope of the region.
#include "core/memory/planning_memory.hpp"

#include "core/memory/small_objects.hpp"

namespace baleen {

PlanningMemory::PlanningMemory() : owns_(planning_objects.enter()) {}
PlanningMemory::~PlanningMemory() {
  if (owns_) planning_objects.leave();
}

}  // namespace baleen
