/// \file Reads collectives and layouts.
#include "reductions.hpp"

#include "baleen/dtype.hpp"

namespace baleen::compress {
namespace {

bool is_reduction(GraphView& graph, const Op& op, std::uint32_t axis) {
  if ((op.kind() != "all_reduce" && op.kind() != "reduce_scatter") || !op.has("from")) return false;
  const auto axes = op.integers("axes");
  return axes.size() == 1 && axes[0] == axis && graph.value(op.inputs()[0]).role == BALEEN_ROLE_GRADIENT;
}

/// Through conversions along other axes, back to the gradient as its layer's op made it.
std::string name_of(GraphView& graph, baleen_value_t value, const std::map<baleen_value_t, std::string>& parameters) {
  for (;;) {
    if (const auto found = parameters.find(value); found != parameters.end()) return found->second;
    const baleen_op_t producer = graph.value(value).producer;
    const auto op = producer == BALEEN_NONE ? std::nullopt : graph.op(producer);
    if (!op || op->inputs().size() != 1 || !op->has("from")) return {};
    value = op->inputs()[0];
  }
}

/// What a rank holds at most.
std::vector<std::int64_t> local_shape(const std::vector<std::int64_t>& whole, const Layout& layout, MeshView mesh) {
  std::vector<std::int64_t> local = whole;
  for (std::uint32_t axis = 0; axis < layout.size(); ++axis)
    if (layout[axis].kind == BALEEN_SHARD) {
      std::int64_t& extent = local[static_cast<std::size_t>(layout[axis].argument)];
      extent = (extent + mesh.size(axis) - 1) / mesh.size(axis);
    }
  for (std::uint32_t axis = 0; axis < layout.size(); ++axis)
    if (layout[axis].kind == BALEEN_SHARD_FLAT) local = {(elements(local) + mesh.size(axis) - 1) / mesh.size(axis)};
  return local;
}

baleen_op_t reader_in_update(GraphView& graph, baleen_value_t id, baleen_op_t otherwise) {
  const baleen_value_info_t value = graph.value(id);
  for (std::uint64_t i = 0; i < value.user_count; ++i)
    if (graph.info(value.users[i]).phase == BALEEN_PHASE_UPDATE) return value.users[i];
  return otherwise;
}

bool runs_in_every_micro_batch(GraphView& graph, const Reduction& reduction) {
  const auto op = graph.op(reduction.op);
  return op->has("every_micro_batch") && op->integer("every_micro_batch") != 0;
}

Reduction read(GraphView& graph, baleen_op_t id, const Along& along,
               const std::map<baleen_value_t, std::string>& parameters) {
  Reduction found;
  found.op = found.place = id;
  {
    const auto op = graph.op(id);
    found.input = op->inputs()[0];
    found.output = op->outputs()[0];
    found.scatters = op->kind() == "reduce_scatter";
  }
  found.axis = along.axis;
  found.ranks = along.mesh.size(along.axis);
  found.name = name_of(graph, found.input, parameters);
  found.before = layout_of(graph, found.input);
  found.after = layout_of(graph, found.output);
  const baleen_value_info_t value = graph.value(found.input);
  found.whole.assign(value.shape, value.shape + value.rank);
  found.local = local_shape(found.whole, found.before, along.mesh);
  found.reader = reader_in_update(graph, found.output, id);
  if (along.micro_batches > 1 && !runs_in_every_micro_batch(graph, found)) found.place = found.reader;
  return found;
}

std::string title(const Reduction& reduction) {
  return reduction.name.empty() ? "a gradient" : "the gradient of `" + reduction.name + "`";
}

/// Whether flat parts of the pieces are flat parts of what ranks hold: pieces are alike.
bool cuts_evenly(const Reduction& reduction, MeshView mesh) {
  for (std::uint32_t axis = 0; axis < reduction.before.size(); ++axis) {
    const baleen_placement_t& p = reduction.before[axis];
    if (p.kind == BALEEN_SHARD && reduction.whole[static_cast<std::size_t>(p.argument)] % mesh.size(axis) != 0)
      return false;
  }
  return true;
}

}  // namespace

std::vector<Reduction> reductions_of(GraphView graph, const Along& along,
                                     const std::map<baleen_value_t, std::string>& parameters) {
  std::vector<Reduction> all;
  const std::uint32_t count = graph.op_count();
  for (baleen_op_t id = 0; id < count; ++id)
    if (const auto op = graph.op(id); op && is_reduction(graph, *op, along.axis))
      all.push_back(read(graph, id, along, parameters));
  return all;
}

Status check_reduction(GraphView graph, const Reduction& reduction, const Along& along, const Options& options) {
  const std::string how = "method = \"" + options.word + "\": ", half = "take method = \"bf16\" or \"fp16\"";
  if (along.micro_batches > 1 && runs_in_every_micro_batch(graph, reduction))
    return unsupported(how + title(reduction) +
                       " is summed over ranks in every micro-batch, and only sums over all of them are compressed so; "
                       "give `zero` reduce_gradients = \"once_per_step\", or " +
                       half);
  const bool flat = reduction.after[along.axis].kind == BALEEN_SHARD_FLAT;
  if (reduction.scatters && (!flat || !cuts_evenly(reduction, along.mesh)))
    return unsupported(how + title(reduction) + " " + shape_text(reduction.whole) + " is left in parts as " +
                       layout_text(reduction.after) + " of pieces as " + layout_text(reduction.before) +
                       ", and only flat parts of equal pieces are made so; " + half);
  for (std::uint32_t axis = 0; axis < reduction.before.size(); ++axis) {
    const baleen_placement_t& p = reduction.before[axis];
    if (axis == along.axis || along.mesh.size(axis) == 1 || p.kind == BALEEN_REPLICATE) continue;
    const bool piece = p.kind == BALEEN_SHARD || p.kind == BALEEN_SHARD_FLAT || p.kind == BALEEN_AT;
    if (options.keeps_states() || (!piece && p.kind != BALEEN_PARTIAL_SUM))
      return unsupported(how + title(reduction) + " is " + (piece ? "cut" : "one term of a sum") + " along `" +
                         std::string(along.mesh.name(axis)) + "` too, and what " +
                         (options.keeps_states() ? "this method keeps of a gradient from step to step is of a whole one"
                                                 : "is quantised is a block of it") +
                         "; take method = \"8bit\", \"bf16\" or \"fp16\"");
  }
  if (options.keeps_states() && reduction.name.empty())
    return unsupported(how + "a sum of gradients that is no parameter's own; take method = \"8bit\"");
  return {};
}

}  // namespace baleen::compress
