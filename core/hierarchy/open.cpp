/// \file Each transport meets under keys of its own.
#include "core/hierarchy/open.hpp"

#include <algorithm>

#include "core/hierarchy/plugin_transport.hpp"
#include "core/hierarchy/rendezvous_view.hpp"

namespace baleen::hierarchy {

Result<std::unique_ptr<OpenTransport>> open(const Members& members, std::vector<std::int32_t> host_of,
                                            const baleen_rendezvous_t& rendezvous,
                                            HierarchyTransport::Options options) {
  if (host_of.size() != static_cast<std::size_t>(rendezvous.ranks))
    return internal("hosts are known for " + std::to_string(host_of.size()) + " ranks of " +
                    std::to_string(rendezvous.ranks));
  const auto me = host_of.begin() + rendezvous.rank;
  const auto before = std::count(host_of.begin(), me, *me), all = std::count(host_of.begin(), host_of.end(), *me);
  // The one that knows all ranks compares what they start, steps inside hosts included.
  const baleen_transport_flags_t flags = options.checked ? BALEEN_TRANSPORT_CHECKED | BALEEN_TRANSPORT_NOTED : 0u;
  const RendezvousView host(rendezvous, "inside." + std::to_string(*me) + ".", static_cast<std::int32_t>(before),
                            static_cast<std::int32_t>(all));
  BALEEN_TRY_ASSIGN(auto inside, PluginTransport::create(members.inside, members.inside_settings, *host.get(), 0));
  const RendezvousView world(rendezvous, "between.", rendezvous.rank, rendezvous.ranks);
  BALEEN_TRY_ASSIGN(auto between,
                    PluginTransport::create(members.between, members.between_settings, *world.get(), flags));
  return std::unique_ptr<OpenTransport>(std::make_unique<HierarchyTransport>(
      std::move(inside), std::move(between), std::move(host_of), rendezvous.rank, std::move(options)));
}

}  // namespace baleen::hierarchy
