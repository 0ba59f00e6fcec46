/// \file Memory for planning: small objects close together.
#pragma once

namespace baleen {

/// While one lives, what its thread makes with `new` and is small comes from a region of its own. A plan is about half
/// a MB of small objects for each layer, which malloc scatters (docs/measurements/planning.md). Any thread may delete
/// them at any time.
///
/// A thread may have several, one in the other. Of two threads that have one the second goes on with malloc. So does
/// everybody where the addresses cannot be had, in a program without `operators.cpp`, and with sanitizers.
class PlanningMemory {
 public:
  PlanningMemory();
  /// The thread's last one gives back to the system what is free.
  ~PlanningMemory();
  PlanningMemory(const PlanningMemory&) = delete;

 private:
  const bool owns_;
};

}  // namespace baleen
