/// \file Tries what a strategy asks about on a copy of the graph, and does what it asks for on the graph.
#include "compiler/plan/strategy_verbs.hpp"

#include <algorithm>

#include "baleen/plugin.hpp"
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

std::vector<OpId> listed(const baleen_op_t* ops, std::uint64_t count) {
  return count == 0 ? std::vector<OpId>() : std::vector<OpId>(ops, ops + count);
}

}  // namespace

RecomputeVerbs::RecomputeVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches,
                               std::uint64_t budget, Rest rest)
    : graph_(graph), micro_batches_(micro_batches), rest_(std::move(rest)), positions_(positions_in(graph)) {
  table_.mesh = &mesh;
  table_.micro_batches = static_cast<std::uint64_t>(micro_batches);
  table_.position = [](void* p, OpId op) {
    return op < self(p).positions_.size() ? self(p).positions_[op] : std::uint32_t{BALEEN_NONE};
  };
  table_.local_bytes = [](void* p, ValueId value) { return local_bytes(self(p).graph_, value); };
  table_.peak = [](void* p, const OpId* ops, std::uint64_t count, std::uint64_t* bytes) {
    return self(p).run([&] { return self(p).peak(listed(ops, count), *bytes); });
  };
  table_.recompute = [](void* p, const OpId* ops, std::uint64_t count) {
    return self(p).run([&] { return run_again(self(p).graph_, listed(ops, count)); });
  };
  table_.budget = budget;
  table_.flops = [](void* p, OpId op) { return self(p).flops(op); };
  table_.note = &note;
}

/// By the phases that follow.
Status RecomputeVerbs::peak(const std::vector<OpId>& ops, std::uint64_t& bytes) const {
  Graph copy = graph_;
  BALEEN_TRY(run_again(copy, ops));
  std::vector<PipelineSchedule> pipelines;
  if (rest_) BALEEN_TRY(rest_(copy, pipelines));
  copy.remove_dead();
  BALEEN_TRY(shard_micro(copy, micro_batches_));
  BALEEN_TRY(join_kinds(copy));
  BALEEN_TRY_ASSIGN(ScheduledGraph scheduled, schedule_loops(std::move(copy), micro_batches_, std::move(pipelines)));
  BALEEN_TRY(fuse_pointwise(scheduled));
  bytes = working_peak(scheduled);
  return {};
}

/// By the kind's rule for the whole batch on the whole mesh. Along each axis that cuts some operand or result every
/// rank has an equal share of the work.
double RecomputeVerbs::flops(OpId id) const {
  if (id >= graph_.op_count() || !graph_.op(id).live || !graph_.op(id).kind->cost) return 0;
  const Op& op = graph_.op(id);
  double flops = op.kind->cost(graph_, op).flops;
  for (std::size_t axis = 0; axis < graph_.mesh().axes.size(); ++axis) {
    const auto is_cut = [&](ValueId v) {
      const Layout& layout = graph_.value(v).layout;
      return axis < layout.size() && layout[axis].cut();
    };
    if (std::ranges::any_of(op.inputs, is_cut) || std::ranges::any_of(op.outputs, is_cut))
      flops /= static_cast<double>(graph_.mesh().axes[axis].size);
  }
  return flops;
}

}  // namespace baleen
