/// \file That ranks begin the collectives they share in one order: compared once, before memory is allocated, whatever
/// the transport. Names whom it waits for, and the first difference.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/mesh.hpp"
#include "core/launch/rank_link.hpp"
#include "core/runtime/job_programs.hpp"

namespace baleen::app {

/// What some ranks begin together, in the order of one of them.
struct SharedStarts {
  std::vector<std::int64_t> ranks;  ///< ascending
  /// "all_reduce at train.lua:12:3 (collective 4 of these ranks) in `train`"; each once.
  std::vector<std::string> texts;
  /// Numbers in `texts`.
  std::vector<std::uint32_t> order;
  /// These are messages from one rank to another, which wait for no other message: sorted, by direction, so that both
  /// sides read alike.
  bool messages = false;

  std::vector<std::string> lines() const;
};

using NamedExecutables = std::vector<std::pair<std::string, const Executable*>>;
NamedExecutables executables_of(const std::vector<JobProgram>& programs);

/// Of one run of each program after the other, in the order in which they are connected.
std::vector<SharedStarts> shared_starts(const NamedExecutables& programs, const Mesh& mesh, std::int64_t rank);

/// Collective over all ranks. INVALID, with both ranks and both collectives, where two ranks differ.
Status compare_starts(RankLink& link, const std::vector<SharedStarts>& own);

}  // namespace baleen::app
