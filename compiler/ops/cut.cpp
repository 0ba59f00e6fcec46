/// \file `slice`, `concat` and `pad`: tensors cut and joined along one dimension.
#include "compiler/ops/builder.hpp"

namespace baleen::ops {
namespace {

std::size_t dim_of(const Op& op) { return static_cast<std::size_t>(op.attributes.integer("dim")); }

Result<Types> infer_slice(const InferContext& context) {
  BALEEN_TRY(check_attributes(
      "slice", context.attributes,
      {{"dim", AttributeType::integer}, {"start", AttributeType::integer}, {"length", AttributeType::integer}}));
  BALEEN_TRY(check_count("slice", context, 1, 1));
  ValueType y = context.inputs[0];
  const std::int64_t dim = context.attributes.integer("dim"), start = context.attributes.integer("start"),
                     length = context.attributes.integer("length");
  BALEEN_TRY(check_dim("slice", "dim", dim, {"the input", y}));
  auto& extent = y.shape[static_cast<std::size_t>(dim)];
  if (start < 0 || length < 0 || length > extent || start > extent - length)
    return invalid("slice: " + std::to_string(length) + " from " + std::to_string(start) + " of dimension " +
                   std::to_string(dim) + " reaches outside " + to_string(context.inputs[0].shape));
  extent = length;
  return Types{y};
}

Result<Values> gradient_slice(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  const std::int64_t start = op.attributes.integer("start");
  const std::int64_t after = graph.value(op.inputs[0]).shape[dim_of(op)] - start - op.attributes.integer("length");
  if (start == 0 && after == 0) return Values{cotangents[0]};
  Builder build(graph);
  return build.finish({build.one("pad", {cotangents[0]},
                                 {{"dim", Attributes::ints({op.attributes.integer("dim")})},
                                  {"before", Attributes::ints({start})},
                                  {"after", Attributes::ints({after})}})});
}

Result<Types> infer_concat(const InferContext& context) {
  BALEEN_TRY(check_attributes("concat", context.attributes, {{"dim", AttributeType::integer}}));
  if (context.inputs.empty()) return invalid("concat takes at least one input");
  ValueType y = context.inputs[0];
  const std::int64_t dim = context.attributes.integer("dim");
  BALEEN_TRY(check_dim("concat", "dim", dim, {"the first input", y}));
  const auto along = static_cast<std::size_t>(dim);
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    const ValueType& x = context.inputs[i];
    if (x.dtype != y.dtype)
      return invalid("concat: the first input is " + type_text(context.inputs[0]) + " and input " + std::to_string(i) +
                     " is " + type_text(x) + "; the dtypes must be equal");
    BALEEN_TRY(check_rank("concat", {"input " + std::to_string(i), x}, y.shape.size()));
    for (std::size_t d = 0; d < y.shape.size(); ++d)
      if (d != along && x.shape[d] != y.shape[d])
        return invalid("concat along dimension " + std::to_string(dim) + ": dimension " + std::to_string(d) + " is " +
                       std::to_string(y.shape[d]) + " in the first input " + to_string(context.inputs[0].shape) +
                       " and " + std::to_string(x.shape[d]) + " in input " + std::to_string(i) + " " +
                       to_string(x.shape));
    y.shape[along] += x.shape[along];
  }
  return Types{y};
}

Result<Values> gradient_concat(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  Builder build(graph);
  Values result(op.inputs.size(), kNone);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const std::int64_t length = graph.value(op.inputs[i]).shape[dim_of(op)];
    if (wanted[i])
      result[i] = build.one("slice", {cotangents[0]},
                            {{"dim", Attributes::ints({op.attributes.integer("dim")})},
                             {"start", Attributes::ints({start})},
                             {"length", Attributes::ints({length})}});
    start += length;
  }
  return build.finish(result);
}

Result<Types> infer_pad(const InferContext& context) {
  BALEEN_TRY(check_attributes(
      "pad", context.attributes,
      {{"dim", AttributeType::integer}, {"before", AttributeType::integer}, {"after", AttributeType::integer}}));
  BALEEN_TRY(check_count("pad", context, 1, 1));
  ValueType y = context.inputs[0];
  const std::int64_t dim = context.attributes.integer("dim"), before = context.attributes.integer("before"),
                     after = context.attributes.integer("after");
  BALEEN_TRY(check_dim("pad", "dim", dim, {"the input", y}));
  if (before < 0 || after < 0)
    return invalid("pad: `before` is " + std::to_string(before) + " and `after` is " + std::to_string(after) +
                   "; neither may be negative");
  auto& extent = y.shape[static_cast<std::size_t>(dim)];
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (before > kMost || after > kMost || extent > kMost)
    return invalid("pad: " + std::to_string(before) + " before and " + std::to_string(after) + " after dimension " +
                   std::to_string(dim) + " of " + to_string(y.shape) + " are too many");
  extent += before + after;
  BALEEN_TRY(check_extents("pad", y.shape));
  return Types{y};
}

Result<Values> gradient_pad(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  Builder build(graph);
  return build.finish({build.one("slice", {cotangents[0]},
                                 {{"dim", Attributes::ints({op.attributes.integer("dim")})},
                                  {"start", Attributes::ints({op.attributes.integer("before")})},
                                  {"length", Attributes::ints({graph.value(op.inputs[0]).shape[dim_of(op)]})}})});
}

/// Every dimension but `dim` runs together; jointly linear in all inputs.
Iteration iteration(const Graph& graph, const Op& op) {
  std::string all = letters(graph.value(op.outputs[0]).rank());
  all[dim_of(op)] = '.';
  Iteration result;
  result.inputs.assign(op.inputs.size(), all);
  result.outputs = {all};
  result.linear.emplace_back();
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) result.linear[0].push_back(i);
  return result;
}

}  // namespace

Status register_cut(OpRegistry& registry) {
  const auto add = [&](const char* name, std::uint32_t traits, auto infer, auto gradient) {
    return registry.add({.name = name,
                         .traits = kPure | kCheap | traits,
                         .infer = infer,
                         .gradient = gradient,
                         .iteration = iteration,
                         .cost = cost_per_element(0)});
  };
  BALEEN_TRY(add("slice", kView, infer_slice, gradient_slice));
  BALEEN_TRY(add("concat", 0, infer_concat, gradient_concat));
  return add("pad", 0, infer_pad, gradient_pad);
}

}  // namespace baleen::ops
