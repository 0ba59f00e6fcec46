/// \file Layouts along the virtual mesh axis `micro`, and the loops over micro-batches that follow from them.
#pragma once
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Cuts the graph into `micro_batches` along the inputs' dimension with the logical axis "batch": sets every value's
/// layout on the mesh's last axis `micro`, which it adds, and inserts `accumulate_micro` where a partial value is
/// needed whole. A dimension is cut into micro-batches before it is cut over ranks: each micro-batch is cut alike,
/// however the batch divides among them. With 1 it does nothing. Errors: a batch that does not divide, an op that mixes
/// the batch.
Status shard_micro(Graph& graph, std::int64_t micro_batches);

/// Orders the ops in sections (see README.md). With micro_batches 1: forward, backward, update, each once.
Result<ScheduledGraph> schedule_loops(Graph graph, std::int64_t micro_batches);

}  // namespace baleen
