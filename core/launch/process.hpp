/// \file Starting one rank's process, and asking the system about it.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen {

struct ProcessStart {
  std::vector<std::string> command;  ///< the program's name as it sees it, then its arguments
  int link = -1;                     ///< inherited at the same number
  int out = -1, err = -1;            ///< become its standard outputs; -1: this process's
  bool keeps_input = false;          ///< reads this process's standard input; otherwise there is nothing to read
  std::vector<int> cpus;             ///< that it may use; empty: all
  sigset_t signals = {};             ///< that are blocked in it
};

/// Starts this very program anew. The process is killed when the calling thread ends, however it ends. Returns when the
/// program runs, or says why it can't. [one thread, which lives as long as the job]
Result<pid_t> start_process(const ProcessStart& start);

/// The system's letter for what a process does: 'R', 'S', 'D', 'T' (stopped), 't' (held by a debugger), 'Z', ... or
/// '?'.
char process_state(pid_t process);

}  // namespace baleen
