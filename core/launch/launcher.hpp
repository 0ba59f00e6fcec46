/// \file The launcher: starts the ranks of this host as processes of this program, serves their rendezvous, watches
/// over them, and leaves nothing behind.
#pragma once
#include <string>
#include <vector>

#include "core/launch/first_cause.hpp"
#include "core/launch/patience.hpp"
#include "core/log/log.hpp"

namespace baleen {

struct LaunchOptions {
  std::vector<std::string> command;  ///< of the ranks: the program's name, then its arguments. It is this very program
  int ranks = 1;
  std::string host = "localhost";
  int threads = 0;  ///< of each rank, where the user says it; 0: cores / ranks, at least 1
  Log log;          ///< hears who keeps others waiting
  Patience patience;
};

/// Runs the job to its end, which is when every process has ended and all they wrote is written. Each rank finds its
/// Place and the way back by RankLink::inherited.
///
/// Signals to this process (HUP, INT, QUIT, TERM, USR1, USR2) go to the ranks. If a rank fails, the others are told and
/// have `patience.grace` to leave. If this process dies, the ranks die.
/// [the calling thread starts the processes and has to live as long as they do; nobody else may wait for children]
Outcome launch(const LaunchOptions& options);

}  // namespace baleen
