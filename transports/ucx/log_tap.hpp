/// \file UCX's own log lines, turned to the host's log.
#pragma once
#include <string>

#include "baleen/plugin.hpp"

namespace baleen::ucx {

/// While it lives, what UCX says on this thread goes to the host instead of to the standard output; lines are kept for
/// the message of a failure. Taps nest.
class LogTap {
 public:
  /// `quiet`: a line that UCX thinks a warning is not one here, such as that a peer has gone.
  LogTap(const Host& host, bool quiet);
  ~LogTap();
  LogTap(const LogTap&) = delete;

  /// What was said so far, one line after the other.
  const std::string& text() const { return text_; }
  void add(bool severe, const std::string& line);

 private:
  const Host host_;
  const bool quiet_;
  LogTap* const outer_;
  std::string text_;
};

}  // namespace baleen::ucx
