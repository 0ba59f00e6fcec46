/// \file Starting a process, of a rank or of another program, and asking the system about it.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::launchers {

struct ProcessStart {
  std::vector<std::string> command;  ///< the program's name as it sees it, then its arguments
  std::string program;               ///< its file; empty: this very program anew
  int link = -1;                     ///< inherited at the same number; -1: none
  int in = -1;                       ///< becomes its standard input; -1: as `keeps_input` says
  int out = -1, err = -1;            ///< become its standard outputs; -1: this process's
  bool keeps_input = false;          ///< reads this process's standard input; otherwise there is nothing to read
  bool own_session = false;          ///< away from the terminal and what it sends
  std::vector<int> cpus;             ///< that it may use; empty: all
  sigset_t signals = {};             ///< that are blocked in it
};

/// The file of a program: `name` itself where it has a '/', else sought in PATH. Empty where there is none.
std::string find_program(const std::string& name);

/// The process is killed when the calling thread ends, however it ends. Returns when the
/// program runs, or says why it can't. [one thread, which lives as long as the job]
Result<pid_t> start_process(const ProcessStart& start);

/// The system's letter for what a process does: 'R', 'S', 'D', 'T' (stopped), 't' (held by a debugger), 'Z', ... or
/// '?'.
char process_state(pid_t process);

/// Bytes that this process has read and written by calls of the system, from and to whatever; 0 where the system does
/// not count them.
std::uint64_t bytes_passed();

}  // namespace baleen::launchers
