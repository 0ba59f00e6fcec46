/// \file The launcher: starts the ranks of this host as processes of this program, meets the launchers of other hosts,
/// serves the rendezvous, watches over all, and leaves nothing behind.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/launch/first_cause.hpp"
#include "core/launch/patience.hpp"
#include "core/launch/secret.hpp"
#include "core/launch/topology.hpp"
#include "core/log/log.hpp"

namespace baleen {

/// How the launchers of several hosts find and trust each other.
struct Meeting {
  Secret secret;
  std::string listen;  ///< address that the first host listens at; empty: its own
  int port = 0;        ///< of the first host; 0: any free one, where it starts the others
  std::string facts;   ///< what must be the same on every host, a line each
  /// The first host starts the others through this command (see RemoteStart); empty: a person starts them.
  std::vector<std::string> through;
  std::function<std::vector<std::string>(int host)> command;  ///< of a host that is started so
  bool is_started = false;                                    ///< this host was started so: the first one speaks for it
};

struct LaunchOptions {
  std::vector<std::string> command;  ///< of the ranks: the program's name, then its arguments. It is this very program
  std::vector<LaunchHost> hosts = {LaunchHost{}};
  int host_index = 0;  ///< which of them this is; the first leads
  Meeting meeting;     ///< with several hosts
  std::string cpus;    ///< of this host, that its ranks may use, as "0-3,8"; empty: all
  int threads = 0;     ///< of each rank, where the user says it; 0: cores / ranks, at least 1
  Log log;             ///< hears who keeps others waiting
  Patience patience;
};

/// Runs the job to its end, which is when every process has ended and all they wrote is written. Each rank finds its
/// Place and the way back by RankLink::inherited. On hosts after the first: this host's part of the job.
///
/// Signals to this process (HUP, INT, QUIT, TERM, USR1, USR2) go to the ranks, from the first host to those of all. If
/// a rank fails, the others are told and have `patience.grace` to leave. If this process dies, its ranks die, and the
/// other hosts' soon after.
/// [the calling thread starts the processes and has to live as long as they do; nobody else may wait for children]
Outcome launch(const LaunchOptions& options);

}  // namespace baleen
