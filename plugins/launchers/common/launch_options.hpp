/// \file What to start on this host, and as which part of the job.
#pragma once
#include <string>
#include <vector>

#include "common/first_cause.hpp"
#include "common/log.hpp"
#include "common/timeouts.hpp"
#include "common/topology.hpp"

namespace baleen::launchers {

struct LaunchOptions {
  std::vector<std::string> command;   ///< of the ranks: the program's name, then its arguments. It is this very program
  std::string mark = "--rank-link=";  ///< begins the word that is added to it
  std::vector<LaunchHost> hosts = {LaunchHost{}};
  int host_index = 0;                  ///< which of them this is; the first leads
  int threads = 1;                     ///< of each rank of this host
  std::vector<std::vector<int>> cpus;  ///< of each rank of this host; empty: they move freely
  std::string obstacle = {};           ///< why the ranks of this host cannot start, where that is known already
  Log log;                             ///< hears who keeps others waiting
  Timeouts timeouts;
};

}  // namespace baleen::launchers
