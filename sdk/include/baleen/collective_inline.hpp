/// \file The bodies of collective.hpp.
#pragma once
#include "baleen/collective.hpp"

namespace baleen {

inline CollectiveSpec::CollectiveSpec(const CollectiveArgs& c) {
  const auto list = [](const auto& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
  for (const CollectiveEntry& e : c.entries)
    entries_.push_back({e.input, e.output, e.count, e.block, list(e.sends), list(e.receives)});
  spec_ = {sizeof spec_,
           c.op,
           c.reduction,
           c.dtype,
           static_cast<std::int32_t>(c.root),
           entries_.data(),
           entries_.size(),
           list(c.destinations),
           c.deterministic ? 1u : 0u,
           0,
           abi(c.where)};
}

inline std::uint64_t Collective::input_count(const CollectiveEntry& e) const {
  std::uint64_t all = 0;
  switch (op) {
    case BALEEN_ALL_GATHER: return e.block_of(place).size();
    case BALEEN_BROADCAST: return place == root ? e.count : 0;
    case BALEEN_PERMUTE: return destinations[place] >= 0 ? e.count : 0;
    case BALEEN_RECEIVE:
    case BALEEN_BARRIER: return 0;
    case BALEEN_ALL_TO_ALL:
      for (std::size_t to = 0; to < members; ++to) all += sends(e, to);
      return all;
    default: return e.count;
  }
}

inline std::uint64_t Collective::output_count(const CollectiveEntry& e) const {
  std::uint64_t all = 0;
  switch (op) {
    case BALEEN_REDUCE_SCATTER: return e.block_of(place).size();
    case BALEEN_REDUCE: return place == root ? e.count : 0;
    case BALEEN_BROADCAST: return place == root && !e.output ? 0 : e.count;
    case BALEEN_PERMUTE: return source() >= 0 ? e.count : 0;
    case BALEEN_SEND:
    case BALEEN_BARRIER: return 0;
    case BALEEN_ALL_TO_ALL:
      for (std::size_t from = 0; from < members; ++from) all += receives(e, from);
      return all;
    default: return e.count;
  }
}

inline std::string Collective::text() const {
  std::string text(collective_name(op));
  if (op != BALEEN_BARRIER) {
    std::uint64_t all = 0;
    for (const CollectiveEntry& e : entries) all += std::max({e.count, input_count(e), output_count(e)});
    text += " of " + std::to_string(all) + " " + std::string(dtype_name(dtype));
    if (entries.size() != 1) text += " in " + std::to_string(entries.size()) + " buffers";
  }
  return where.empty() ? text : text + " at " + where;
}

inline std::uint64_t collective_bytes(const Collective& c) {
  const std::uint64_t others = c.members - 1;
  std::uint64_t all = 0;
  for (const CollectiveEntry& e : c.entries) {
    const std::uint64_t bytes = e.count * c.width();
    switch (c.op) {
      // Divided first: 2 (n-1) c s may not fit where c s does.
      case BALEEN_ALL_REDUCE:
        all += 2 * others * (bytes / c.members) + 2 * others * (bytes % c.members) / c.members;
        break;
      case BALEEN_REDUCE_SCATTER: all += bytes - e.block_of(c.place).size() * c.width(); break;
      case BALEEN_ALL_GATHER: all += others * e.block_of(c.place).size() * c.width(); break;
      case BALEEN_BROADCAST: all += c.place == c.root ? others * bytes : 0; break;
      case BALEEN_REDUCE: all += c.place == c.root ? 0 : bytes; break;
      case BALEEN_ALL_TO_ALL: all += (c.input_count(e) - c.sends(e, c.place)) * c.width(); break;
      case BALEEN_PERMUTE: {
        const std::int32_t to = c.destinations[c.place];
        all += to >= 0 && to != static_cast<std::int32_t>(c.place) ? bytes : 0;
        break;
      }
      case BALEEN_SEND: all += bytes; break;
      default: break;
    }
  }
  return all;
}

namespace detail {

inline Status check_entry(const Collective& c, const CollectiveEntry& e, const std::string& name) {
  const auto wrong = [&](const std::string& what) { return invalid(c.text() + ": " + name + " " + what); };
  if ((c.op == BALEEN_REDUCE_SCATTER || c.op == BALEEN_ALL_GATHER) && e.block * c.members < e.count)
    return wrong("has blocks of " + std::to_string(e.block) + ", too small for " + std::to_string(e.count) +
                 " elements on " + std::to_string(c.members) + " members");
  if (c.op == BALEEN_ALL_TO_ALL && e.sends.empty() && e.count != e.block * c.members)
    return wrong("has a count of " + std::to_string(e.count) +
                 ", not block * members = " + std::to_string(e.block * c.members));
  const std::uint64_t in = c.input_count(e) * c.width(), out = c.output_count(e) * c.width();
  if (in && !e.input) return wrong("has no input");
  if (out && !e.output) return wrong("has no output");
  if (!in || !out) return {};
  const auto* from = static_cast<const char*>(e.input);
  const auto* to = static_cast<const char*>(e.output);
  if (from + in <= to || to + out <= from) return {};
  const std::uint64_t skipped = e.block_of(c.place).begin * c.width();
  const char* in_place = c.op == BALEEN_REDUCE_SCATTER ? from + skipped : from;
  if (c.op == BALEEN_ALL_GATHER ? to + skipped == from : c.op != BALEEN_ALL_TO_ALL && to == in_place) return {};
  return wrong(c.op == BALEEN_ALL_TO_ALL ? "has an output that overlaps its input; all_to_all does not work in place"
                                         : "has an output that overlaps its input without being in place");
}

inline Status check_destinations(const Collective& c) {
  for (std::size_t i = 0; i < c.members; ++i) {
    const std::int32_t to = c.destinations[i];
    const bool twice = std::find(c.destinations.begin(), c.destinations.begin() + static_cast<std::ptrdiff_t>(i), to) !=
                       c.destinations.begin() + static_cast<std::ptrdiff_t>(i);
    if (to < -1 || to >= static_cast<std::int32_t>(c.members) || (to >= 0 && twice))
      return invalid(c.text() + ": member " + std::to_string(i) + " sends to member " + std::to_string(to) +
                     (twice ? ", which another sends to" : ", which is not in the group"));
  }
  return {};
}

}  // namespace detail

inline Result<Collective> Collective::make(const baleen_collective_spec_t& spec, std::size_t place,
                                           std::size_t members) {
  Collective c;
  c.where = view(spec.where);
  c.place = place;
  c.members = members;
  if (collective_name(spec.op) == "?")
    return invalid("no collective has the number " + std::to_string(spec.op), c.where);
  c.op = spec.op;
  c.deterministic = spec.deterministic != 0;
  if (c.op == BALEEN_BARRIER) return c;
  c.dtype = spec.dtype;
  if (c.width() == 0) return invalid("no dtype has the number " + std::to_string(spec.dtype), c.where);
  if (is_reducing(c.op) && is_fp8(c.dtype))
    return invalid(std::string(collective_name(c.op)) + " of " + std::string(dtype_name(c.dtype)) +
                       ": 8 bits are moved and not reduced; cast them first",
                   c.where);
  if (is_reducing(c.op)) c.reduction = spec.reduction;
  if (is_reducing(c.op) && c.reduction != BALEEN_SUM && c.reduction != BALEEN_MAXIMUM)
    return invalid("no reduction has the number " + std::to_string(spec.reduction), c.where);
  if (c.op == BALEEN_BROADCAST || c.op == BALEEN_REDUCE || is_pairwise(c.op)) {
    if (spec.root < 0 || static_cast<std::size_t>(spec.root) >= members ||
        (is_pairwise(c.op) && static_cast<std::size_t>(spec.root) == place))
      return invalid(std::string(collective_name(c.op)) + ": the root or peer " + std::to_string(spec.root) +
                         " is not another member of the group of " + std::to_string(members),
                     c.where);
    c.root = static_cast<std::size_t>(spec.root);
  }
  if (c.op == BALEEN_PERMUTE) {
    if (!spec.destinations) return invalid("permute: no destinations", c.where);
    c.destinations.assign(spec.destinations, spec.destinations + members);
  }
  for (std::uint64_t i = 0; i < spec.entry_count; ++i) {
    const baleen_collective_entry_t& given = spec.entries[i];
    CollectiveEntry e{given.input, given.output, given.count, given.block, {}, {}};
    if (c.op == BALEEN_ALL_TO_ALL && (given.sends || given.receives)) {
      if (!given.sends || !given.receives) return invalid("all_to_all: one of sends and receives is missing", c.where);
      e.sends.assign(given.sends, given.sends + members);
      e.receives.assign(given.receives, given.receives + members);
    }
    c.entries.push_back(std::move(e));
  }
  if (c.op == BALEEN_PERMUTE) BALEEN_TRY(detail::check_destinations(c));
  for (std::size_t i = 0; i < c.entries.size(); ++i)
    BALEEN_TRY(detail::check_entry(c, c.entries[i], "buffer " + std::to_string(i)));
  return c;
}

}  // namespace baleen
