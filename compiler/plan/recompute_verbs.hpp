/// \file What a strategy may do in `recompute`: the table of strategy.h over the plan's own data.
#pragma once
#include <string>
#include <vector>

#include "baleen/strategy.h"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Copies ops of a graph. Borrows all; lives during one call of the strategy.
class RecomputeVerbs {
 public:
  RecomputeVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches);
  RecomputeVerbs(const RecomputeVerbs&) = delete;
  RecomputeVerbs& operator=(const RecomputeVerbs&) = delete;

  const baleen_recompute_t* table() const { return &table_; }
  /// The first verb that was refused, if any.
  const Status& status() const { return status_; }
  /// What the user is to be told.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status peak(const std::vector<OpId>& ops, std::uint64_t& bytes) const;
  static RecomputeVerbs& self(void* pointer) { return *static_cast<RecomputeVerbs*>(pointer); }

  Graph& graph_;
  std::int64_t micro_batches_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::string> notes_;
  baleen_recompute_t table_{};
  Status status_;
};

}  // namespace baleen
