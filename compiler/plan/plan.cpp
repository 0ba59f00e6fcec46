/// \file Runs the phases in order and verifies the graph after each.
#include "compiler/plan/plan.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"
#include "compiler/placement/passes.hpp"
#include "compiler/plan/annotations.hpp"
#include "compiler/plan/passes.hpp"
#include "compiler/plan/strategies.hpp"

namespace baleen {
namespace {

/// How phases are watched.
struct Watch {
  const PassObserver& observer;
  std::optional<Error>* wrong_layouts;  ///< as make_plan has it
};

/// Runs phases on a graph, verifying and reporting after each.
class Phases {
 public:
  Phases(std::string graph_name, const Watch& watch)
      : name_(std::move(graph_name)), observer_(watch.observer), wrong_layouts_(watch.wrong_layouts) {}

  /// From here on every value has its layout, and they are to fit after each phase.
  void lay_out() { checks_layouts_ = true; }
  /// Fusing ops of one layout changes none, and hides from the kinds' rules what was checked op by op.
  void leave_layouts() { checks_layouts_ = false; }

  Status after(const std::string& phase, const Graph& graph) {
    if (Status ok = verify(graph); !ok) return wrong(phase, ok.error());
    if (checks_layouts_)
      BALEEN_TRY(check_layouts(graph, wrong_layouts_, [&](const Error& error) { return wrong(phase, error); }));
    if (!observer_) return {};
    const std::uint64_t now = hash(graph);
    if (now != last_) observer_(name_ + ": " + phase, graph);
    last_ = now;
    return {};
  }

 private:
  Error wrong(const std::string& phase, const Error& error) const {
    return internal("after " + phase + " of the " + name_ + " graph: " + error.message, error.where);
  }

  std::string name_;
  const PassObserver& observer_;
  std::optional<Error>* wrong_layouts_;
  bool checks_layouts_ = false;
  std::uint64_t last_ = 0;
};

/// From a complete graph to sections: micro-batches, loops, pointwise fusion, what of the update can be early.
Result<ScheduledGraph> schedule(Graph graph, std::int64_t micro_batches, Phases& phases,
                                std::vector<PipelineSchedule> pipelines = {}) {
  graph.remove_dead();
  BALEEN_TRY(shard_micro(graph, micro_batches));
  BALEEN_TRY(phases.after("micro-batches", graph));
  BALEEN_TRY(join_kinds(graph));
  BALEEN_TRY(phases.after("join", graph));
  BALEEN_TRY_ASSIGN(ScheduledGraph scheduled, schedule_loops(std::move(graph), micro_batches, std::move(pipelines)));
  phases.leave_layouts();
  BALEEN_TRY(fuse_pointwise(scheduled));
  advance_updates(scheduled);
  BALEEN_TRY(phases.after("fuse pointwise", scheduled.graph));
  return scheduled;
}

/// A refusal that names no place is about the job.
Result<ScheduledGraph> of_job(const Job& job, Result<ScheduledGraph> scheduled) {
  if (scheduled || !scheduled.error().where.empty()) return scheduled;
  return Error{scheduled.error().code, scheduled.error().message, job.where};
}

baleen_dtype_t coarsest_dtype(const Graph& graph, baleen_dtype_t coarsest) {
  for (OpId id : graph.ops())
    for (ValueId v : graph.op(id).outputs)
      if (const baleen_dtype_t own = graph.value(v).dtype;
          is_floating(own) && dtype_digits(own) < dtype_digits(coarsest))
        coarsest = own;
  return coarsest;
}

/// How persistent tensors lie between programs, by name; an empty layout for whole ones.
using StoredLayouts = std::map<std::string, Layout>;

/// The phases that one graph of a job goes through after it is complete.
class Placer {
 public:
  Placer(const Job& job, Strategies& strategies, const Annotations& annotations)
      : job_(job), strategies_(strategies), annotations_(annotations) {}

  bool has_mesh() const { return !job_.mesh.axes.empty(); }

  /// Layouts and conversions of a graph, as the strategies want it. Persistent tensors lie as in the graphs before, and
  /// in the graphs after as in this one.
  Status place(Graph& graph, std::vector<TrainedParameter> trained, std::int64_t micro_batches, Phases& phases) {
    if (!has_mesh()) return order_alone(graph, micro_batches, phases);
    BALEEN_TRY_ASSIGN(PlacementRequest request, propagated(graph, std::move(trained), micro_batches, phases));
    for (const auto& [value, layout] : request.stored)
      if (is_persistent(graph.value(value))) stored_[graph.value(value).name] = is_whole(layout) ? Layout{} : layout;
    closed_forms_ = std::move(request.closed_forms);
    return {};
  }

  /// A graph that every rank computes as a whole, out of tensors that it may have a piece of.
  Status place_whole(Graph& graph, Phases& phases) {
    const auto is_cut = [](const auto& stored) { return !stored.second.empty(); };
    if (std::none_of(stored_.begin(), stored_.end(), is_cut)) return {};
    graph.remove_dead();
    graph.set_mesh(job_.mesh);
    PlacementRequest request;
    keep_stored(graph, request);
    BALEEN_TRY(convert(graph, request));
    phases.lay_out();
    return phases.after("propagate", graph);
  }

  /// The order of micro-batches in the graph that was placed last.
  std::vector<PipelineSchedule> take_pipelines() { return std::exchange(pipelines_, {}); }

  /// Of the graph that was placed last.
  std::vector<ClosedForm> take_closed_forms() { return std::exchange(closed_forms_, {}); }

  /// How a persistent tensor is stored.
  Layout stored(const std::string& name) const {
    const auto found = stored_.find(name);
    return found == stored_.end() ? Layout{} : found->second;
  }

 private:
  /// One rank has nothing to lay out; what runs when, and what runs again, strategies say there too.
  Status order_alone(Graph& graph, std::int64_t micro_batches, Phases& phases) {
    if (strategies_.empty()) return {};
    graph.remove_dead();
    BALEEN_TRY(phases.after("remove dead", graph));
    BALEEN_TRY(strategies_.recompute(graph, micro_batches));
    BALEEN_TRY(phases.after("recompute", graph));
    pipelines_.clear();
    BALEEN_TRY(strategies_.schedule(graph, micro_batches, pipelines_));
    return phases.after("schedule", graph);
  }

  static bool is_persistent(const Value& value) { return value.role == Role::parameter || value.role == Role::state; }

  Result<PlacementRequest> propagated(Graph& graph, std::vector<TrainedParameter> trained, std::int64_t micro_batches,
                                      Phases& phases) {
    graph.remove_dead();
    graph.set_mesh(job_.mesh);
    PlacementRequest request;
    request.trained = std::move(trained);
    BALEEN_TRY(strategies_.place(graph, request, micro_batches));
    BALEEN_TRY(annotations_.apply(graph, request));
    BALEEN_TRY(phases.after("place", graph));
    keep_stored(graph, request);
    BALEEN_TRY_ASSIGN(request, complete_request(graph, std::move(request)));
    if (Status converted = convert(graph, request); !converted) return annotations_.explain(converted.error(), graph);
    phases.lay_out();
    BALEEN_TRY(phases.after("propagate", graph));
    BALEEN_TRY(strategies_.recompute(graph, micro_batches));
    BALEEN_TRY(phases.after("recompute", graph));
    BALEEN_TRY(strategies_.lower(graph));
    BALEEN_TRY(phases.after("lower", graph));
    pipelines_.clear();
    BALEEN_TRY(strategies_.schedule(graph, micro_batches, pipelines_));
    BALEEN_TRY(phases.after("schedule", graph));
    return request;
  }

  Status convert(Graph& graph, const PlacementRequest& request) {
    BALEEN_TRY_ASSIGN(const PlacedGraph placed, propagate(graph, request));
    BALEEN_TRY(insert_conversions(graph, request, placed));
    BALEEN_TRY(lower_internal_reductions(graph));
    BALEEN_TRY(cut_producers(graph));
    graph.remove_dead();
    return {};
  }

  /// Persistent tensors lie as in the first graph that has them.
  void keep_stored(const Graph& graph, PlacementRequest& request) const {
    const Layout whole(graph.mesh().axes.size());
    for (OpId id : graph.ops()) {
      if (graph.op(id).outputs.size() != 1 || !graph.op(id).inputs.empty()) continue;
      const Value& value = graph.value(graph.op(id).outputs[0]);
      const auto found = stored_.find(value.name);
      if (!is_persistent(value) || found == stored_.end()) continue;
      request.stored[value.id] = found->second.empty() ? whole : found->second;
      request.open_axes.erase(value.id);
    }
  }

  const Job& job_;
  Strategies& strategies_;
  const Annotations& annotations_;
  StoredLayouts stored_;
  std::vector<PipelineSchedule> pipelines_;
  std::vector<ClosedForm> closed_forms_;
};

/// A refusal of one of the script's programs names it.
Error of_program(Error error, const std::string& name, GraphRole role) {
  if (is_program(role)) error.message = "program `" + name + "`: " + error.message;
  return error;
}

/// The phases from what the script described to the update.
Result<UpdateResult> append_step(Graph& graph, const Job& job, Strategies& strategies, const Annotations& annotations,
                                 const Registry& plugins, Phases& phases) {
  BALEEN_TRY(phases.after("describe", graph));
  // Strategies count on it.
  if (const Status divides = check_batch(graph, job.gradient_accumulation_steps); !divides)
    return Error{divides.error().code, divides.error().message, job.where};
  BALEEN_TRY(strategies.tag(graph));
  BALEEN_TRY(strategies.rewrite(graph));
  annotations.keep_apart(graph);
  BALEEN_TRY(fuse_kinds(graph));
  BALEEN_TRY(phases.after("rewrite", graph));
  BALEEN_TRY_ASSIGN(LossGradients gradients, differentiate_loss(graph, job));
  BALEEN_TRY(phases.after("differentiate", graph));
  BALEEN_TRY(strategies.gradients(graph, job, gradients));
  BALEEN_TRY(phases.after("gradients", graph));
  BALEEN_TRY_ASSIGN(UpdateResult update, append_update(graph, job, std::move(gradients), plugins));
  BALEEN_TRY(phases.after("update", graph));
  return update;
}

/// The job as a graph that learns has it: with the parameters that this graph updates. `job` has no graphs.
Result<Job> job_of(const Job& job, const std::string& name, const Learning& learning) {
  Job own = job;
  for (const std::string& pattern : learning.parameters)
    if (std::none_of(job.parameters.begin(), job.parameters.end(),
                     [&](const auto& p) { return matches(pattern, p.name); }))
      return invalid("`parameters`: the pattern `" + pattern + "` matches no parameter of the job", job.where);
  if (!learning.parameters.empty())
    std::erase_if(own.parameters, [&](const ParameterSpec& p) {
      return std::none_of(learning.parameters.begin(), learning.parameters.end(),
                          [&](const std::string& pattern) { return matches(pattern, p.name); });
    });
  own.optimizer = learning.optimizer;
  own.groups = learning.groups;
  own.clip_grad_norm = learning.clip_grad_norm;
  own.gradient_accumulation_steps = 1;  // a caller gives all rows at once
  own.is_late = false;
  own.states_prefix = name + "/";
  return own;
}

/// The phases of a named program that learns; its states join `all`.
Result<PlannedGraph> plan_learning(const Job& job, const std::string& name, JobGraph given, Strategies& strategies,
                                   const Annotations& annotations, const Registry& plugins, Placer& placer,
                                   const Watch& watch, UpdateResult& all) {
  PlannedGraph planned{name, given.role};
  Graph& graph = given.graph;
  planned.inputs = inputs_of(graph);
  planned.outputs = outputs_of(graph);
  planned.outputs.push_back({"gradient_norm", {job.dtype, {}, {}}});
  Phases phases(name, watch);
  BALEEN_TRY_ASSIGN(const Job own, job_of(job, name, given.learning));
  BALEEN_TRY_ASSIGN(UpdateResult update, append_step(graph, own, strategies, annotations, plugins, phases));
  BALEEN_TRY(placer.place(graph, std::move(update.trained), 1, phases));
  BALEEN_TRY_ASSIGN(planned.scheduled, of_job(job, schedule(std::move(graph), 1, phases, placer.take_pipelines())));
  planned.scalars = std::move(update.scalars);
  planned.stops = std::move(update.stops);
  all.states.insert(all.states.end(), update.states.begin(), update.states.end());
  all.initial.insert(all.initial.end(), update.initial.begin(), update.initial.end());
  for (const auto& [parameter, share] : update.approximated) all.approximated[own.states_prefix + parameter] = share;
  return planned;
}

/// The phases of a graph that is not trained.
Result<PlannedGraph> plan_forward(const Job& job, const std::string& name, JobGraph given, Strategies& strategies,
                                  const Annotations& annotations, Placer& placer, const Watch& watch) {
  PlannedGraph planned{name, given.role};
  Graph& graph = given.graph;
  if (given.role == GraphRole::infer) planned.inputs = inputs_of(graph);
  Phases phases(name, watch);
  if (!given.replicated) {
    BALEEN_TRY(strategies.tag(graph));
    BALEEN_TRY(strategies.rewrite(graph));
    annotations.keep_apart(graph);
  }
  BALEEN_TRY(fuse_kinds(graph));
  BALEEN_TRY(phases.after("rewrite", graph));
  if (given.role == GraphRole::infer) planned.outputs = outputs_of(graph);
  // A caller gives all rows at once.
  const std::int64_t micro_batches = given.role == GraphRole::evaluate ? job.gradient_accumulation_steps : 1;
  // Without others nothing is cut, and what strategies do on one rank they do to every graph.
  const bool is_whole = given.replicated && placer.has_mesh();
  BALEEN_TRY(is_whole ? placer.place_whole(graph, phases) : placer.place(graph, {}, micro_batches, phases));
  BALEEN_TRY_ASSIGN(planned.scheduled, schedule(std::move(graph), micro_batches, phases, placer.take_pipelines()));
  return planned;
}

/// All graphs but those of the roles train and initialize, by name. What settles how parameters lie comes first.
Result<std::vector<PlannedGraph>> plan_others(const Job& job, std::map<std::string, JobGraph>& graphs,
                                              std::optional<GraphRole> only, Strategies& strategies,
                                              const Annotations& annotations, const Registry& plugins, Placer& placer,
                                              const Watch& watch, UpdateResult& update) {
  std::vector<std::pair<std::string, JobGraph*>> others;
  for (auto& [name, given] : graphs)
    if (given.role != GraphRole::train && given.role == only.value_or(given.role)) others.emplace_back(name, &given);
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const JobGraph& graph) { return std::pair(graph.replicated, graph.role != GraphRole::learn); };
    return rank(*a.second) < rank(*b.second);
  });
  std::vector<PlannedGraph> all;
  for (auto& [name, graph] : others) {
    const GraphRole role = graph->role;
    Result<PlannedGraph> planned =
        role == GraphRole::learn
            ? plan_learning(job, name, std::move(*graph), strategies, annotations, plugins, placer, watch, update)
            : plan_forward(job, name, std::move(*graph), strategies, annotations, placer, watch);
    if (!planned) return of_program(std::move(planned).error(), name, role);
    all.push_back(*std::move(planned));
  }
  std::ranges::sort(all, {}, &PlannedGraph::name);
  return all;
}

/// The train graph as it runs in each form that strategies want, the last one first among `plan.graphs`; without
/// `schedules` only placed. What the update of the last form adds.
Result<UpdateResult> plan_train(const Job& job, const Graph& described, bool schedules, Strategies& strategies,
                                const Annotations& annotations, const Registry& plugins, Placer& placer,
                                const Watch& watch, Plan& plan) {
  UpdateResult update;
  std::int64_t next = 0;
  do {
    const std::int64_t from = next;
    BALEEN_TRY_ASSIGN(next, strategies.begin(from));
    Graph graph = described;
    const std::string name = kTrainGraph + (next > 0 ? " before step " + std::to_string(next) : "");
    Phases phases(name, watch);
    BALEEN_TRY_ASSIGN(update, append_step(graph, job, strategies, annotations, plugins, phases));
    BALEEN_TRY(check_metric_names(graph, update.scalars, job.where));
    BALEEN_TRY(placer.place(graph, std::move(update.trained), job.gradient_accumulation_steps, phases));
    const std::vector<PipelineSchedule> pipelines = placer.take_pipelines();
    plan.closed_forms = placer.take_closed_forms();
    plan.coarsest = coarsest_dtype(graph, job.dtype);
    for (auto& [parameter, approximated] : plan.approximated) approximated.shares[from] = 0;
    for (const auto& [parameter, share] : update.approximated) plan.approximated[parameter].shares[from] = share;
    if (!schedules) continue;
    BALEEN_TRY_ASSIGN(ScheduledGraph step,
                      of_job(job, schedule(std::move(graph), job.gradient_accumulation_steps, phases, pipelines)));
    std::string note = idle_ranks_note(step);
    if (!note.empty() && std::ranges::find(plan.notes, note) == plan.notes.end()) plan.notes.push_back(std::move(note));
    plan.graphs.insert(plan.graphs.begin(),
                       {name, GraphRole::train, std::move(step), {}, {}, update.scalars, update.stops, from});
  } while (next > 0);
  return update;
}

}  // namespace

Status check_layouts(const Graph& graph, std::optional<Error>* kept, const std::function<Error(const Error&)>& blame) {
  std::optional<Error> stated;
  if (Status checked = verify_layouts(graph, kept ? &stated : nullptr); !checked) return blame(checked.error());
  if (stated && !*kept) *kept = blame(*stated);
  return {};
}

std::vector<NamedType> inputs_of(const Graph& graph) {
  std::vector<NamedType> inputs;
  for (OpId id : graph.ops())
    for (ValueId v : graph.op(id).outputs)
      if (const Value& value = graph.value(v); value.role == Role::input)
        inputs.push_back({value.name, {value.dtype, value.shape, value.axes}});
  return inputs;
}

std::vector<NamedType> outputs_of(const Graph& graph) {
  std::vector<NamedType> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    const Value& value = graph.value(output.value);
    outputs.push_back({output.name, {value.dtype, value.shape, value.axes}});
  }
  return outputs;
}

Result<Plan> make_plan(Job job, const Registry& plugins, const PassObserver& observer, std::optional<GraphRole> only,
                       std::optional<Error>* wrong_layouts) {
  const Watch watch{observer, wrong_layouts};
  BALEEN_TRY_ASSIGN(const Annotations annotations, Annotations::create(job.annotations, job.mesh));
  BALEEN_TRY_ASSIGN(Strategies strategies, Strategies::open(job, job.mesh, annotations, plugins, wrong_layouts));
  Placer placer(job, strategies, annotations);
  Plan plan;
  plan.mesh = job.mesh;
  plan.notes = annotations.notes([&](int axis) { return strategies.claims(axis); });
  auto graphs = std::exchange(job.graphs, {});
  if (graphs.empty()) return internal("a job without graphs");
  const OpRegistry& registry = graphs.begin()->second.graph.registry();
  plan.coarsest = job.dtype;
  UpdateResult update;
  if (const auto found = graphs.find(kTrainGraph); found != graphs.end()) {
    strategies.plan_to_run(!only);
    BALEEN_TRY_ASSIGN(
        update, plan_train(job, found->second.graph, !only, strategies, annotations, plugins, placer, watch, plan));
    strategies.plan_to_run(true);
    if (only) update = {};  // what was placed says how parameters lie
  }
  BALEEN_TRY_ASSIGN(auto others,
                    plan_others(job, graphs, only, strategies, annotations, plugins, placer, watch, update));
  if (!only) BALEEN_TRY(strategies.finish());
  plan.graphs.insert(plan.graphs.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  for (const auto& [gradient, share] : update.approximated)
    if (!plan.approximated.contains(gradient)) plan.approximated[gradient].shares[0] = share;

  for (const ParameterSpec& p : job.parameters)
    plan.persistent.push_back({p.name, p.type, Role::parameter, "parameters"});
  plan.persistent.insert(plan.persistent.end(), update.states.begin(), update.states.end());
  for (PersistentSpec& spec : plan.persistent) spec.layout = placer.stored(spec.name);
  BALEEN_TRY(settle_offloaded(plan.persistent, plan.graphs));

  Phases initialize("initialize", watch);
  BALEEN_TRY_ASSIGN(Graph initial, initialize_graph(job, update, registry));
  BALEEN_TRY(placer.place_whole(initial, initialize));
  BALEEN_TRY_ASSIGN(ScheduledGraph first, schedule(std::move(initial), 1, initialize));
  plan.graphs.insert(plan.graphs.begin(), {"initialize", GraphRole::initialize, std::move(first)});
  plan.lack = strategies.lack();
  plan.notes.insert(plan.notes.end(), strategies.notes().begin(), strategies.notes().end());
  return plan;
}

}  // namespace baleen
