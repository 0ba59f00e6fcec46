/// \file A hierarchy of two transport plugins.
#pragma once
#include "core/hierarchy/transport.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen::hierarchy {

struct Members {
  Plugin inside;
  const baleen_settings_t& inside_settings;
  Plugin between;
  const baleen_settings_t& between_settings;
};

/// Collective over all ranks of the rendezvous: first each host meets, then everyone. `host_of` has a number per rank.
Result<std::unique_ptr<OpenTransport>> open(const Members& members, std::vector<std::int32_t> host_of,
                                            const baleen_rendezvous_t& rendezvous, HierarchyTransport::Options options);

}  // namespace baleen::hierarchy
