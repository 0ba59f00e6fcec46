/// \file What several strategies do alike: find their axis, cut the batch, list collectives and join them by size.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::sdk {

/// In place of an axis: one rank has no mesh, and strategies have nothing to do.
inline constexpr std::uint32_t kNoAxis = BALEEN_NONE;

/// "`data`, `tensor`".
inline std::string axis_names(MeshView mesh) {
  std::string names;
  for (std::uint32_t axis = 0; axis < mesh.count(); ++axis)
    names += (axis ? ", `" : "`") + std::string(mesh.name(axis)) + "`";
  return names;
}

/// The mesh axis that the option `option` of strategy `strategy` names. An error where the mesh has none of this name.
inline Result<std::uint32_t> axis_named(std::string_view name, MeshView mesh, const std::string& strategy,
                                        const std::string& option = "axis") {
  if (mesh.count() == 0) return kNoAxis;
  if (const auto axis = mesh.find(name)) return *axis;
  return invalid("strategy `" + strategy + "` works along the mesh axis `" + std::string(name) +
                 "`, and the mesh has none; name one of " + axis_names(mesh) + " with its option `" + option + "`");
}

/// Cuts the batch along `axis`: every input whose outermost logical axis is `batch`, and what is computed from it. An
/// error where a rank would have no row at all in any case.
inline Status cut_batch(GraphView graph, Placing placing, std::uint32_t axis) {
  placing.allow_sharding(axis, "batch");
  const std::int64_t ranks = placing.mesh().size(axis);
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_INPUT || value.rank == 0 || view(value.axes[0]) != "batch") continue;
    if (value.shape[0] < ranks)
      return invalid("a batch of " + std::to_string(value.shape[0]) + " rows cannot feed the " + std::to_string(ranks) +
                     " ranks along `" + std::string(placing.mesh().name(axis)) + "`; take a batch of " +
                     std::to_string(ranks) + " or more, or fewer ranks");
    placing.constrain(id, axis, shard(0));
  }
  return {};
}

/// A collective op of the graph, in `schedule`.
struct ListedCollective {
  baleen_op_t op = BALEEN_NONE;
  baleen_value_t input = BALEEN_NONE, output = BALEEN_NONE;
  std::uint32_t position = 0;
  std::uint64_t bytes = 0;  ///< of the larger side, on this rank
  baleen_dtype_t dtype = 0;
};

/// All of one kind along `axis` alone whose input has this role and that stand in no bucket yet, in the order of
/// execution.
inline std::vector<ListedCollective> list_collectives(GraphView graph, const Scheduling& scheduling,
                                                      std::string_view kind, std::uint32_t axis, baleen_role_t role) {
  std::vector<ListedCollective> found;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != kind || !graph.tag(id, "bucket").empty()) continue;
    const auto axes = op->integers("axes");
    if (axes.size() != 1 || axes[0] != axis) continue;
    const baleen_value_t input = op->inputs()[0], output = op->outputs()[0];
    const baleen_value_info_t value = graph.value(input);
    if (value.role != role) continue;
    found.push_back({id, input, output, scheduling.position(id),
                     std::max(scheduling.local_bytes(input), scheduling.local_bytes(output)), value.dtype});
  }
  std::sort(found.begin(), found.end(),
            [](const ListedCollective& a, const ListedCollective& b) { return a.position < b.position; });
  return found;
}

/// Consecutive ones of one dtype with at most `bytes` together (one, where it alone has more).
inline std::vector<std::vector<ListedCollective>> buckets_of(const std::vector<ListedCollective>& all,
                                                             std::uint64_t bytes) {
  std::vector<std::vector<ListedCollective>> buckets;
  std::uint64_t filled = 0;
  for (const ListedCollective& one : all) {
    if (buckets.empty() || filled + one.bytes > bytes || buckets.back()[0].dtype != one.dtype) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(one);
    filled += one.bytes;
  }
  return buckets;
}

inline std::vector<baleen_op_t> ops_of(const std::vector<ListedCollective>& bucket) {
  std::vector<baleen_op_t> ops;
  for (const ListedCollective& one : bucket) ops.push_back(one.op);
  return ops;
}

/// Lets collectives run together, in buckets of at most `bytes`.
inline std::vector<std::vector<ListedCollective>> coalesce_by_size(Scheduling& scheduling,
                                                                   const std::vector<ListedCollective>& all,
                                                                   std::uint64_t bytes) {
  std::vector<std::vector<ListedCollective>> buckets = buckets_of(all, bytes);
  for (const auto& bucket : buckets) scheduling.coalesce(ops_of(bucket));
  return buckets;
}

/// Lets each bucket be over when the one after the next begins: two are under way, and what others read is free.
inline void bound_in_flight(Scheduling& scheduling, const std::vector<std::vector<ListedCollective>>& buckets) {
  for (std::size_t i = 2; i < buckets.size(); ++i)
    scheduling.must_complete_before(buckets[i - 2].front().op, buckets[i].front().op);
}

}  // namespace baleen::sdk
