/// \file Two transports of a run that are opened as one.
#pragma once
#include "baleen/opened_member.hpp"
#include "transport.hpp"

namespace baleen::hierarchy {

using namespace sdk;

/// What joins the ranks of each host, and what joins all ranks.
struct Members {
  const OpenedMember& inside;
  const OpenedMember& between;
};

/// A number for the host of each rank, counting up along the ranks of each; hosts are cut into parts of so many ranks
/// (0: they stay whole).
std::vector<std::int32_t> numbered_hosts(const std::vector<std::int32_t>& host_of, std::int64_t ranks_per_host);

/// One that serves all ranks alone. Borrows the member. Collective.
Result<std::unique_ptr<OpenTransport>> open_alone(const OpenedMember& member, const baleen_rendezvous_t& rendezvous);

/// Collective over all ranks of the rendezvous: first each host meets, then everyone. Borrows the members. `host_of`
/// has a number per rank.
Result<std::unique_ptr<OpenTransport>> open(const Members& members, std::vector<std::int32_t> host_of,
                                            const baleen_rendezvous_t& rendezvous, HierarchyTransport::Explain note);

}  // namespace baleen::hierarchy
