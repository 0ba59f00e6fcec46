/// \file `reshape` and `transpose`.
#include "compiler/ops/builder.hpp"

namespace baleen::ops {
namespace {

/// Dimensions of two shapes with equal products that begin at the same element stride: where a dimension of the one
/// (or the outermost of several) starts a block that a dimension of the other starts too. Cutting both in n equal
/// parts, n dividing both extents, gives the same elements to each part.
struct Pair {
  std::size_t from, to;
};

std::vector<Pair> matching(const Shape& from, const Shape& to) {
  std::vector<Pair> pairs;
  if (element_count(from) == 0) return pairs;
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i == from.size() || j == to.size()) return pairs;
    pairs.push_back({i, j});
    std::int64_t left = from[i++], right = to[j++];
    while (left != right) (left < right ? left *= from[i++] : right *= to[j++]);
  }
}

Result<Types> infer_reshape(const InferContext& context) {
  BALEEN_TRY(check_attributes("reshape", context.attributes, {{"shape", AttributeType::integers}}));
  BALEEN_TRY(check_count("reshape", context, 1, 1));
  const ValueType& x = context.inputs[0];
  const Shape& shape = context.attributes.integers("shape");
  BALEEN_TRY(check_extents("reshape", shape));
  if (element_count(shape) != element_count(x.shape))
    return invalid("reshape: " + to_string(x.shape) + " has " + std::to_string(element_count(x.shape)) +
                   " elements and " + to_string(shape) + " has " + std::to_string(element_count(shape)));
  ValueType y{x.dtype, shape, std::vector<std::string>(shape.size())};
  for (const Pair& pair : matching(x.shape, shape)) y.axes[pair.to] = axis(x, pair.from);
  return Types{y};
}

Result<Values> gradient_reshape(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  Builder build(graph);
  return build.finish({build.reshape(cotangents[0], graph.value(op.inputs[0]).shape)});
}

Iteration iterate_reshape(const Graph& graph, const Op& op) {
  const Shape &from = graph.value(op.inputs[0]).shape, &to = graph.value(op.outputs[0]).shape;
  Iteration result{{std::string(from.size(), '.')}, {std::string(to.size(), '.')}, {{0}}, {}};
  char letter = 'a';
  for (const Pair& pair : matching(from, to)) {
    result.inputs[0][pair.from] = result.outputs[0][pair.to] = letter;
    ++letter;
  }
  return result;
}

Result<Types> infer_transpose(const InferContext& context) {
  BALEEN_TRY(check_attributes("transpose", context.attributes, {{"permutation", AttributeType::integers}}));
  BALEEN_TRY(check_count("transpose", context, 1, 1));
  const ValueType& x = context.inputs[0];
  const auto& permutation = context.attributes.integers("permutation");
  if (permutation.size() != x.shape.size())
    return invalid("transpose: `permutation` " + to_string(permutation) + " has " + std::to_string(permutation.size()) +
                   " entries, but the input " + to_string(x.shape) + " has " + std::to_string(x.shape.size()) +
                   " dimensions");
  std::vector<bool> seen(x.shape.size(), false);
  ValueType y{x.dtype, {}, {}};
  for (std::int64_t dim : permutation) {
    BALEEN_TRY(check_dim("transpose", "permutation", dim, {"the input", x}));
    const auto d = static_cast<std::size_t>(dim);
    if (seen[d])
      return invalid("transpose: dimension " + std::to_string(dim) + " stands twice in `permutation` " +
                     to_string(permutation));
    seen[d] = true;
    y.shape.push_back(x.shape[d]);
    y.axes.push_back(axis(x, d));
  }
  return Types{y};
}

Result<Values> gradient_transpose(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  const auto& permutation = op.attributes.integers("permutation");
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  Builder build(graph);
  return build.finish({build.one("transpose", {cotangents[0]}, {{"permutation", Attributes::ints(inverse)}})});
}

Iteration iterate_transpose(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  std::string out;
  for (std::int64_t dim : op.attributes.integers("permutation")) out += all[static_cast<std::size_t>(dim)];
  return {{all}, {out}, {{0}}, {}};
}

}  // namespace

Status register_shape(OpRegistry& registry) {
  BALEEN_TRY(registry.add({.name = "reshape",
                           .traits = kPure | kView | kCheap,
                           .infer = infer_reshape,
                           .gradient = gradient_reshape,
                           .iteration = iterate_reshape,
                           .cost = cost_per_element(0)}));
  return registry.add({.name = "transpose",
                       .traits = kPure | kView | kCheap,
                       .infer = infer_transpose,
                       .gradient = gradient_transpose,
                       .iteration = iterate_transpose,
                       .cost = cost_per_element(0)});
}

}  // namespace baleen::ops
