/// \file Plans with a pipeline, and scripts for them.
#pragma once
#include <ostream>

#include "parity/parity_run.hpp"

namespace baleen::test {

inline const std::vector<std::string> kSchedules{"gpipe",       "1f1b",           "interleaved",  "looped",
                                                 "zero_bubble", "zero_bubble_h2", "zero_bubble_v"};

inline std::string pipeline_entry(const std::string& options) {
  return "[[plan]]\nstrategy = \"pipeline\"\n" + options;
}
inline std::string schedule_option(const std::string& schedule) { return "schedule = \"" + schedule + "\"\n"; }

/// What stands beside a pipeline, on an axis of its own.
struct Beside {
  std::string name, axis, plan;
};
inline void PrintTo(const Beside& beside, std::ostream* out) { *out << beside.name; }

inline const std::vector<Beside>& all_beside() {
  static const std::vector<Beside> all{
      {"Alone", "", ""},
      {"Data", "data", "[[plan]]\nstrategy = \"data\"\n"},
      {"Zero1", "data", "[[plan]]\nstrategy = \"zero\"\nstage = 1\n"},
      {"Zero2", "data", "[[plan]]\nstrategy = \"zero\"\nstage = 2\n"},
      {"Zero3", "data", "[[plan]]\nstrategy = \"zero\"\nstage = 3\n"},
      {"Tensor1d", "tensor", "[[plan]]\nstrategy = \"tensor\"\n"},
  };
  return all;
}

/// A mesh of `ranks`: two along what stands beside it, the rest stages.
inline MeshAxes mesh_of(const Beside& beside, int ranks) {
  if (beside.axis.empty()) return {{"pipeline", ranks}};
  return {{"pipeline", ranks / 2}, {beside.axis, 2}};
}

}  // namespace baleen::test
