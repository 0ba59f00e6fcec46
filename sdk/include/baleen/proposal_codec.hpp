/// \file Proposals as bytes, for transports that send them to each other: numbers of eight bytes, lists and texts with
/// their length before them. One walk describes both directions.
#pragma once
#include <cstring>
#include <string>
#include <type_traits>

#include "baleen/proposal.hpp"

namespace baleen::sdk {

/// Appends to `bytes`.
struct ProposalWriter {
  std::string bytes;

  template <class T>
  void number(const T& value) {
    const auto wide = static_cast<std::uint64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void text(const std::string& value) {
    number(value.size());
    bytes += value;
  }
  template <class List, class Body>
  void list(const List& values, const Body& body) {
    number(values.size());
    for (const auto& value : values) body(value);
  }
};

/// Reads what a ProposalWriter wrote; bytes that are missing or too many leave `complete()` false.
struct ProposalReader {
  const std::string& bytes;
  std::size_t at = 0;
  bool whole = true;  // nothing was missing so far

  /// Nothing was missing, and nothing is left.
  bool complete() const { return whole && at == bytes.size(); }

  template <class T>
  void number(T& value) {
    std::uint64_t wide = 0;
    if (bytes.size() - at < sizeof wide) {
      whole = false;
      at = bytes.size();
    } else {
      std::memcpy(&wide, bytes.data() + at, sizeof wide);
      at += sizeof wide;
    }
    value = static_cast<T>(wide);
  }
  void text(std::string& value) {
    std::uint64_t size = 0;
    number(size);
    whole = whole && size <= bytes.size() - at;
    if (!whole) return;
    value = bytes.substr(at, size);
    at += size;
  }
  template <class List, class Body>
  void list(List& values, const Body& body) {
    std::uint64_t size = 0;
    number(size);
    whole = whole && size <= bytes.size() - at;  // an item has a byte at least
    // One by one: a length that lies takes no more memory than the bytes that are there.
    for (values.clear(); whole && size > 0; --size) body(values.emplace_back());
  }
};

namespace detail {

template <class Stream, class T>
void walk_numbers(Stream& stream, T& values) {
  stream.list(values, [&](auto& value) { stream.number(value); });
}

template <class Stream, class C>
void walk_collective(Stream& stream, C& c) {
  stream.number(c.op);
  stream.number(c.reduction);
  stream.number(c.dtype);
  stream.number(c.deterministic);
  stream.number(c.root);
  stream.number(c.place);
  stream.number(c.members);
  stream.list(c.entries, [&](auto& e) {
    stream.number(e.count);
    stream.number(e.block);
    walk_numbers(stream, e.sends);
    walk_numbers(stream, e.receives);
  });
  walk_numbers(stream, c.destinations);
  stream.text(c.where);
}

/// Whether what was read is a member's view of a collective of these ranks, with lists as long as they must be.
inline bool is_sound(const Proposal& p) {
  const Collective& c = *p.collective;
  const std::size_t members = p.ranks.size();
  const auto fits = [&](const auto& list) { return list.empty() || list.size() == members; };
  const auto entry_fits = [&](const CollectiveEntry& e) { return fits(e.sends) && fits(e.receives); };
  return collective_name(c.op) != "?" && c.width() > 0 && c.members == members && c.place < members &&
         c.root < members && fits(c.destinations) && (c.op != BALEEN_PERMUTE || !c.destinations.empty()) &&
         std::all_of(c.entries.begin(), c.entries.end(), entry_fits);
}

}  // namespace detail

/// Writes a proposal, or reads one: without the buffers' addresses, which mean nothing elsewhere. One that contradicts
/// itself is not whole.
template <class Stream, class P>
void walk_proposal(Stream& stream, P& p) {
  stream.number(p.rank);
  stream.number(p.number);
  detail::walk_numbers(stream, p.ranks);
  detail::walk_numbers(stream, p.present);
  stream.text(p.refusal);
  stream.number(p.refused);
  bool has_collective = p.collective.has_value();
  stream.number(has_collective);
  if constexpr (!std::is_const_v<P>)
    if (has_collective) p.collective.emplace();
  if (has_collective) detail::walk_collective(stream, *p.collective);
  if constexpr (std::is_same_v<Stream, ProposalReader>)
    stream.whole = stream.whole && (!has_collective || detail::is_sound(p));
}

}  // namespace baleen::sdk
