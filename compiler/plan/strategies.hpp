/// \file The strategies of a plan, opened, with the phases that they take part in.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/placement/placement.hpp"
#include "compiler/plan/annotations.hpp"
#include "compiler/plan/passes.hpp"
#include "compiler/plan/plan.hpp"
#include "core/plugin/registry.hpp"

namespace baleen {

/// The mesh with those axes split that strategies of the job's plan work on in several parts: `tensor` into
/// `tensor.row` and `tensor.col`. Ranks keep their numbers.
Result<Mesh> split_mesh(const Job& job, Mesh mesh, const Registry& plugins);

/// The job's strategies in plan order, then, for each mesh axis that none of them claims, the strategy of the axis's
/// name. Owns their instances. [plan time, one thread]
class Strategies {
 public:
  /// Errors: a strategy that is unknown or refuses its options or the mesh; an axis of more than one rank that two
  /// claim, or nobody. `mesh` is split. An axis that an annotation names needs no strategy. `wrong_layouts` as in
  /// make_plan.
  static Result<Strategies> open(const Job& job, const Mesh& mesh, const Annotations& annotations,
                                 const Registry& plugins, std::optional<Error>* wrong_layouts = nullptr);

  Strategies(Strategies&&) noexcept;
  ~Strategies();

  bool empty() const;
  /// Whether one of them works along this axis of the mesh.
  bool claims(int axis) const;
  /// The train graph is planned next, as it runs from `step` on. The first later step from which it is to be planned
  /// anew; 0: none.
  Result<std::int64_t> begin(std::int64_t step);
  /// The phases that edit a graph as it is. A phase that fails leaves the graph as it was.
  Status tag(Graph& graph);
  /// Settles the compute copies of parameters that they made.
  Status rewrite(Graph& graph);
  /// Layouts hold after each strategy.
  Status lower(Graph& graph);
  /// What they make of a job's gradients before the update reads them.
  Status gradients(Graph& graph, const Job& job, LossGradients& gradients);
  /// What they ask for. `trained` is filled by the caller and stays.
  Status place(Graph& graph, PlacementRequest& request, std::int64_t micro_batches);
  /// Copies forward ops into the backward pass. Layouts hold after each strategy.
  Status recompute(Graph& graph, std::int64_t micro_batches);
  /// Joins collectives that run as one, and says where they begin, in the schedules of ops; adds orders of
  /// micro-batches to `pipelines`. Layouts hold after each strategy.
  Status schedule(Graph& graph, std::int64_t micro_batches, std::vector<PipelineSchedule>& pipelines);
  /// Behind the last graph of the job: what they refuse of their options then.
  Status finish();
  /// What they had to say in `recompute` and `schedule`, each line once, with the strategy's name.
  const std::vector<std::string>& notes() const;
  /// Whether graphs that follow are planned to be run, as they are at first, or for their layouts alone.
  void plan_to_run(bool runs);
  /// What they said of the job's `lacking_bytes`, in graphs that are run.
  const Lack& lack() const;

 private:
  struct Impl;
  explicit Strategies(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen
