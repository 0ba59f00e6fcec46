/// \file The phases that plan.cpp runs one after the other.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "baleen/strategy.h"
#include "compiler/placement/placement.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// verify_layouts, with errors as `blame` words them. What a region states wrongly goes to `kept` where the caller of
/// make_plan keeps it, if it is the first.
Status check_layouts(const Graph& graph, std::optional<Error>* kept, const std::function<Error(const Error&)>& blame);

/// Replaces ops by the fused forms that their kinds offer (OpKind::fuse), unless a strategy set them apart.
Status fuse_kinds(Graph& graph);

/// A persistent tensor with its first value.
struct NewState {
  PersistentSpec spec;
  double initial = 0;
};

struct LossGradients {
  /// Of one parameter; kNone where it is frozen, or the loss does not depend on it.
  struct One {
    ValueId gradient = kNone;  ///< as ranks sum it and micro-batches add it up
    ValueId value = kNone;     ///< what clipping and the optimizer read, made of it
  };
  ValueId seed = kNone;       ///< the loss's own cotangent
  std::vector<One> all;       ///< in the order of `job.parameters`
  ValueId norm = kNone;       ///< of all values; kNone: nobody has asked yet
  ValueId condition = kNone;  ///< the update counts where it is not 0; kNone: always
  bool is_late = false;       ///< a step makes the update of the step before
  std::vector<NewState> states;
  std::vector<StopRule> stops;
  std::map<std::string, double> approximated;  ///< by parameter: as a share of its norm
};

/// The gradient of the loss with respect to the trainable parameters: d(sum/weight).
Result<LossGradients> differentiate_loss(Graph& graph, const Job& job);

/// The norm of all values, as output "gradient_norm": per-tensor sums of squares, added in parameter order.
Result<ValueId> append_norm(Graph& graph, const Job& job, LossGradients& gradients);

/// What was appended from `first` on between a gradient and its sum, and commutes with sums (a cast, a factor), belongs
/// to the backward pass and stands right behind what it reads: so the sum may begin while others are still computed.
Status hasten_gradient_ops(Graph& graph, OpId first, const LossGradients& gradients);

/// What the optimizer adds to a job beside its graph.
struct UpdateResult {
  std::vector<PersistentSpec> states;
  std::vector<double> initial;  ///< of each state
  std::vector<ScalarSpec> scalars;
  std::vector<TrainedParameter> trained;  ///< with the gradients as they are summed
  std::vector<StopRule> stops;
  std::map<std::string, double> approximated;  ///< as in LossGradients
};

/// Appends global norm, clipping, the optimizer's ops and the assigns. Output "gradient_norm" is added, and "applied"
/// where a condition says whether the step counts. A late update reads what the step before kept in states.
Result<UpdateResult> append_update(Graph& graph, const Job& job, LossGradients gradients, const Registry& plugins);

/// Which group a parameter belongs to: its number, or -1 for the optimizer's own options.
int group_of(const Job& job, const std::string& parameter);

/// The graph that gives every persistent tensor its first value.
Result<Graph> initialize_graph(const Job& job, const UpdateResult& update, const OpRegistry& registry);

/// What backward ops read of these forward ops' results becomes a copy, made right before the first that needs it
/// (baleen_recompute_t::recompute in strategy.h has the rules). Ops whose results no backward op needs are left alone.
/// The order of the graph is restored. Errors name the op.
Status run_again(Graph& graph, const std::vector<OpId>& ops);

/// The most bytes that a rank holds at once in the forward and backward sections: inputs and results of ops, the most
/// of any rank each, without parameters, their copies and their gradients.
std::uint64_t working_peak(const ScheduledGraph& scheduled);

/// If a rank computes a value whole, keeps only a part, and that part can be computed alone from scalars (random masks,
/// fills), then only the part is computed.
Status cut_producers(Graph& graph);

/// Fails where the rows of an input with the logical axis "batch" do not divide into so many micro-batches.
Status check_batch(const Graph& graph, std::int64_t micro_batches);

/// Cuts the graph into `micro_batches` along the inputs' dimension with the logical axis "batch": sets every value's
/// layout on the mesh's last axis `micro`, which it adds, and inserts `accumulate_micro` where a partial value is
/// needed whole. A dimension is cut into micro-batches before it is cut over ranks: each micro-batch is cut alike,
/// however the batch divides among them. With 1 it does nothing. Errors: a batch that does not divide, an op that mixes
/// the batch.
Status shard_micro(Graph& graph, std::int64_t micro_batches);

/// Puts one op in the place of two where the later would repeat the earlier's work (OpKind::join), unless a strategy
/// set them apart or the later's operands depend on the earlier's results. What waits for the results moves behind it.
Status join_kinds(Graph& graph);

/// INVALID where a metric of the train graph is named as what a run tells of its steps itself: a schedule, a fact of a
/// strategy, a time, `held_out_…`.
Status check_metric_names(const Graph& train, const std::vector<ScalarSpec>& scalars, const std::string& where);

/// For the user, where a micro-batch has fewer rows than there are parts of the ranks to share it; else empty.
std::string idle_ranks_note(const ScheduledGraph& step);

/// The actions of a schedule, where they keep the order that strategy.h asks for.
Result<std::vector<PipelineSchedule::Action>> checked_actions(const std::vector<baleen_pipeline_action_t>& actions,
                                                              std::uint64_t micro_batches);

/// Which part of a micro-batch each op belongs to that runs in a loop, by number of the op; `in_loop` tells which do.
/// With `weights`, what makes gradients of parameters alone is a part of its own. INVALID where an op needs what a
/// later chunk makes.
Result<std::vector<MicroPart>> find_parts(const Graph& graph, const std::function<bool(OpId)>& in_loop, bool weights);

/// Orders the ops in sections (see README.md). With micro_batches 1: forward, backward, update, each once. Where a
/// pipeline schedule tells chunks or weight gradients apart, each part has a section of its own.
Result<ScheduledGraph> schedule_loops(Graph graph, std::int64_t micro_batches,
                                      std::vector<PipelineSchedule> pipelines = {});

/// What an update needs nothing of this step for (a late one's) runs in the backward pass, behind what reads the old
/// values of what it writes, if the backward pass runs once. So do squares, for the norm, of the gradients that it
/// keeps: behind what makes them. No value changes.
void advance_updates(ScheduledGraph& scheduled);

/// INVALID, with the place of a send, where ranks that follow the pipeline schedules wait for each other for ever.
Status check_pipeline_circles(const ScheduledGraph& scheduled);

/// Says of each state whether it lies in an offload store, as strategies wanted it in the graphs that update it.
/// INVALID where a graph reads such a state that does not say so.
Status settle_offloaded(std::vector<PersistentSpec>& persistent, const std::vector<PlannedGraph>& graphs);

/// Concatenates expressions of pointwise ops of equal shape, dtype and layout that feed each other, where this makes no
/// cycle. Values that others use become further results. Changes no bit (expressions round where values were stored).
Status fuse_pointwise(ScheduledGraph& scheduled);

}  // namespace baleen
