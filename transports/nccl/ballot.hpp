/// \file Whether all members have captured the same collectives: what ranks say, and what rank 0 finds.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::nccl {

/// What one rank has captured.
struct Ballot {
  struct Group {
    std::vector<std::int32_t> ranks;    ///< its members
    std::vector<std::uint64_t> starts;  ///< the numbers of those that were captured, among the group's starts
  };
  std::map<std::string, Group> groups;  ///< by key; those of which something was captured

  std::uint64_t collectives() const;
};

/// What holds on all ranks.
struct Outcome {
  bool agreed = false;
  std::string why;  ///< not; empty where there is nothing to agree on
};

/// `ballots`: by rank.
Outcome outcome_of(const std::vector<Ballot>& ballots);

std::string encode(const Ballot& ballot);
std::string encode(const Outcome& outcome);
/// INTERNAL where the bytes make no sense; `from`: whose they are.
Result<Ballot> ballot_from(const std::string& bytes, std::int32_t from);
Result<Outcome> outcome_from(const std::string& bytes, std::int32_t from);

}  // namespace baleen::nccl
