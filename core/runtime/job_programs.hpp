/// \file The programs of a job on one rank, compiled and without memory: what a session runs and what a plan counts.
#pragma once
#include <optional>
#include <vector>

#include "core/execute/program.hpp"

namespace baleen {

struct JobPrograms {
  PersistentLayout persistent;
  std::optional<Program> initialize, train, evaluate, generate;

  /// Fills this with the programs of the rank at `at`. Allocates nothing on the device, which outlives them.
  /// `staged_piece_bytes`: as in CompileOptions.
  Status compile_all(const Plan& plan, Device& device, const Coordinates& at, std::uint64_t staged_piece_bytes);
  /// Those that there are.
  std::vector<const Program*> all() const;
  /// Pinned bytes for all of them.
  StagingBytes staging() const;
};

}  // namespace baleen
