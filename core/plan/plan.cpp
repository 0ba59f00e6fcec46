/// \file Runs the phases in order and verifies the graph after each.
#include "core/plan/plan.hpp"

#include "core/plan/fuse_pointwise.hpp"
#include "core/plan/micro.hpp"
#include "core/plan/passes.hpp"

namespace baleen {
namespace {

/// Runs phases on a graph, verifying and reporting after each.
class Phases {
 public:
  Phases(std::string graph_name, const PassObserver& observer) : name_(std::move(graph_name)), observer_(observer) {}

  Status after(const std::string& phase, const Graph& graph) {
    if (Status ok = verify(graph); !ok)
      return internal("after " + phase + " of the " + name_ + " graph: " + ok.error().message, ok.error().where);
    if (!observer_) return {};
    const std::uint64_t now = hash(graph);
    if (now != last_) observer_(name_ + ": " + phase, graph);
    last_ = now;
    return {};
  }

 private:
  std::string name_;
  const PassObserver& observer_;
  std::uint64_t last_ = 0;
};

/// From a complete graph to sections: micro-batches, loops, pointwise fusion.
Result<ScheduledGraph> schedule(Graph graph, std::int64_t micro_batches, Phases& phases) {
  graph.remove_dead();
  BALEEN_TRY(shard_micro(graph, micro_batches));
  BALEEN_TRY(phases.after("micro-batches", graph));
  BALEEN_TRY_ASSIGN(ScheduledGraph scheduled, schedule_loops(std::move(graph), micro_batches));
  BALEEN_TRY(fuse_pointwise(scheduled));
  BALEEN_TRY(phases.after("fuse pointwise", scheduled.graph));
  return scheduled;
}

Status check_strategies(const Job& job, const Registry& plugins) {
  for (const MemberSpec& strategy : job.strategies) {
    BALEEN_TRY_ASSIGN(const Descriptor found, plugins.find("strategy", strategy.name, strategy.where));
    return unsupported("strategy `" + found.name + "` needs several ranks, and this run has one", strategy.where);
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(Job job, const Registry& plugins, const PassObserver& observer) {
  BALEEN_TRY(check_strategies(job, plugins));
  Plan plan;
  Phases train("train", observer);
  BALEEN_TRY(train.after("describe", job.train));
  BALEEN_TRY(fuse_kinds(job.train));
  BALEEN_TRY(train.after("rewrite", job.train));
  BALEEN_TRY_ASSIGN(const auto gradients, differentiate_loss(job.train, job));
  BALEEN_TRY(train.after("differentiate", job.train));
  BALEEN_TRY_ASSIGN(UpdateResult update, append_update(job.train, job, gradients, plugins));
  BALEEN_TRY(train.after("update", job.train));

  for (const ParameterSpec& p : job.parameters) plan.persistent.push_back({p.name, p.type, Role::parameter, "parameters"});
  plan.persistent.insert(plan.persistent.end(), update.states.begin(), update.states.end());

  Phases initialize("initialize", observer);
  BALEEN_TRY_ASSIGN(Graph initial, initialize_graph(job, update, job.train.registry()));
  BALEEN_TRY_ASSIGN(plan.initialize, schedule(std::move(initial), 1, initialize));
  plan.scalars = std::move(update.scalars);
  BALEEN_TRY_ASSIGN(plan.train, schedule(std::move(job.train), job.accumulate, train));

  for (auto [name, graph, result] : {std::tuple{"evaluate", &job.evaluate, &plan.evaluate},
                                     std::tuple{"generate", &job.generate, &plan.generate}}) {
    if (!*graph) continue;
    Phases phases(name, observer);
    BALEEN_TRY(fuse_kinds(**graph));
    BALEEN_TRY(phases.after("rewrite", **graph));
    const std::int64_t micro = result == &plan.evaluate ? job.accumulate : 1;
    BALEEN_TRY_ASSIGN(ScheduledGraph scheduled, schedule(std::move(**graph), micro, phases));
    *result = std::move(scheduled);
  }
  return plan;
}

}  // namespace baleen
