/// \file The hosts of a launch: from the manifest, and from how this one was started.
#pragma once
#include "baleen/result.hpp"
#include "core/launch/launcher.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

/// Fills in the hosts and, where there are several, how they meet. The first host starts the others, unless each is
/// started with its index. INVALID where index, secret and manifest do not fit together.
Status add_hosts(LaunchOptions& launch, const HostOptions& options, const Setup& setup);

}  // namespace baleen::app
