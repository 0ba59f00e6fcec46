/// \file The conversions between layouts as ops. The value stays as it is; what a rank holds of it changes.
#include "compiler/ops/collective.hpp"

#include <algorithm>
#include <functional>

namespace baleen::ops {
namespace {

Status check_dimension(const std::string& kind, const Placement& p, const ValueType& x) {
  const auto dim = p.cut();
  if (!dim || *dim == kFlat || *dim < static_cast<int>(x.shape.size())) return {};
  return invalid(kind + ": " + to_string(p) + " cuts dimension " + std::to_string(*dim) + " of " + type_text(x) +
                 ", which has " + std::to_string(x.shape.size()));
}

/// Along several axes an all_to_all changes how their splits of one dimension nest, and nothing else.
bool renests(const Layout& from, const Layout& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!from[i].cut() || from[i].cut() != from[0].cut() || !from[i].same_kind(to[i])) return false;
  return from != to;
}

Result<Types> infer_conversion(CollectiveOp collective, const InferContext& context) {
  const std::string kind = to_string(collective);
  BALEEN_TRY(check_attributes(kind, context.attributes,
                              {{"axes", AttributeType::integers},
                               {"from", AttributeType::text},
                               {"to", AttributeType::text},
                               {"every_micro_batch", AttributeType::integer, false}}));
  BALEEN_TRY(check_count(kind, context, 1, 1));
  const std::string &before = context.attributes.text("from"), &after = context.attributes.text("to");
  BALEEN_TRY_ASSIGN(const Layout from, parse_layout(before));
  BALEEN_TRY_ASSIGN(const Layout to, parse_layout(after));
  BALEEN_TRY(check_mesh_axes(kind, context.attributes));
  const std::size_t count = context.attributes.integers("axes").size();
  if (from.size() != count || to.size() != count)
    return invalid(kind + ": `from` \"" + before + "\" and `to` \"" + after +
                   "\" must have one placement for each of the " + std::to_string(count) + " mesh axes in `axes`");
  for (const Layout* layout : {&from, &to})
    for (const Placement& p : *layout) BALEEN_TRY(check_dimension(kind, p, context.inputs[0]));
  const bool fits = count == 1 ? collective_between(from[0], to[0]) == collective
                               : collective == CollectiveOp::all_to_all && renests(from, to);
  if (!fits) return invalid(kind + " does not turn " + before + " into " + after);
  const bool reduces = std::any_of(from.begin(), from.end(), [](const Placement& p) { return p.is_partial(); });
  if (reduces) BALEEN_TRY(check_reducible(kind, context.inputs[0]));
  return Types{context.inputs[0]};
}

/// An outer split, such as the one into micro-batches, may split every dimension: the conversion then works within each
/// part. A flat shard runs over all dimensions, so with one none may be split.
Iteration iterate_conversion(const Graph& graph, const Op& op) {
  std::string all = letters(graph.value(op.inputs[0]).rank());
  for (const char* side : {"from", "to"}) {
    const Layout layout = *parse_layout(op.attributes.text(side));
    for (const Placement& p : layout)
      if (p.cut() == kFlat) all.assign(all.size(), '.');
  }
  Iteration result{{all}, {all}, {}, {}};
  if (op.attributes.integer_or("every_micro_batch", 0) != 0) result.linear = {{0}};
  return result;
}

}  // namespace

Status check_mesh_axes(const std::string& kind, const Attributes& attributes) {
  const auto& axes = attributes.integers("axes");
  const bool ascending = std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) == axes.end();
  if (!axes.empty() && axes[0] >= 0 && ascending) return {};
  return invalid(kind + ": `axes` is " + to_string(axes) + "; it lists numbers of mesh axes, ascending");
}

Status check_reducible(const std::string& kind, const ValueType& x) {
  if (!is_fp8(x.dtype)) return {};
  return invalid(kind + " of " + type_text(x) + ": 8 bits are moved between ranks and not reduced; cast them first");
}

Status register_collective(OpRegistry& registry) {
  for (int c = 0; c <= static_cast<int>(CollectiveOp::take_at); ++c) {
    const auto collective = static_cast<CollectiveOp>(c);
    const auto infer = [collective](const InferContext& context) {
      return context.attributes.has("from") ? infer_conversion(collective, context)
                                            : infer_local_collective(collective, context);
    };
    const auto iterate = [](const Graph& graph, const Op& op) {
      return op.attributes.has("from") ? iterate_conversion(graph, op) : iterate_local_collective(graph, op);
    };
    BALEEN_TRY(registry.add({.name = to_string(collective),
                             .traits = kStructural | kPure | (sends(collective) ? std::uint32_t{kCollective} : 0u),
                             .infer = infer,
                             .iteration = iterate,
                             .cost = cost_per_element(0)}));
  }
  return {};
}

}  // namespace baleen::ops
