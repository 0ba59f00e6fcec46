/// \file Compositions that add: each host its own shares, then the hosts' sums.
#include <algorithm>

#include "composer.hpp"

namespace baleen::hierarchy {
namespace {

bool is_half(baleen_dtype_t dtype) { return dtype == BALEEN_F16 || dtype == BALEEN_BF16; }
bool is_integer(baleen_dtype_t dtype) { return dtype == BALEEN_I32 || dtype == BALEEN_I64 || dtype == BALEEN_U8; }

std::uint64_t overlap(ElementRange a, ElementRange b) {
  const std::uint64_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  return end > begin ? end - begin : 0;
}

}  // namespace

const char* objection_to_host_sums(const GroupShape& shape, const Collective& c) {
  if (!shape.contiguous) return "its members of a host do not stand together in the group";
  if (is_half(c.dtype) && c.reduction == BALEEN_SUM) return "sums of single hosts would be rounded to its dtype";
  if (is_integer(c.dtype) || !c.deterministic || shape.keeps_tree) return nullptr;
  return "its hosts' members are no subtrees of the deterministic sum";
}

// Each host scatters its sums over its rails, these are reduced between hosts, and each host gathers the results. Where
// hosts must not add, one step between all members does, and only the gathering goes by hosts.
void Composer::all_reduce() {
  if (objection_to_host_sums(shape_, c_)) {
    Collective scatter = part(BALEEN_REDUCE_SCATTER, Scope::kAll);
    Entries blocks;
    for (const CollectiveEntry& e : c_.entries) {
      const std::uint64_t block = (e.count + shape_.members - 1) / shape_.members;
      CollectiveEntry gathered{nullptr, e.output, e.count, block, {}, {}};
      void* own = at(e.output, gathered.block_of(shape_.place).begin);
      gathered.input = own;
      scatter.entries.push_back({e.input, own, e.count, block, {}, {}});
      blocks.push_back(std::move(gathered));
    }
    const std::size_t step = add(Scope::kAll, std::move(scatter));
    return all_gather(blocks, {step});
  }
  Collective scatter = part(BALEEN_REDUCE_SCATTER, Scope::kHost), rail = part(BALEEN_ALL_REDUCE, Scope::kRail),
             gather = part(BALEEN_ALL_GATHER, Scope::kHost);
  for (const CollectiveEntry& e : c_.entries) {
    const ElementRange own = rail_block(e.count);
    void* sum = at(e.output, own.begin);
    scatter.entries.push_back({e.input, sum, e.count, per_rail(e.count), {}, {}});
    rail.entries.push_back({sum, sum, own.size(), 0, {}, {}});
    gather.entries.push_back({sum, e.output, e.count, per_rail(e.count), {}, {}});
  }
  std::size_t last = add(Scope::kHost, std::move(scatter));
  if (shape_.on_rail()) last = add(Scope::kRail, std::move(rail), {last});
  add(Scope::kHost, std::move(gather), {last});
}

// A member's share on its host are the blocks of its like on all hosts, one after the other.
void Composer::reduce_scatter() {
  Collective here = part(BALEEN_REDUCE_SCATTER, Scope::kHost), rail = part(BALEEN_REDUCE_SCATTER, Scope::kRail);
  for (const CollectiveEntry& e : c_.entries) {
    std::uint64_t count = 0;
    for (const auto& places : shape_.hosts) count += e.block_of(places[shape_.index]).size();
    std::byte* sums = scratch(count);
    std::uint64_t filled = 0;
    for (std::size_t host = 0; host < shape_.hosts.size(); ++host) {
      const ElementRange all = segment(e, host);
      here.entries.push_back({at(e.input, all.begin), at(sums, filled), all.size(), e.block, {}, {}});
      filled += e.block_of(shape_.hosts[host][shape_.index]).size();
    }
    rail.entries.push_back({sums, e.output, count, e.block, {}, {}});
  }
  const std::size_t step = add(Scope::kHost, std::move(here));
  add(Scope::kRail, std::move(rail), {step});
}

/// From the rails of this host, which hold its segment in parts, to the owners of its blocks.
CollectiveEntry Composer::to_owners(const CollectiveEntry& e, std::byte* held) const {
  CollectiveEntry moved{held, e.output, 0, 0, {}, {}};
  const auto& places = shape_.hosts[shape_.host];
  const auto held_by = [&](std::size_t index) {
    return index < shape_.rails ? rail_part(e, shape_.host, index) : ElementRange{};
  };
  for (std::size_t index = 0; index < places.size(); ++index) {
    moved.sends.push_back(overlap(held_by(shape_.index), e.block_of(places[index])));
    moved.receives.push_back(overlap(held_by(index), e.block_of(shape_.place)));
  }
  return moved;
}

// Hosts have segments of different sizes: each is reduced to its host on its own, then handed to the owners of blocks.
void Composer::reduce_scatter_unequal() {
  const std::size_t hosts = shape_.hosts.size();
  Collective here = part(BALEEN_REDUCE_SCATTER, Scope::kHost), owners = part(BALEEN_ALL_TO_ALL, Scope::kHost);
  std::vector<Collective> rails(hosts, part(BALEEN_REDUCE, Scope::kRail));
  for (const CollectiveEntry& e : c_.entries) {
    for (std::size_t host = 0; host < hosts; ++host) {
      const ElementRange all = segment(e, host);
      const std::uint64_t held = rail_block(all.size()).size();
      std::byte* sum = scratch(held);
      here.entries.push_back({at(e.input, all.begin), sum, all.size(), per_rail(all.size()), {}, {}});
      rails[host].root = host;
      rails[host].entries.push_back({sum, host == shape_.host ? sum : nullptr, held, 0, {}, {}});
      if (host == shape_.host) owners.entries.push_back(to_owners(e, sum));
    }
  }
  Steps ready = {add(Scope::kHost, std::move(here))};
  const Steps summed = ready;
  if (shape_.on_rail())
    for (Collective& rail : rails) ready.push_back(add(Scope::kRail, std::move(rail), summed));
  add(Scope::kHost, std::move(owners), ready);
}

// As all_reduce, but only the root's host gets the sums, and its root the parts of all rails.
void Composer::reduce() {
  const std::size_t target = shape_.host_of_place[c_.root], root = shape_.index_of(c_.root);
  const bool here = shape_.host == target, is_root = shape_.place == c_.root;
  Collective scatter = part(BALEEN_REDUCE_SCATTER, Scope::kHost), rail = part(BALEEN_REDUCE, Scope::kRail),
             gather = part(BALEEN_ALL_TO_ALL, Scope::kHost);
  rail.root = target;
  for (const CollectiveEntry& e : c_.entries) {
    const std::uint64_t block = per_rail(e.count), held = rail_block(e.count).size();
    std::byte* sum = scratch(held);
    scatter.entries.push_back({e.input, sum, e.count, block, {}, {}});
    rail.entries.push_back({sum, here ? sum : nullptr, held, 0, {}, {}});
    const CollectiveEntry blocks{nullptr, nullptr, e.count, block, {}, {}};
    CollectiveEntry moved{sum, is_root ? e.output : nullptr, 0, 0, {}, {}};
    for (std::size_t index = 0; index < gather.members; ++index) {
      moved.sends.push_back(index == root ? held : 0);
      moved.receives.push_back(is_root ? blocks.block_of(index).size() : 0);
    }
    gather.entries.push_back(std::move(moved));
  }
  std::size_t last = add(Scope::kHost, std::move(scatter));
  if (shape_.on_rail()) last = add(Scope::kRail, std::move(rail), {last});
  if (here) add(Scope::kHost, std::move(gather), {last});
}

}  // namespace baleen::hierarchy
