/// \file Comparing group by group.
#include "ballot.hpp"

#include "baleen/proposal_codec.hpp"

namespace baleen::nccl {

using namespace sdk;

namespace {

Error senseless_vote(const std::string& what, std::int32_t from) {
  return internal("nccl: " + what + " of rank " + std::to_string(from) +
                  " makes no sense; do all ranks run the same version?");
}

/// Why a rank's captures of a group are not this one's; empty: they are.
std::string difference(const std::vector<Ballot>& ballots, std::size_t rank, const std::string& key,
                       std::int32_t member) {
  const Ballot::Group& group = ballots[rank].groups.at(key);
  const std::string own = "rank " + std::to_string(rank) + " has captured " + std::to_string(group.starts.size()) +
                          " collectives of " + key;
  if (member < 0 || static_cast<std::size_t>(member) >= ballots.size())
    return own + ", whose member " + std::to_string(member) + " does not exist";
  const auto& theirs = ballots[static_cast<std::size_t>(member)].groups;
  const auto found = theirs.find(key);
  if (found == theirs.end()) return own + ", and rank " + std::to_string(member) + " none";
  if (found->second.starts == group.starts && found->second.ranks == group.ranks) return {};
  return own + ", and rank " + std::to_string(member) + " " + std::to_string(found->second.starts.size()) + " others";
}

}  // namespace

std::uint64_t Ballot::collectives() const {
  std::uint64_t all = 0;
  for (const auto& [key, group] : groups) all += group.starts.size();
  return all;
}

Outcome outcome_of(const std::vector<Ballot>& ballots) {
  Outcome outcome;
  for (std::size_t rank = 0; rank < ballots.size(); ++rank)
    for (const auto& [key, group] : ballots[rank].groups) {
      outcome.agreed = true;
      for (const std::int32_t member : group.ranks)
        if (std::string why = difference(ballots, rank, key, member); !why.empty()) return {false, std::move(why)};
    }
  return outcome;
}

std::string encode(const Ballot& ballot) {
  ProposalWriter writer;
  writer.list(ballot.groups, [&](const auto& item) {
    writer.text(item.first);
    writer.list(item.second.ranks, [&](std::int32_t rank) { writer.number(rank); });
    writer.list(item.second.starts, [&](std::uint64_t start) { writer.number(start); });
  });
  return std::move(writer.bytes);
}

std::string encode(const Outcome& outcome) {
  ProposalWriter writer;
  writer.number(outcome.agreed);
  writer.text(outcome.why);
  return std::move(writer.bytes);
}

Result<Ballot> ballot_from(const std::string& bytes, std::int32_t from) {
  ProposalReader reader{bytes};
  Ballot ballot;
  std::uint64_t count = 0;
  reader.number(count);
  for (std::uint64_t i = 0; i < count && reader.whole; ++i) {
    std::string key;
    Ballot::Group group;
    reader.text(key);
    reader.list(group.ranks, [&](std::int32_t& rank) { reader.number(rank); });
    reader.list(group.starts, [&](std::uint64_t& start) { reader.number(start); });
    ballot.groups[std::move(key)] = std::move(group);
  }
  if (!reader.complete()) return senseless_vote("a ballot", from);
  return ballot;
}

Result<Outcome> outcome_from(const std::string& bytes, std::int32_t from) {
  ProposalReader reader{bytes};
  Outcome outcome;
  reader.number(outcome.agreed);
  reader.text(outcome.why);
  if (!reader.complete()) return senseless_vote("an outcome", from);
  return outcome;
}

}  // namespace baleen::nccl
