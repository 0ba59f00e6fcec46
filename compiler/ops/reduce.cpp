/// \file `reduce`: sums and maxima over dimensions.
#include <algorithm>

#include "compiler/ops/builder.hpp"

namespace baleen::ops {
namespace {

bool reduced(const Op& op, std::size_t dim) {
  const auto& dims = op.attributes.integers("dims");
  return std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) != dims.end();
}

bool keeps(const Op& op) { return op.attributes.integer_or("keep", 0) != 0; }

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("reduce", context.attributes,
                              {{"kind", AttributeType::text},
                               {"dims", AttributeType::integers},
                               {"keep", AttributeType::integer, false},
                               dtype_rule()}));
  BALEEN_TRY(check_count("reduce", context, 1, 1));
  const ValueType& x = context.inputs[0];
  const std::string& kind = context.attributes.text("kind");
  if (kind != "sum" && kind != "max") return invalid("reduce: `kind` is \"" + kind + "\"; it is \"sum\" or \"max\"");
  BALEEN_TRY(check_floats("reduce", {{"the input", x}}));
  std::vector<bool> gone(x.shape.size(), false);
  for (std::int64_t dim : context.attributes.integers("dims")) {
    BALEEN_TRY(check_dim("reduce", "dims", dim, {"the input", x}));
    if (gone[static_cast<std::size_t>(dim)])
      return invalid("reduce: dimension " + std::to_string(dim) + " stands twice in `dims`");
    gone[static_cast<std::size_t>(dim)] = true;
  }
  if (kind == "max" && element_count(x.shape) == 0)
    return invalid("reduce: the maximum of no elements, in " + to_string(x.shape));
  BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype("reduce", context.attributes, x.dtype));
  ValueType y{dtype, {}, {}};
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (gone[d] && context.attributes.integer_or("keep", 0) == 0) continue;
    y.shape.push_back(gone[d] ? 1 : x.shape[d]);
    y.axes.push_back(gone[d] ? "" : axis(x, d));
  }
  return Types{y};
}

/// Of a sum: the cotangent, broadcast. Of a maximum: shared equally among the elements that reach it.
Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  Builder build(graph);
  const ValueId x = op.inputs[0];
  const Shape whole = graph.value(x).shape;
  const baleen_dtype_t dtype = graph.value(x).dtype;
  Shape kept = whole;
  for (std::size_t d = 0; d < kept.size(); ++d)
    if (reduced(op, d)) kept[d] = 1;
  const ValueId dy = build.reshape(cotangents[0], kept);
  Expression e;
  if (op.attributes.text("kind") == "sum") {
    if (kept == whole) return build.finish({build.cast(dy, dtype)});
    return build.finish({build.pointwise({dy}, e, e.input(0), whole, dtype)});
  }
  const ValueId y = build.reshape(op.outputs[0], kept);
  const ValueId hits = build.binary(BALEEN_X_EQ, x, y);
  const ValueId count = build.reduce("sum", hits, op.attributes.integers("dims"), true, wide(dtype));
  const auto hit = e.input(0);
  const auto share = e.binary(BALEEN_X_DIV, e.input(1), e.input(2));
  const auto dx = e.select(hit, share, e.constant(0));
  return build.finish({build.pointwise({hits, dy, count}, e, dx, whole, dtype)});
}

Iteration iteration(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  std::string out, over;
  for (std::size_t d = 0; d < all.size(); ++d) {
    if (!reduced(op, d)) over += all[d];
    if (!reduced(op, d))
      out += all[d];
    else if (keeps(op))
      out += '.';
  }
  Iteration result{{all}, {out}, {}, {}};
  if (op.attributes.text("kind") == "sum") {
    result.linear = {{0}};
    return result;
  }
  for (std::size_t d = 0; d < all.size(); ++d)
    if (reduced(op, d)) result.internal.push_back({all[d], over, 1});
  return result;
}

}  // namespace

Status register_reduce(OpRegistry& registry) {
  return registry.add({.name = "reduce",
                       .traits = kPure | kReduction | kTyped,
                       .infer = infer,
                       .gradient = gradient,
                       .iteration = iteration,
                       .cost = cost_per_element(1)});
}

}  // namespace baleen::ops
