/// \file The other hosts of a job, as the first one sees them: started, let in, listened to, missed.
#pragma once
#include <poll.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/door.hpp"
#include "core/launch/host_link.hpp"
#include "core/launch/launcher.hpp"
#include "core/launch/output.hpp"
#include "core/launch/starter.hpp"

namespace baleen {

/// What the other hosts do.
class HostEvents {
 public:
  virtual ~HostEvents() = default;
  /// The last of them has joined.
  virtual void all_here() = 0;
  /// Its launcher speaks, of itself or of a rank.
  virtual void host_said(int host, Message& message) = 0;
  /// Nothing more will come from it, though it has not left in good order.
  virtual void host_lost(int host, Error error) = 0;
};

/// Nothing here waits. [one thread]
class RemoteHosts {
 public:
  /// Borrows all of them. What others write goes to `err`.
  RemoteHosts(const LaunchOptions& options, const Topology& topology, HostEvents& events, LineSink& err);

  /// Opens the door; starts the others where that is asked for. `signals` as for LocalRanks.
  Status open(const sigset_t& signals);

  void add_polls(std::vector<pollfd>& all) const;
  void turn(Clock::time_point now);
  void forgive(Clock::duration pause);

  void send(int host, const Message& message);
  void send_all(const Message& message);

  /// "still waiting for ranks 2, 3 (host b)"; empty when all are here.
  std::string missing() const;
  /// The host's ranks have all ended: it may go.
  void excuse(int host);
  /// Says the last word; all may go, and nobody may come any more.
  void dismiss(const Message& word);
  /// Ends what is left; afterwards nothing is.
  void drop();
  /// Whether all have gone.
  bool is_over();

 private:
  struct Remote {
    std::unique_ptr<Starter> starter;
    std::unique_ptr<HostLink> link;
    bool joined = false, excused = false, gone = false;
  };
  Result<TcpAddress> own_address() const;
  void meet(Door::Guest guest);
  void serve(int host, Clock::time_point now);
  void hear(int host, std::vector<Message>& messages);
  void join(int host, const Message& message);
  void refuse(HostLink& link, int host, const std::string& why);
  void watch_starter(int host);
  void lose(int host, Error error);

  const LaunchOptions& options_;
  const Topology& topology_;
  HostEvents& events_;
  LineSink& err_;
  std::optional<Door> door_;
  std::vector<Remote> remotes_;  ///< by host; the first is this one
  std::vector<std::unique_ptr<HostLink>> refused_;
};

}  // namespace baleen
