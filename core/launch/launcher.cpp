/// \file The entry of the launcher: as the first host or as an agent.
#include "core/launch/launcher.hpp"

#include "core/launch/agent.hpp"
#include "core/launch/supervisor.hpp"

namespace baleen {

Outcome launch(const LaunchOptions& options) {
  const Topology topology(options.hosts);
  if (options.host_index > 0) return Agent(options, topology).run();
  Supervisor supervisor(options, topology);
  if (Status status = supervisor.start(); !status) return {status.error(), {}, -1, 0};
  return supervisor.run();
}

}  // namespace baleen
