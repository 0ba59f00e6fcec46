/// \file Which composition serves, and those that only move data.
#include "compose.hpp"

#include <algorithm>

#include "composer.hpp"

namespace baleen::hierarchy {
namespace {

/// A list of `size` zeros but for `value` at `place`.
std::vector<std::uint64_t> only(std::size_t size, std::size_t place, std::uint64_t value) {
  std::vector<std::uint64_t> list(size);
  list[place] = value;
  return list;
}

std::uint64_t sum(const std::vector<std::uint64_t>& list, std::size_t begin, std::size_t end) {
  std::uint64_t all = 0;
  for (std::size_t i = begin; i < end; ++i) all += list[i];
  return all;
}

/// The list with zeros outside of [begin, end).
std::vector<std::uint64_t> within(const std::vector<std::uint64_t>& list, std::size_t begin, std::size_t end) {
  std::vector<std::uint64_t> kept(list.size());
  std::copy(list.begin() + static_cast<std::ptrdiff_t>(begin), list.begin() + static_cast<std::ptrdiff_t>(end),
            kept.begin() + static_cast<std::ptrdiff_t>(begin));
  return kept;
}

}  // namespace

std::vector<Step> compose(const GroupShape& shape, const Collective& collective, const TakeScratch& take) {
  const bool pair = is_pairwise(collective.op);
  if (pair ? shape.is_here(collective.root) : shape.on_one_host()) {
    Step step{Scope::kHost, collective, {}};
    step.collective.members = shape.hosts[shape.host].size();
    step.collective.place = shape.index;
    if (pair) step.collective.root = shape.index_of(collective.root);
    return {std::move(step)};
  }
  if (pair || shape.one_per_host()) return {{Scope::kAll, collective, {}, true}};
  return Composer(shape, collective, take).compose();
}

std::vector<Step> Composer::compose() {
  const bool sums = !is_reducing(c_.op) || !objection_to_host_sums(shape_, c_);
  const bool by_hosts = shape_.contiguous && (sums || c_.op == BALEEN_ALL_REDUCE);
  switch (by_hosts || c_.op == BALEEN_PERMUTE ? c_.op : 0) {
    case 0: steps_.push_back({Scope::kAll, c_, {}, true}); break;
    case BALEEN_PERMUTE: permute(); break;
    case BALEEN_BARRIER: barrier(); break;
    case BALEEN_ALL_REDUCE: all_reduce(); break;
    case BALEEN_REDUCE_SCATTER: shape_.equal ? reduce_scatter() : reduce_scatter_unequal(); break;
    case BALEEN_ALL_GATHER: all_gather(c_.entries, {}); break;
    case BALEEN_BROADCAST: broadcast(); break;
    case BALEEN_REDUCE: reduce(); break;
    default: all_to_all(); break;
  }
  return std::move(steps_);
}

Collective Composer::part(baleen_collective_t op, Scope scope) const {
  Collective part;
  part.op = op;
  part.reduction = is_reducing(op) ? c_.reduction : 0;
  part.dtype = c_.dtype;
  part.deterministic = c_.deterministic;
  part.where = c_.where;
  switch (scope) {
    case Scope::kHost:
      part.members = shape_.hosts[shape_.host].size();
      part.place = shape_.index;
      break;
    case Scope::kSelf: break;
    case Scope::kRail:
      part.members = shape_.hosts.size();
      part.place = shape_.host;
      break;
    case Scope::kAll:
      part.members = shape_.members;
      part.place = shape_.place;
      break;
  }
  return part;
}

std::size_t Composer::add(Scope scope, Collective collective, Steps after) {
  steps_.push_back({scope, std::move(collective), std::move(after)});
  return steps_.size() - 1;
}

ElementRange Composer::segment(const CollectiveEntry& e, std::size_t host) const {
  return {e.block_of(shape_.hosts[host].front()).begin, e.block_of(shape_.hosts[host].back()).end};
}

ElementRange Composer::rail_part(const CollectiveEntry& e, std::size_t host, std::size_t index) const {
  if (shape_.equal) return e.block_of(shape_.hosts[host][index]);
  const ElementRange all = segment(e, host);
  const ElementRange own = CollectiveEntry{nullptr, nullptr, all.size(), per_rail(all.size()), {}, {}}.block_of(index);
  return {all.begin + own.begin, all.begin + own.end};
}

// An ALL_TO_ALL with an entry per distance: it alone puts parts of any sizes at any places.
void Composer::exchange_parts(Collective& rail, const CollectiveEntry& e,
                              const std::vector<ElementRange>& parts) const {
  const std::size_t hosts = rail.members, me = rail.place;
  for (std::size_t distance = 1; distance < hosts; ++distance) {
    const std::size_t to = (me + distance) % hosts, from = (me + hosts - distance) % hosts;
    const void* mine = shape_.equal ? e.input : at(e.output, parts[me].begin);
    rail.entries.push_back({mine, at(e.output, parts[from].begin), 0, 0, only(hosts, to, parts[me].size()),
                            only(hosts, from, parts[from].size())});
  }
}

// A host's blocks cross once to every other host, spread over its rails. Where every member is a rail, its part is its
// block; else the blocks of a host come together first.
void Composer::all_gather(const Entries& entries, const Steps& after) {
  Steps ready = after;
  if (!shape_.equal) {
    Collective own = part(BALEEN_ALL_GATHER, Scope::kHost);
    for (const CollectiveEntry& e : entries) {
      const ElementRange here = segment(e, shape_.host);
      own.entries.push_back({e.input, at(e.output, here.begin), here.size(), e.block, {}, {}});
    }
    ready = {add(Scope::kHost, std::move(own), after)};
  }
  Collective rail = part(BALEEN_ALL_TO_ALL, Scope::kRail), rest = part(BALEEN_ALL_GATHER, Scope::kHost);
  for (const CollectiveEntry& e : entries) {
    std::vector<ElementRange> parts;
    for (std::size_t host = 0; host < shape_.hosts.size(); ++host) {
      if (shape_.on_rail()) parts.push_back(rail_part(e, host, shape_.index));
      if (host == shape_.host && !shape_.equal) continue;  // it is there already
      const ElementRange all = segment(e, host);
      const std::uint64_t block = shape_.equal ? e.block : per_rail(all.size());
      const void* mine = host == shape_.host ? e.input : shape_.on_rail() ? at(e.output, parts.back().begin) : nullptr;
      rest.entries.push_back({mine, at(e.output, all.begin), all.size(), block, {}, {}});
    }
    if (shape_.on_rail()) exchange_parts(rail, e, parts);
  }
  if (shape_.on_rail()) ready = {add(Scope::kRail, std::move(rail), ready)};
  add(Scope::kHost, std::move(rest), ready);
}

// The root's host has all of it first; then each of its rails carries a part to the other hosts, which gather it.
void Composer::broadcast() {
  const std::size_t source = shape_.host_of_place[c_.root];
  const bool is_root = shape_.place == c_.root, at_source = shape_.host == source;
  Steps ready;
  if (at_source) {
    Collective here = part(BALEEN_BROADCAST, Scope::kHost);
    here.root = shape_.index_of(c_.root);
    here.entries = c_.entries;
    const std::size_t step = add(Scope::kHost, std::move(here));
    if (!is_root) ready = {step};
  }
  Collective rail = part(BALEEN_BROADCAST, Scope::kRail), rest = part(BALEEN_ALL_GATHER, Scope::kHost);
  rail.root = source;
  for (const CollectiveEntry& e : c_.entries) {
    const ElementRange own = rail_block(e.count);
    const void* given = at(is_root ? e.input : e.output, own.begin);
    void* taken = is_root ? nullptr : at(e.output, own.begin);
    rail.entries.push_back({given, taken, own.size(), 0, {}, {}});
    rest.entries.push_back({at(e.output, own.begin), e.output, e.count, per_rail(e.count), {}, {}});
  }
  if (shape_.on_rail()) ready = {add(Scope::kRail, std::move(rail), ready)};
  if (!at_source) add(Scope::kHost, std::move(rest), ready);
}

// What stays on the host, and beside it what leaves: pieces to later hosts and pieces to earlier ones lie together
// each.
void Composer::all_to_all() {
  const std::size_t first = shape_.hosts[shape_.host].front(), last = shape_.hosts[shape_.host].back() + 1;
  const std::size_t all = shape_.members;
  Collective here = part(BALEEN_ALL_TO_ALL, Scope::kHost), others = part(BALEEN_ALL_TO_ALL, Scope::kAll);
  for (const CollectiveEntry& e : c_.entries) {
    std::vector<std::uint64_t> sends(all), receives(all);
    for (std::size_t member = 0; member < all; ++member) {
      sends[member] = c_.sends(e, member);
      receives[member] = c_.receives(e, member);
    }
    const auto input = [&](std::size_t begin) { return at(e.input, sum(sends, 0, begin)); };
    const auto output = [&](std::size_t begin) { return at(e.output, sum(receives, 0, begin)); };
    const auto own = [&](const std::vector<std::uint64_t>& list) {
      return std::vector<std::uint64_t>(list.begin() + static_cast<std::ptrdiff_t>(first),
                                        list.begin() + static_cast<std::ptrdiff_t>(last));
    };
    here.entries.push_back({input(first), output(first), 0, 0, own(sends), own(receives)});
    others.entries.push_back({input(last), output(0), 0, 0, within(sends, last, all), within(receives, 0, first)});
    others.entries.push_back({input(0), output(last), 0, 0, within(sends, 0, first), within(receives, last, all)});
  }
  add(Scope::kHost, std::move(here));
  add(Scope::kAll, std::move(others));
}

void Composer::permute_through(Scope scope, const std::vector<std::int32_t>& destinations,
                               const std::vector<void*>& outputs) {
  if (std::all_of(destinations.begin(), destinations.end(), [](std::int32_t to) { return to < 0; })) return;
  Collective moved = part(BALEEN_PERMUTE, scope);
  moved.destinations = destinations;
  for (std::size_t i = 0; i < c_.entries.size(); ++i)
    moved.entries.push_back({c_.entries[i].input, outputs[i], c_.entries[i].count, 0, {}, {}});
  add(scope, std::move(moved));
}

// In place a member may give to its host what it takes from another, or the other way round: neither transport knows
// when the other has read, so what arrives waits in scratch.
void Composer::permute() {
  const std::int32_t to = c_.destinations[shape_.place], from = c_.source();
  const bool crosses = to >= 0 && from >= 0 &&
                       shape_.is_here(static_cast<std::size_t>(to)) != shape_.is_here(static_cast<std::size_t>(from));
  std::vector<void*> outputs;
  Collective copy = part(BALEEN_PERMUTE, Scope::kSelf);
  copy.destinations = {0};
  for (const CollectiveEntry& e : c_.entries) {
    const bool waits = crosses && e.count > 0 && e.input == e.output;
    outputs.push_back(waits ? scratch(e.count) : e.output);
    if (waits) copy.entries.push_back({outputs.back(), e.output, e.count, 0, {}, {}});
  }
  const auto& places = shape_.hosts[shape_.host];
  std::vector<std::int32_t> here(places.size(), -1), others = c_.destinations;
  for (std::size_t member = 0; member < shape_.members; ++member) {
    if (c_.destinations[member] < 0) continue;
    const auto target = static_cast<std::size_t>(c_.destinations[member]);
    if (shape_.host_of_place[member] != shape_.host_of_place[target]) continue;
    if (shape_.is_here(member)) here[shape_.index_of(member)] = static_cast<std::int32_t>(shape_.index_of(target));
    others[member] = -1;
  }
  permute_through(Scope::kHost, here, outputs);
  permute_through(Scope::kAll, others, outputs);
  Steps both;
  for (std::size_t step = 0; step < steps_.size(); ++step) both.push_back(step);
  if (!copy.entries.empty()) add(Scope::kSelf, std::move(copy), both);
}

void Composer::barrier() {
  std::size_t last = add(Scope::kHost, part(BALEEN_BARRIER, Scope::kHost));
  if (shape_.index == 0) last = add(Scope::kRail, part(BALEEN_BARRIER, Scope::kRail), {last});
  add(Scope::kHost, part(BALEEN_BARRIER, Scope::kHost), {last});
}

}  // namespace baleen::hierarchy
