/// \file In which order threads take the processors that they may use.
#pragma once
#include <string>
#include <vector>

namespace baleen::cpu {

/// One of each core first, then the siblings (SMT), so that threads share a core only where there are more of them than
/// cores. Neighbours stay together. `described`: of another machine, in hwloc's short form; empty: of this one.
std::vector<int> cores_first(const std::vector<int>& processors, const std::string& described = {});

}  // namespace baleen::cpu
