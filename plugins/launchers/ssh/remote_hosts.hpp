/// \file The other hosts of a job, as the first one sees them: started, let in, listened to, missed.
#pragma once
#include <poll.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "common/other_hosts.hpp"
#include "host_link.hpp"
#include "listener.hpp"
#include "starter.hpp"

namespace baleen::launchers {

/// See OtherHosts.
class RemoteHosts : public OtherHosts {
 public:
  /// Borrows all of them. What others write goes to `err`.
  RemoteHosts(const ClusterOptions& options, const Topology& topology, HostEvents& events, LineSink& err);

  Status open(const sigset_t& signals) override;
  void add_polls(std::vector<pollfd>& all) const override;
  void turn(Clock::time_point now) override;
  void forgive(Clock::duration pause) override;
  void send(int host, const Message& message) override;
  void send_all(const Message& message) override;
  std::string own_address() const override;
  std::string missing() const override;
  void excuse(int host) override;
  void dismiss(const Message& word) override;
  void drop() override;
  bool is_over() override;

 private:
  struct Remote {
    std::unique_ptr<Starter> starter;
    std::unique_ptr<HostLink> link;
    bool joined = false, excused = false, gone = false;
  };
  Result<TcpAddress> listening_address() const;
  void meet(Listener::AuthenticatedPeer peer);
  void serve(int host, Clock::time_point now);
  void hear(int host, std::vector<Message>& messages);
  void join(int host, const Message& message);
  void refuse(HostLink& link, int host, const std::string& why);
  void watch_starter(int host);
  void lose(int host, Error error);

  const ClusterOptions& options_;
  const Topology& topology_;
  HostEvents& events_;
  LineSink& err_;
  std::optional<Listener> listener_;
  std::vector<Remote> remotes_;  ///< by host; the first is this one
  std::vector<std::unique_ptr<HostLink>> refused_;
};

}  // namespace baleen::launchers
