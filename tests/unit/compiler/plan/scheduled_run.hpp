/// \file Executes a scheduled graph section by section and micro-batch by micro-batch, each piece by the reference
/// kernels alone: what the plan's loops compute, independent of the programs that are compiled from them.
#pragma once
#include <map>
#include <set>
#include <string>

#include "compiler/plan/plan.hpp"
#include "support/reference_tensor.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {

/// fp64, no rounding. A cut value exists for one micro-batch of its loop, an accumulated one only after its loop. What
/// breaks these rules is thrown as std::runtime_error: an operand that is not there, an op that runs in two sections or
/// in the wrong sort of section, a target that is assigned twice. Borrowed: the scheduled graph.
class ScheduledRun {
 public:
  explicit ScheduledRun(const ScheduledGraph& scheduled, std::uint64_t seed = 0, std::uint64_t step = 0);

  /// `sources` by name.
  void run(const std::map<std::string, Numbers>& sources);

  const Tensor& output(const std::string& name) const;
  /// A result put together from its pieces: the rows of a sharded one, the sum of a partial one.
  const Tensor& result(ValueId v) const { return result_.at(v); }
  /// What the sections assign, by the target's name.
  const std::map<std::string, Tensor>& assigned() const { return assigned_; }

 private:
  void check_sections() const;
  void run_section(const Section& section);
  void run_op(const Op& op, bool in_loop);
  void put_together(ValueId v, const Tensor& piece);
  void end_loop();
  std::vector<Tensor> compute(const Op& op) const;
  std::vector<Tensor> call(const Op& op, const std::vector<Tensor>& inputs, const std::vector<Shape>& shapes) const;
  const Placement& placement(ValueId v) const;
  /// A value as the present section sees it: the micro-batch's piece where it is sharded.
  Tensor operand(const Op& op, ValueId v) const;
  Shape piece_shape(ValueId v) const;
  /// The present micro-batch's part of a whole tensor, and back, with zeros elsewhere.
  Tensor piece_of(const Tensor& whole, int dim) const;
  Tensor embedded(const Tensor& piece, int dim) const;

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  std::uint64_t seed_, step_;
  std::int64_t micro_ = 0;                  ///< the present micro-batch
  std::map<ValueId, Tensor> whole_;         ///< sources and results that are there until the end
  std::map<ValueId, Tensor> cut_;           ///< of the present micro-batch
  std::map<ValueId, Tensor> accumulating_;  ///< of the present loop
  std::map<ValueId, Tensor> result_;
  std::map<std::string, Tensor> assigned_;
};

/// The graph as the plan schedules it, but for the fusion of pointwise ops. Throws the error.
ScheduledGraph cut_and_schedule(const Graph& graph, std::int64_t micro_batches,
                                std::vector<PipelineSchedule> pipelines = {});

/// Runs `scheduled` piece by piece. Every result of it, put together, must be what the reference interpreter computes
/// for the whole batch, and outputs and assigned values those of `graph`, which it was made from; all to 1e-11.
void expect_computes(const ScheduledGraph& scheduled, const Graph& graph, const std::map<std::string, Numbers>& sources,
                     std::uint64_t seed = 5);
/// From random sources.
void expect_computes(const ScheduledGraph& scheduled, const Graph& graph, std::uint64_t seed = 5);

}  // namespace baleen::test
