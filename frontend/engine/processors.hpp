/// \file The processors of this machine, from hwloc (which only this source sees, beside the plugin that computes on
/// them).
#pragma once
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen {

/// A logical processor. Cores and NUMA nodes are numbered so that neighbours have neighbouring numbers.
struct Cpu {
  int number = 0;  ///< the system's
  int node = 0;    ///< whose memory is near
  int core = 0;    ///< of the machine; siblings (SMT) share one
};

/// Those that this process may use, neighbours together. Where the system tells nothing of one, it is a core of its
/// own.
std::vector<Cpu> usable_cpus();

/// Those of a described machine: hwloc's short form ("pack:2 core:4 pu:2"), or the XML that `lstopo` writes.
Result<std::vector<Cpu>> described_cpus(const std::string& description);

/// Keeps this thread, and those it makes from now on, to these.
Status keep_to(const std::vector<Cpu>& cpus);

/// "2 usable"; with siblings or several nodes: "16 usable: 8 cores, 2 NUMA nodes".
std::string cpus_text(const std::vector<Cpu>& cpus);

}  // namespace baleen
