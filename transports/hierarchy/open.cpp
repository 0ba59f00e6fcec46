/// \file Each transport meets under keys of its own.
#include "open.hpp"

#include <algorithm>
#include <map>

#include "rendezvous_view.hpp"

namespace baleen::hierarchy {

std::vector<std::int32_t> numbered_hosts(const std::vector<std::int32_t>& host_of, std::int64_t ranks_per_host) {
  struct Part {
    std::int32_t number = 0;
    std::int64_t ranks = 0;
  };
  std::map<std::int32_t, Part> parts;  // of each host the one that is being filled
  std::vector<std::int32_t> numbers;
  std::int32_t next = 0;
  for (const std::int32_t host : host_of) {
    const auto [found, is_new] = parts.try_emplace(host);
    Part& part = found->second;
    const bool is_full = ranks_per_host > 0 && part.ranks == ranks_per_host;
    if (is_new || is_full) part = {next++, 0};
    ++part.ranks;
    numbers.push_back(part.number);
  }
  return numbers;
}

Result<std::unique_ptr<OpenTransport>> open_alone(const OpenedMember& member, const baleen_rendezvous_t& rendezvous) {
  return TableTransport::create(member.table<baleen_transport_t>(), member.host(), member.settings(), rendezvous,
                                [&member](baleen_status_t status) { return member.failure(status); });
}

Result<std::unique_ptr<OpenTransport>> open(const Members& members, std::vector<std::int32_t> host_of,
                                            const baleen_rendezvous_t& rendezvous, HierarchyTransport::Explain note) {
  const std::int32_t mine = host_of[static_cast<std::size_t>(rendezvous.rank)];
  std::vector<std::int32_t> neighbours;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank)
    if (host_of[rank] == mine) neighbours.push_back(static_cast<std::int32_t>(rank));
  const RendezvousView host(rendezvous, "inside." + std::to_string(mine) + ".", std::move(neighbours));
  BALEEN_TRY_ASSIGN(auto inside, open_alone(members.inside, *host.get()));
  const RendezvousView world(rendezvous, "between.");
  BALEEN_TRY_ASSIGN(auto between, open_alone(members.between, *world.get()));
  return std::unique_ptr<OpenTransport>(std::make_unique<HierarchyTransport>(
      std::move(inside), std::move(between), std::move(host_of), rendezvous.rank, std::move(note)));
}

}  // namespace baleen::hierarchy
