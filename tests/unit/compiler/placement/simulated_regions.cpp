/// \file Local regions on simulated ranks: tensors of local shape, and collectives by their definitions.
#include <algorithm>
#include <stdexcept>

#include "compiler/layout/piece.hpp"
#include "simulated_ranks.hpp"
#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

/// Copies `from` into `to` with dimension `dim` shifted by `offset` (of `to` where `into`, else of `from`).
void copy_along(const Tensor& from, Tensor& to, std::size_t dim, std::int64_t offset, bool into) {
  for_each(into ? from.shape : to.shape, [&](const Coordinate& at) {
    Coordinate moved = at;
    moved[dim] += offset;
    if (into)
      to.at(moved) = from.at(at);
    else
      to.at(at) = from.at(moved);
  });
}

Tensor joined(const std::vector<const Tensor*>& parts, std::size_t dim) {
  Shape shape = parts[0]->shape;
  shape[dim] *= static_cast<std::int64_t>(parts.size());
  Tensor whole(shape);
  for (std::size_t i = 0; i < parts.size(); ++i)
    copy_along(*parts[i], whole, dim, static_cast<std::int64_t>(i) * parts[i]->shape[dim], true);
  return whole;
}

Tensor part(const Tensor& whole, std::size_t dim, std::size_t index, std::size_t count) {
  Shape shape = whole.shape;
  shape[dim] /= static_cast<std::int64_t>(count);
  Tensor piece(shape);
  copy_along(whole, piece, dim, static_cast<std::int64_t>(index) * shape[dim], false);
  return piece;
}

Tensor summed(const std::vector<const Tensor*>& parts, bool max) {
  Tensor sum = *parts[0];
  for (std::size_t p = 1; p < parts.size(); ++p)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = max ? std::max(sum[i], (*parts[p])[i]) : sum[i] + (*parts[p])[i];
  return sum;
}

/// The global index of a local one.
std::int64_t index_in(const Ranges& runs, std::int64_t local) {
  for (const Range& run : runs) {
    if (local < run.length()) return run.begin + local;
    local -= run.length();
  }
  throw std::out_of_range("a rank does not hold this");
}

std::size_t dim_of(const Op& op, const char* name) { return static_cast<std::size_t>(op.attributes.integer(name)); }

/// What member number `own` of a group has after a collective over the members' tensors.
Tensor collective(const Op& op, const std::vector<const Tensor*>& members, std::size_t own) {
  const std::string& kind = op.kind->name;
  const std::size_t count = members.size();
  if (kind == "all_reduce")
    return summed(members, op.attributes.has("reduction") && op.attributes.text("reduction") == "max");
  if (kind == "reduce_to") return own == dim_of(op, "root") ? summed(members, false) : Tensor(members[own]->shape);
  if (kind == "broadcast") return *members[dim_of(op, "root")];
  if (kind == "all_gather") return joined(members, dim_of(op, "dim"));
  if (kind == "reduce_scatter") return part(summed(members, false), dim_of(op, "dim"), own, count);
  if (kind == "all_to_all") return part(joined(members, dim_of(op, "from_dim")), dim_of(op, "to_dim"), own, count);
  if (kind == "permute") {
    const auto n = static_cast<std::int64_t>(count);
    return *members[static_cast<std::size_t>(
        ((static_cast<std::int64_t>(own) - op.attributes.integer("shift")) % n + n) % n)];
  }
  throw std::runtime_error("no collective " + kind);
}

}  // namespace

bool SimulatedRanks::is_local(const Op& op) const {
  if (op.kind->name == "to_local" || op.kind->name == "axis_index") return true;
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return local_.contains(v); });
}

void SimulatedRanks::run_local(const Op& op) {
  const ValueId y = op.outputs[0];
  for (std::size_t rank = 0; rank < ranks_; ++rank) values_[y].push_back(local_result(op, rank));
  if (op.kind->name != "from_local") local_[y] = true;
}

Tensor SimulatedRanks::local_result(const Op& op, std::size_t rank) const {
  const Value& y = graph_.value(op.outputs[0]);
  Tensor result(y.shape);
  const Coordinates at = coordinates(graph_.mesh(), static_cast<std::int64_t>(rank));
  if (op.kind->name == "axis_index") {
    result[0] = static_cast<double>(at[static_cast<std::size_t>(op.attributes.integer("axes"))]);
  } else if (op.kind->name == "to_local" || op.kind->name == "from_local") {
    const bool open = op.kind->name == "to_local";
    const Value& whole = open ? graph_.value(op.inputs[0]) : y;
    const Piece piece = piece_of(whole.shape, whole.layout, graph_.mesh(), at);
    const Tensor& from = values_.at(op.inputs[0])[rank];
    for_each(piece.shape(), [&](const Coordinate& local) {  // what is behind the piece stays zero
      Coordinate global = local;
      for (std::size_t d = 0; d < local.size(); ++d) global[d] = index_in(piece.dims[d], local[d]);
      result.at(open ? local : global) = from.at(open ? global : local);
    });
  } else if (op.kind->name == "pick") {
    const auto own = static_cast<std::size_t>(at[static_cast<std::size_t>(op.attributes.integer("axes"))]);
    result = values_.at(op.inputs[own])[rank];
  } else if (op.kind->has(kCollective)) {
    std::vector<int> axes;
    for (std::int64_t axis : op.attributes.integers("axes")) axes.push_back(static_cast<int>(axis));
    std::vector<const Tensor*> members;
    std::size_t own = 0;
    for (std::int64_t member : group(graph_.mesh(), static_cast<std::int64_t>(rank), axes)) {
      if (static_cast<std::size_t>(member) == rank) own = members.size();
      members.push_back(&values_.at(op.inputs[0])[static_cast<std::size_t>(member)]);
    }
    result = collective(op, members, own);
  } else {
    Call call{op, {}, {Tensor(y.shape)}, {y.dtype}, 0, 0};
    for (ValueId v : op.inputs) call.inputs.push_back(&values_.at(v)[rank]);
    reference_kernel(op.kind->name)(call);
    result = std::move(call.outputs[0]);
  }
  return result;
}

}  // namespace baleen::test
