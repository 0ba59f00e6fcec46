/// \file The phases that plan.cpp runs one after the other.
#pragma once
#include "compiler/placement/placement.hpp"
#include "compiler/plan/loss_gradients.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// An op with this tag stays what it is.
inline constexpr const char* kApartTag = "apart";

/// Replaces ops by the fused forms that their kinds offer (OpKind::fuse), unless a strategy set them apart.
Status fuse_kinds(Graph& graph);

/// Puts one op in the place of two where the later would repeat the earlier's work (OpKind::join), unless a strategy
/// set them apart or the later's operands depend on the earlier's results. What waits for the results moves behind it.
Status join_kinds(Graph& graph);

/// What the optimizer adds to a job beside its graph.
struct UpdateResult {
  std::vector<PersistentSpec> states;
  std::vector<double> initial;  ///< of each state
  std::vector<ScalarSpec> scalars;
  std::vector<TrainedParameter> trained;  ///< with the gradients as they are summed
  std::vector<StopRule> stops;
};

/// Appends global norm, clipping, the optimizer's ops and the assigns. Output "gradient_norm" is added, and "applied"
/// where a condition says whether the step counts.
Result<UpdateResult> append_update(Graph& graph, const Job& job, LossGradients gradients, const Registry& plugins);

/// The graph that gives every persistent tensor its first value.
Result<Graph> initialize_graph(const Job& job, const UpdateResult& update, const OpRegistry& registry);

/// If a rank computes a value whole, keeps only a part, and that part can be computed alone from scalars (random masks,
/// fills), then only the part is computed.
Status cut_producers(Graph& graph);

/// Which group a parameter belongs to: its number, or -1 for the optimizer's own options.
int group_of(const Job& job, const std::string& parameter);

}  // namespace baleen
