/// \file The part of a host: the first one's, or an agent's.
#include "cluster.hpp"

#include <memory>

#include "agent.hpp"
#include "common/supervisor.hpp"
#include "remote_hosts.hpp"

namespace baleen::launchers {

Outcome launch(const ClusterOptions& options) {
  const Topology topology(options.hosts);
  if (options.host_index > 0) return Agent(options, topology).run();
  Supervisor supervisor(options, topology, [&](HostEvents& events, LineSink& err) {
    return std::make_unique<RemoteHosts>(options, topology, events, err);
  });
  if (Status status = supervisor.start(); !status) return {status.error(), {}, -1, 0};
  return supervisor.run();
}

}  // namespace baleen::launchers
