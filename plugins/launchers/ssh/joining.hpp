/// \file How a host finds the first one and is let in.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "cluster.hpp"
#include "host_link.hpp"

namespace baleen::launchers {

/// Connects to the first host, again and again until it is there, and shakes hands. Reminders go to the log. Stops when
/// `ends` says why. BALEEN_TIMEOUT where it never comes. [waits; calls `ends` several times a second]
Result<std::unique_ptr<HostLink>> join_first_host(const ClusterOptions& options, const Topology& topology,
                                                  const std::function<std::optional<Error>()>& ends);

}  // namespace baleen::launchers
