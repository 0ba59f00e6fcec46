/// \file What ranks write to each other at plan time: letters to the first member, and its verdict.
#pragma once
#include <cstdint>
#include <string>

#include "baleen/proposal.hpp"
#include "nccl.hpp"

namespace baleen::nccl {

/// What a member says to the first one, who judges.
struct Letter {
  sdk::Proposal proposal;
  std::string device, layout;
  bool needs_communicator = false;
};

/// What the first member found where all agree.
struct Verdict {
  std::uint64_t number = 0;  ///< of a new group
  UniqueId id{};             ///< of a new communicator
  bool has_id = false;
  bool alike = false;  ///< buffers lie alike in windows on all members
};

std::string encode(const Letter& letter);
std::string encode(const Result<Verdict>& verdict);
/// INTERNAL where the bytes make no sense; `from`: whose they are.
Result<Letter> letter_from(const std::string& bytes, std::int32_t from);
/// Also where the verdict is an error.
Result<Verdict> verdict_from(const std::string& bytes, std::int32_t from);

}  // namespace baleen::nccl
