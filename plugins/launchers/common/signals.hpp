/// \file The launcher's signals, read like a file: those to pass on to the ranks, and news of their processes.
#pragma once
#include <signal.h>

#include <optional>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"

namespace baleen::launchers {

/// A signal that arrived.
struct Arrived {
  int signal = 0;
  bool to_all = false;  ///< a terminal sent it to the whole process group, ranks included
};

/// While this lives the calling thread receives HUP, INT, QUIT, TERM, USR1, USR2, CHLD and PIPE only through `take`.
/// Those that were ignored before (as under nohup) stay so. [one thread]
class Signals {
 public:
  /// `stops`: TSTP (Ctrl-Z), too.
  static Result<Signals> open(bool stops = false);
  Signals(Signals&&) noexcept = default;
  Signals& operator=(Signals&&) noexcept = default;
  ~Signals();

  /// Becomes readable when there is something to take.
  int descriptor() const { return source_.get(); }
  /// In order of number, so news of a process comes after the signal that ended it.
  std::vector<Arrived> take();
  /// What was blocked before; ranks start with it.
  const sigset_t& before() const { return before_; }
  /// Whether signals of this kind are passed on.
  static bool is_passed_on(int signal);

 private:
  Signals() = default;
  FileHandle source_;
  sigset_t before_ = {};
  struct sigaction child_ = {};
};

}  // namespace baleen::launchers
