/// \file `baleen graph`: prints a job's layers, or its ops, with parameters and FLOPs.
#include <cstdio>

#include "compiler/plan/strategies.hpp"
#include "core/input/nearest.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/graph_dot.hpp"
#include "frontend/cli/graph_table.hpp"
#include "frontend/engine/assembly.hpp"

namespace baleen::app {
namespace {

/// ", on 4 ranks (data 2 x tensor 2)"; empty for one rank.
std::string mesh_text(const Mesh& mesh) {
  if (rank_count(mesh) == 1) return "";
  std::string axes;
  for (const MeshAxis& axis : mesh.axes)
    axes += (axes.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  return ", on " + std::to_string(rank_count(mesh)) + " ranks (" + axes + ")";
}

/// "37 ops, 14,208 parameters, 1.23 GFLOP": of one run of the graph on all ranks together, by the kinds' cost rules.
std::string summary(const Graph& graph, const std::vector<PersistentSpec>& persistent) {
  double flops = 0;
  std::size_t ops = 0;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.kind->has(kStructural)) continue;
    ++ops;
    if (op.kind->cost) flops += op.kind->cost(graph, op).flops;
  }
  std::int64_t parameters = 0;
  for (const PersistentSpec& spec : persistent)
    if (spec.role == Role::parameter) parameters += element_count(spec.type.shape);
  char text[160];
  std::snprintf(text, sizeof text, "%zu ops, %lld parameters, %.6g GFLOP", ops, static_cast<long long>(parameters),
                flops * 1e-9);
  return text;
}

Status graph(const GraphOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Prepared prepared, prepare(options, setup));
  const bool generate = options.graph == "generate";
  RunFlags flags;
  flags.generate = generate;
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  Job& job = described.script->job();
  BALEEN_TRY_ASSIGN(job.mesh, split_mesh(job, prepared.mesh, setup.registry));
  job.working_budget = setup.manifest.working_budget();
  PassPrinter printer(options.passes, job.mesh);
  const auto made = make_plan(std::move(job), setup.registry, printer.observer());
  if (!made) return at_its_axis(made.error(), setup.manifest);
  const Plan& plan = *made;
  BALEEN_TRY(printer.finish());
  for (const std::string& note : plan.notes) setup.log.info(note);
  if (plan.lack.is_asked)
    setup.log.info("what a device lacks is not counted here: `baleen plan` and a run plan again with more outside it");
  const ScheduledGraph* const chosen = plan.find(options.graph);
  if (!chosen) {
    std::vector<std::string> names;
    for (const PlannedGraph& planned : plan.graphs) names.push_back(planned.name);
    return invalid(unknown_word("graph", options.graph, names), options.script.string());
  }
  const Graph& graph = chosen->graph;
  const std::string all = options.graph + ": " + summary(graph, plan.persistent) + mesh_text(plan.mesh) + "\n";
  if (options.dot) return print_output(print_dot(graph) + "// " + all);
  if (options.ops) return print_output(print(graph) + "# " + all);
  return print_output(layer_table(*chosen, plan.persistent) + all);
}

}  // namespace

int graph_command(const GraphOptions& options, const Setup& setup) {
  const Status status = graph(options, setup);
  return status ? kSuccess : report(setup.log, status.error());
}

}  // namespace baleen::app
