/// \file Memory for planning: small objects close together, on huge pages.
#pragma once
#include <cstdint>

namespace baleen {

/// While one lives, what its thread makes with `new` and is small comes from a region of its own. A plan is about 1 MB
/// of small objects for each layer, which malloc scatters, and which are found faster on huge pages
/// (docs/measurements/planning.md). Any thread may delete them at any time.
///
/// A thread may have several, one in the other. Of two threads that have one the second goes on with malloc. So does
/// everybody where the addresses cannot be had, in a program without `operators.cpp`, and with sanitizers.
class PlanningMemory {
 public:
  PlanningMemory();
  /// The thread's last one gives back to the system what is free.
  ~PlanningMemory();
  PlanningMemory(const PlanningMemory&) = delete;

  struct Usage {
    std::uint64_t taken = 0;  ///< bytes of pages that hold objects, or did when the last scope ended
    std::uint64_t live = 0;   ///< bytes of objects that are not deleted
  };
  /// Of the region. [the thread that has it, or any while none has]
  static Usage usage();

 private:
  const bool owns_;
};

}  // namespace baleen
