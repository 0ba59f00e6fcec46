/// \file Runs the passes of a compilation.
#include "compiler/codegen/compile.hpp"

#include "compiler/codegen/passes.hpp"

namespace baleen {

const PersistentBuffer* PersistentLayout::find(const std::string& name) const {
  auto it = numbers.find(name);
  return it == numbers.end() ? nullptr : &buffers[it->second];
}

namespace {

/// Arithmetic; and collectives per run, where ranks begin unequally many since some are between two alone, else 0.
void count(const ScheduledGraph& scheduled, Executable& executable) {
  bool sends = false;
  for (const Section& section : scheduled.sections)
    for (OpId id : section.ops) {
      const Op& op = scheduled.graph.op(id);
      if (op.kind->has(kCollective)) executable.collectives += section.loop >= 0 ? scheduled.micro_batches : 1;
      sends |= op.kind->name == "send";
      if (!op.kind->cost) continue;
      const double flops = op.kind->cost(scheduled.graph, op).flops;
      executable.flops += flops;
      if (op.schedule->recomputed) executable.recomputed_flops += flops;
    }
  if (!sends) executable.collectives = 0;
}

Result<Executable> run_passes(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
                              const CompileOptions& options, KernelStore& kernels, KernelStore& host_kernels) {
  BALEEN_TRY_ASSIGN(Lowered lowered, lower(scheduled, target, persistent, options.at));
  // Staged, a call has memory for one micro-batch.
  BALEEN_TRY(apply_pipeline_schedule(scheduled, lowered, !options.staged.contains(BALEEN_RECEIVE)));
  BALEEN_TRY(place(lowered, persistent));
  const Regions regions = form_regions(lowered, kernels);
  BALEEN_TRY_ASSIGN(auto steps, build_steps(lowered, regions, kernels));
  BALEEN_TRY_ASSIGN(steps, resolve_assigns(lowered, std::move(steps), kernels));
  BALEEN_TRY_ASSIGN(steps, schedule_calls(lowered, std::move(steps)));
  const HostKernels host{!options.host             ? HostKernels::By::nobody
                         : options.host == &target ? HostKernels::By::device
                                                   : HostKernels::By::host,
                         options.host == &target ? &kernels : &host_kernels};
  BALEEN_TRY_ASSIGN(
      ScheduledTransfers scheduled_transfers,
      schedule_transfers(lowered, std::move(steps), kernels, host, persistent.slots + options.slots_before));
  steps = std::move(scheduled_transfers.steps);
  Executable executable;
  executable.outside = std::move(scheduled_transfers.outside);
  executable.host_updates = std::move(scheduled_transfers.host_updates);
  AssembleOptions assembling{options.poison, options.describes, find_gate(lowered, steps)};
  const Kernels both{kernels, host_kernels};
  Lifetimes lifetimes = find_lifetimes(lowered, steps, both);
  // Staged, what is under way has a place in pinned memory.
  if (!options.stages_transfers) begin_gets_early(lowered, steps, lifetimes, assembling.gate);
  executable.mesh = scheduled.graph.mesh();
  executable.at = options.at;
  executable.micro_batches = scheduled.micro_batches;
  count(scheduled, executable);
  assemble(executable, lowered, steps, lifetimes, both, assembling);
  stage_calls(executable, options.staged);
  if (options.stages_transfers) stage_transfers(executable);
  name_calls(executable);
  return executable;
}

}  // namespace

Result<Executable> compile(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
                           const CompileOptions& options) {
  KernelStore kernels(target), host_kernels(options.host ? *options.host : target, "the host's cores have");
  auto executable = run_passes(scheduled, target, persistent, options, kernels, host_kernels);
  // First: a kernel that fails was asked for before whatever else failed.
  BALEEN_TRY(kernels.finish());
  BALEEN_TRY(host_kernels.finish());
  return executable;
}

}  // namespace baleen
