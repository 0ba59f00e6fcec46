/// \file From a job to graphs that are ready to be compiled: the phases of docs/design.md, section 2.
#pragma once
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "baleen/strategy.h"
#include "compiler/placement/placement.hpp"
#include "compiler/plan/job.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/registry.hpp"

namespace baleen {

/// A part of a micro-batch that a pipeline schedule orders: one pass through one chunk of the model.
struct MicroPart {
  enum class Pass { forward, backward, weight_gradients } pass = Pass::forward;
  int chunk = 0;
  bool operator==(const MicroPart&) const = default;
};

/// Ops that run together. Sections with one loop number (>= 0) that stand side by side run once per micro-batch, all of
/// them for one micro-batch before the next; loop -1 runs once.
struct Section {
  std::string name;  ///< "forward", "backward", "update", …
  Phase phase = Phase::forward;
  int loop = -1;
  std::vector<OpId> ops;
  MicroPart part = {};  ///< of a loop
};

/// In which order the ranks at one coordinate of a mesh axis do the parts of their micro-batches, where a strategy
/// wants another order than all parts of one before the next.
struct PipelineSchedule {
  struct Action {
    MicroPart part;
    std::int64_t micro_batch = 0;
  };
  int axis = 0;
  std::int64_t coordinate = 0;
  std::vector<Action> actions;
};

/// A graph with its order of execution. With micro-batches > 1 the mesh's last axis is `micro`; values have layouts;
/// the structural op `accumulate_micro` (partial in the loop → whole after it) marks accumulation.
struct ScheduledGraph {
  Graph graph = Graph();
  std::int64_t micro_batches = 1;
  std::vector<Section> sections;
  std::vector<PipelineSchedule> pipelines = {};
};

/// A persistent tensor: parameters and states, shared by all programs, in their order of creation.
struct PersistentSpec {
  std::string name;
  ValueType type;
  Role role = Role::parameter;
  std::string category;  ///< "parameters", "optimizer", "control": for accounting and checkpoints
  Layout layout = {};    ///< how ranks store it, on the job's mesh; empty: each has the whole
  bool has_terms =
      false;  ///< only the sum along dimension 0 has a meaning: a checkpoint may have another number of them
  /// A state that lies in the offload store between its uses, and is got so many updates ahead.
  std::optional<std::uint32_t> offloaded_ahead = {};
  std::uint64_t offloaded_piece = 0;  ///< bytes of it that an elementwise update has at a time; 0: all
  bool updated_on_host = false;       ///< where it lies, if its update is elementwise
  bool is_of_strategy = false;        ///< a strategy added it for itself
};

/// A scalar the host writes before each step, or before each run of a program that learns.
struct ScalarSpec {
  std::string name;  ///< "lr", "lr/1", …
  Schedule schedule;
  Option option = {};      ///< what the schedule gives the values of, with its range
  std::string title = {};  ///< of whom: "optimizer `adamw`"
  std::string where = {};  ///< the place in the script

  /// INVALID where the schedule may not give this value, which it gives at `step`.
  Status check(double value, std::int64_t step) const;
};

/// The run ends after a step whose scalar output is not 0.
struct StopRule {
  std::string output;
  std::string text;  ///< why, and what helps
};

/// Outputs of the train graph with this before their name are facts that a strategy shows.
inline constexpr const char* kFactPrefix = "fact.";

/// The state that counts the updates that were made, one number.
inline constexpr const char* kUpdatesState = "optimizer.updates";
/// States that keep gradients of the last step, or run of a program (behind "<graph>/"): this and a parameter's name.
inline constexpr const char* kGradientPrefix = "verify.gradient.";
/// The states that hold the gradients which a step takes in place of its own, likewise.
inline constexpr const char* kGivenGradientPrefix = "verify.given.";
/// The states that keep gradients for a late update: the parameter's name with this behind it. Whether they count, and
/// the factor of clipping, are states of their own.
inline constexpr const char* kLateGradientSuffix = BALEEN_LATE_GRADIENT;
inline constexpr const char* kLateCountsState = "optimizer.late_counts";
inline constexpr const char* kLateClipState = "optimizer.late_clip";

/// A late update of a value of more pieces than these is spread over the backward pass, and gets it once more for that.
inline constexpr std::uint64_t kFewPieces = 4;

/// A graph that is ready to be compiled, with its name among the job's.
struct PlannedGraph {
  std::string name;
  GraphRole role = GraphRole::infer;
  ScheduledGraph scheduled = {};
  std::vector<NamedType> inputs = {}, outputs = {};  ///< of a named program, as the script gave them
  std::vector<ScalarSpec> scalars = {};              ///< "lr" is the first group's rate where the optimizer has one
  std::vector<StopRule> stops = {};
  std::int64_t from_step = 0;  ///< role train: the step from which it is run
};

/// A gradient that strategies approximate by design: by the step from which it holds the share of its norm by which it
/// is off; infinity: errors are added in later steps; 0: it is exact.
struct Approximated {
  std::map<std::int64_t, double> shares;

  double at(std::int64_t step) const {
    const auto next = shares.upper_bound(step);
    return next == shares.begin() ? 0 : std::prev(next)->second;
  }
};

/// Memory that a rank's device has too little of (Job::lacking_bytes).
struct Lack {
  std::uint64_t bytes = 0;
  bool is_asked = false;       ///< a strategy does something about it
  bool could_do_more = false;  ///< and would do more if there were more
};

struct Plan {
  Mesh mesh;
  std::vector<PersistentSpec> persistent;
  /// That of role initialize, that of role train (if the scope is all), forms of it that strategies want in earlier
  /// steps, then the others by name. The train graph has outputs "loss", "weight", metrics, "gradient_norm", facts, and
  /// "applied": does the step count?
  std::vector<PlannedGraph> graphs;
  baleen_dtype_t coarsest = BALEEN_F32;  ///< the floating dtype of fewest digits that the train graph computes in
  std::map<std::string, Approximated> approximated;  ///< by parameter, a program's "<graph>/<parameter>"
  Lack lack = {};                                    ///< what strategies did about it
  std::vector<std::string> notes;                    ///< lines for the user, of annotations and strategies
  std::vector<ClosedForm> closed_forms;              ///< of the train graph's values, as strategies say

  /// Null where there is none.
  const ScheduledGraph* find(const std::string& name) const {
    for (const PlannedGraph& planned : graphs)
      if (planned.name == name) return &planned.scheduled;
    return nullptr;
  }
  const ScheduledGraph& initialize() const { return graphs.at(0).scheduled; }
  /// Of a plan that has it.
  const ScheduledGraph& train() const { return *find(kTrainGraph); }
  /// Of the train graph; 1 where there is none.
  std::int64_t micro_batches() const {
    const ScheduledGraph* step = find(kTrainGraph);
    return step ? step->micro_batches : 1;
  }
};

/// Called after each phase with its name and the graph, where it changed (for --print-passes).
using PassObserver = std::function<void(const std::string& phase, const Graph& graph)>;

/// Runs the phases. Verifies the graph after each. `only`: a plan of the graphs of that role, infer or evaluate, in
/// which parameters lie as in training, and there are no other persistent tensors. `wrong_layouts`: gets the first
/// layout that a local region states and that is not so, and planning goes on with it; null: it is an error. [plan
/// time]
Result<Plan> make_plan(Job job, const Registry& plugins, const PassObserver& observer = {},
                       std::optional<GraphRole> only = {}, std::optional<Error>* wrong_layouts = nullptr);

}  // namespace baleen
