/// \file How the ranks of one host share its processors.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "frontend/engine/processors.hpp"

namespace baleen {

/// The numbers in a list in the kernel's way, "0-3,8", which stands at `where`. INVALID where it is no such list.
Result<std::set<int>> cpu_numbers(const std::string& list, const std::string& where = {});

/// Those of `cpus` that `list` names. Empty: all. INVALID where it is no list of `cpu_numbers`, or names a processor
/// that is not among them.
Result<std::vector<Cpu>> choose_cpus(std::vector<Cpu> cpus, const std::string& list, const std::string& where = {});

/// Keeps this thread, and those it makes from now on, to the processors of a list as above.
Status keep_to_cpus(const std::string& list, const std::string& where = {});

struct CpuShares {
  int threads = 1;                     ///< of each rank
  std::vector<std::vector<int>> sets;  ///< of each rank; empty: ranks move freely
};

/// Disjoint sets of neighbours where there are enough processors for `ranks` times `threads`; otherwise none. Each rank
/// stays in one NUMA node, or has whole ones, if it gets its threads there; and it has whole cores, if it gets its
/// threads that way. `threads` 0: as many as the processors allow, at least one.
CpuShares share_cpus(std::vector<Cpu> cpus, int ranks, int threads);

}  // namespace baleen
