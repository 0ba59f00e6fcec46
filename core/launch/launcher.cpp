/// \file The launcher's door.
#include "core/launch/launcher.hpp"

#include "core/launch/job.hpp"

namespace baleen {

Outcome launch(const LaunchOptions& options) {
  Job job(options);
  if (Status status = job.start(); !status) return {status.error()};
  return job.run();
}

}  // namespace baleen
