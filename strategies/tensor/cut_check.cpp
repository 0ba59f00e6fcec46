/// \file Refuses what ranks cannot share, with the nearest that they can.
#include "cut_check.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "axis_split.hpp"

namespace baleen::tensor_parallel {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/// The divisor of `number` next to `wanted`, the smaller of two.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0 && std::abs(d - wanted) < std::abs(best - wanted)) best = d;
  return best;
}

/// ", or make `tensor` 9 (3 x 3)": ranks that cut inner dimensions in so many parts. Nothing where one rank would be
/// left, which cuts nothing.
std::string or_ranks(const InnerAxis& axis, std::int64_t parts) {
  if (parts < 2) return {};
  return ", or make `" + axis.whole + "` " + ranks_text(parts, axis.exponent, axis.depth);
}

Error too_few(const baleen_value_info_t& value, int dim, const InnerAxis& axis) {
  const std::string name(view(value.axes[dim]));
  const std::int64_t extent = value.shape[dim];
  return invalid("parameter `" + std::string(view(value.name)) + "` has `" + name + "` = " + text(extent) +
                 ", which cannot be cut over the " + text(axis.parts) + " ranks along `" + axis.name + "`; make `" +
                 name + "` " + text(axis.parts) + " or more" + or_ranks(axis, extent) +
                 (axis.exponent == 1 && extent > 1 ? " or less" : ""));
}

/// `number` rounded to a multiple of `ranks`, at least one.
std::int64_t nearest_multiple(std::int64_t number, std::int64_t ranks) {
  return std::max<std::int64_t>(1, (number + ranks / 2) / ranks) * ranks;
}

Status check_groups(std::string_view name, std::int64_t heads, std::int64_t groups, const InnerAxis& axis) {
  const std::int64_t ranks = axis.parts;
  if (heads == groups || (heads % ranks == 0 && groups % ranks == 0)) return {};
  const std::int64_t group_count = nearest_multiple(groups, ranks);
  const std::int64_t head_count = std::max<std::int64_t>(1, (heads + group_count / 2) / group_count) * group_count;
  return invalid(std::string(name) + ": " + text(heads) + " heads that share " + text(groups) +
                 " of keys and values cannot be cut over the " + text(ranks) + " ranks along `" + axis.name +
                 "`: both must divide, so that each rank has the keys of its queries; take heads = " +
                 text(head_count) + " and kv_heads = " + text(group_count) +
                 or_ranks(axis, nearest_divisor(greatest_common_divisor(heads, groups), ranks)));
}

}  // namespace

bool is_inner(std::string_view logical_axis) {
  constexpr std::array<std::string_view, 3> kInner{"heads", "ff", "vocab"};
  return std::find(kInner.begin(), kInner.end(), logical_axis) != kInner.end();
}

std::optional<int> inner_dimension(const baleen_value_info_t& value) {
  for (std::uint32_t dim = 0; dim < value.rank; ++dim)
    if (is_inner(view(value.axes[dim]))) return static_cast<int>(dim);
  return std::nullopt;
}

InnerAxis inner_axis(MeshView mesh, std::uint32_t col, int exponent, std::int64_t depth) {
  const std::string name(mesh.name(col));
  return {mesh.size(col), name, name.substr(0, name.rfind('.')), exponent, depth};
}

Status check_inner(GraphView graph, const InnerAxis& axis) {
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_PARAMETER) continue;
    const auto dim = inner_dimension(value);
    if (dim && value.shape[*dim] < axis.parts) return too_few(value, *dim, axis);
  }
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "attention") continue;
    const std::int64_t heads = graph.value(op->inputs()[0]).shape[2], groups = graph.value(op->inputs()[1]).shape[2];
    BALEEN_TRY(check_groups(op->name(), heads, groups, axis));
  }
  return {};
}

bool is_wide(const baleen_value_info_t& value, std::int64_t parts) {
  for (std::uint32_t dim = 0; dim < value.rank; ++dim)
    if (view(value.axes[dim]) != "batch" && view(value.axes[dim]) != "seq" && value.shape[dim] >= parts) return true;
  return false;
}

bool is_batch(const baleen_value_info_t& value) { return value.rank > 0 && view(value.axes[0]) == "batch"; }

Status check_batch(GraphView graph, std::int64_t parts, std::string_view what) {
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_INPUT || !is_batch(value) || value.shape[0] >= parts) continue;
    return invalid("a batch of " + text(value.shape[0]) + " rows cannot feed the " + text(parts) + " " +
                   std::string(what) + "; take a batch of " + text(parts) + " or more, or fewer ranks");
  }
  return {};
}

}  // namespace baleen::tensor_parallel
