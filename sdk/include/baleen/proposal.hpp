/// \file What the members of a group bring to a call that they make together, and whether they agree: what
/// `group_create` and `prepare` of every transport compare.
#pragma once
#include <functional>
#include <optional>

#include "baleen/collective.hpp"

namespace baleen::sdk {

/// What one rank brings to a call that its group makes together.
struct Proposal {
  std::int32_t rank = 0;
  std::uint64_t number = 0;                  ///< the proposer's own; all use the first member's for a new group
  std::vector<std::int32_t> ranks;           ///< of the group
  std::vector<std::int32_t> present;         ///< who makes the call: the group, or a pair of it
  std::optional<Collective> collective;      ///< of `prepare`; none: `group_create`
  std::string refusal;                       ///< why this rank cannot go on; or empty
  baleen_status_t refused = BALEEN_INVALID;  ///< the code of `refusal`

  /// With this error, which everyone who is present gets with its code.
  void refuse(const Error& error) {
    refusal = error.text();
    refused = error.code;
  }
  std::string text() const;
};

/// The proposal of `group_create`. Refuses ranks that are not ascending or lack the caller.
Result<Proposal> propose(std::int32_t rank, std::int32_t ranks, std::vector<std::int32_t> group, std::uint64_t number);
/// The proposal of `prepare`. An error only where it is not known whom to tell.
Result<Proposal> propose(std::int32_t rank, const std::vector<std::int32_t>& group,
                         const baleen_collective_spec_t& spec);

/// What is wrong with the proposals of all who are present, in the same words whichever rank asks: a refusal, or the
/// first two that disagree, "rank 1 prepares all_gather of 12 fp32 at a.lua:9 where rank 0 prepares all_reduce of 10
/// fp32 at ...".
Status agree(const std::vector<Proposal>& proposals);

/// Two members started different collectives of their group where they should have met, as when one has come to the end
/// of the script: "rank 1 starts barrier at ... where rank 0 starts all_reduce ...", whichever of the two asks.
Error another_start(std::int32_t rank, const std::string& text, std::int32_t other, const std::string& other_text);

namespace detail {

/// What differs, as "buffer 1 has 4 elements, not 6" (a's first), or nothing.
inline std::string difference(const Collective& a, const Collective& b) {
  const auto numbers = [](const std::string& what, auto x, auto y) {
    return what + " " + std::to_string(x) + ", not " + std::to_string(y);
  };
  const bool pair = is_pairwise(a.op);
  if (pair ? a.op == b.op || !is_pairwise(b.op) : a.op != b.op) return "another operation";
  if (pair ? a.root != b.place || b.root != a.place : a.root != b.root) return numbers("root", a.root, b.root);
  if (a.dtype != b.dtype) return "another dtype";
  if (a.reduction != b.reduction) return "another reduction";
  if (a.deterministic != b.deterministic) return "deterministic on one only";
  if (a.destinations != b.destinations) return "other destinations";
  if (a.entries.size() != b.entries.size()) return numbers("buffers", a.entries.size(), b.entries.size());
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const CollectiveEntry &x = a.entries[i], &y = b.entries[i];
    const std::string name = "buffer " + std::to_string(i) + " has ";
    if (x.count != y.count) return numbers(name + "elements", x.count, y.count);
    if (x.block != y.block) return numbers(name + "a block of", x.block, y.block);
    if (a.op != BALEEN_ALL_TO_ALL) continue;
    const std::uint64_t sent = a.sends(x, b.place), got = b.receives(y, a.place);
    if (sent != got)
      return name + std::to_string(sent) + " to send where " + std::to_string(got) + " are to be received";
    const std::uint64_t back = b.sends(y, a.place), taken = a.receives(x, b.place);
    if (back != taken)
      return name + std::to_string(taken) + " to receive where " + std::to_string(back) + " are to be sent";
  }
  return {};
}

}  // namespace detail

inline std::string Proposal::text() const {
  const std::string name = "rank " + std::to_string(rank);
  if (collective) return name + " prepares " + collective->text();
  if (!refusal.empty()) return name + " prepares a collective";
  std::string list;
  for (const std::int32_t member : ranks) list += (list.empty() ? "" : ", ") + std::to_string(member);
  return name + " creates a group of " + list;
}

inline Result<Proposal> propose(std::int32_t rank, std::int32_t ranks, std::vector<std::int32_t> group,
                                std::uint64_t number) {
  Proposal mine{rank, number, group, group, {}, {}};
  if (std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) != group.end() ||
      std::find(group.begin(), group.end(), rank) == group.end() || group.front() < 0 || group.back() >= ranks)
    return invalid(mine.text() + ": a group is an ascending list of the " + std::to_string(ranks) +
                   " ranks that holds the caller");
  return mine;
}

inline Result<Proposal> propose(std::int32_t rank, const std::vector<std::int32_t>& group,
                                const baleen_collective_spec_t& spec) {
  const auto place = static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
  Proposal mine{rank, 0, group, group, {}, {}};
  Result<Collective> made = Collective::make(spec, place, group.size());
  if (is_pairwise(spec.op)) {
    const bool known = spec.root >= 0 && static_cast<std::size_t>(spec.root) < group.size() && group[spec.root] != rank;
    if (!known) return std::move(made).error();
    mine.present = {std::min(rank, group[spec.root]), std::max(rank, group[spec.root])};
  }
  if (made)
    mine.collective = *std::move(made);
  else
    mine.refuse(made.error());
  return mine;
}

inline Status agree(const std::vector<Proposal>& proposals) {
  for (const Proposal& p : proposals)
    if (!p.refusal.empty()) return Error{p.refused, "rank " + std::to_string(p.rank) + " refuses: " + p.refusal, {}};
  for (std::size_t j = 1; j < proposals.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Proposal &a = proposals[j], &b = proposals[i];
      const bool alike = a.collective.has_value() == b.collective.has_value() && a.ranks == b.ranks;
      const std::string why = !alike         ? "another group"
                              : a.collective ? detail::difference(*a.collective, *b.collective)
                                             : "";
      if (!alike || !why.empty()) return invalid(a.text() + " where " + b.text() + " (" + why + ")");
    }
  }
  return {};
}

inline Error another_start(std::int32_t rank, const std::string& text, std::int32_t other,
                           const std::string& other_text) {
  if (rank < other) return another_start(other, other_text, rank, text);
  return invalid("rank " + std::to_string(rank) + " starts " + text + " where rank " + std::to_string(other) +
                 " starts " + other_text);
}

}  // namespace baleen::sdk
