/// \file A job on several hosts, each of which has a launcher: starts the ranks of this host as processes of this
/// program, meets the launchers of other hosts, watches over all, and leaves nothing behind.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "common/launch_options.hpp"
#include "secret.hpp"

namespace baleen::launchers {

/// How the launchers of several hosts find and trust each other.
struct ClusterJoin {
  Secret secret;
  std::string listen;  ///< address that the first host listens at; empty: its own
  int port = 0;        ///< of the first host; 0: any free one, where it starts the others
  std::string facts;   ///< what must be the same on every host, a line each
  /// The first host starts the others through this command (see RemoteStart); empty: a person starts them.
  std::vector<std::string> through;
  std::function<std::vector<std::string>(int host)> command;  ///< of a host that is started so
  bool is_started = false;                                    ///< this host was started so: the first one speaks for it
};

struct ClusterOptions : LaunchOptions {
  ClusterJoin meeting;  ///< where there are several hosts
};

/// The first host leads the job to its end (see Supervisor). On hosts after the first: this host's part of it. [the
/// calling thread starts the processes and lives as long as they do; nobody else may wait for children]
Outcome launch(const ClusterOptions& options);

}  // namespace baleen::launchers
