/// \file A signal asks a run to end: the first one is noted, so that the run can save first; the next ends it at once.
#pragma once
#include <string>

namespace baleen {

/// While it lives, SIGINT and SIGTERM of this process are noted. A second one, or the end of the grace period, ends the
/// process by that signal. Signals that are ignored stay so. One at a time in a process.
class StopRequest {
 public:
  explicit StopRequest(double grace_seconds);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// The signal; 0: none yet.
  static int signal();
  /// "SIGTERM".
  static std::string name(int signal);
};

}  // namespace baleen
