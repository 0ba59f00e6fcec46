/// \file The launcher's door.
#include "core/launch/launcher.hpp"

#include "core/launch/supervisor.hpp"

namespace baleen {

Outcome launch(const LaunchOptions& options) {
  Supervisor supervisor(options);
  if (Status status = supervisor.start(); !status) return {status.error(), {}, -1, 0};
  return supervisor.run();
}

}  // namespace baleen
