/// \file `embedding`: rows of a table by ids, and `embedding_grad`.
#include "compiler/ops/builder.hpp"
#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("embedding", context.attributes, {}));
  BALEEN_TRY(check_count("embedding", context, 2, 2));
  const ValueType &table = context.inputs[0], &ids = context.inputs[1];
  BALEEN_TRY(check_floats("embedding", {{"the table", table}}));
  BALEEN_TRY(check_least_rank("embedding", {"the table", table}, 1));
  BALEEN_TRY(check_ids("embedding", {"ids", ids}));
  if (table.shape[0] == 0) return invalid("embedding: the table " + to_string(table.shape) + " has no rows");
  ValueType y{table.dtype, ids.shape, {}};
  for (std::size_t d = 0; d < ids.shape.size(); ++d) y.axes.push_back(axis(ids, d));
  for (std::size_t d = 1; d < table.shape.size(); ++d) {
    y.shape.push_back(table.shape[d]);
    y.axes.push_back(axis(table, d));
  }
  BALEEN_TRY(check_extents(
      "embedding: rows of the table " + to_string(table.shape) + " for ids " + to_string(ids.shape), y.shape));
  return Types{y};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  Builder build(graph);
  const ValueId dtable = build.one("embedding_grad", {op.inputs[1], cotangents[0]},
                                   {{"rows", Attributes::ints({graph.value(op.inputs[0]).shape[0]})}});
  return build.finish({dtable, kNone});
}

/// A cut of the rows (the last letter) makes y partial: an id outside a part gives zeros there.
Iteration iteration(const Graph& graph, const Op& op) {
  const std::size_t ids = graph.value(op.inputs[1]).rank(), y = graph.value(op.outputs[0]).rank();
  const std::string all = letters(y + 1);
  return {{all.back() + all.substr(ids, y - ids), all.substr(0, ids)}, {all.substr(0, y)}, {{0}}, {}};
}

/// [N, V]: 1 where the column is the row's id. An id outside the table gives zeros here, not an error.
ValueId one_hot(Builder& build, ValueId ids, std::int64_t count, std::int64_t rows, baleen_dtype_t dtype) {
  Expression e;
  const auto hit = e.binary(BALEEN_X_EQ, e.input(0), e.index(1));
  return build.pointwise({build.reshape(ids, {count, 1})}, e, hit, Shape{count, rows}, dtype);
}

Result<Values> expand(Graph& graph, const Op& op) {
  Builder build(graph);
  const Shape table = graph.value(op.inputs[0]).shape;
  const std::int64_t count = element_count(graph.value(op.inputs[1]).shape), rows = table[0];
  const ValueId hot = one_hot(build, op.inputs[1], count, rows, build.dtype(op.inputs[0]));
  const ValueId flat = build.reshape(op.inputs[0], {rows, element_count(Shape(table.begin() + 1, table.end()))});
  const ValueId y = build.matmul("nv,vd->nd", hot, flat);
  return build.finish({build.reshape(y, graph.value(op.outputs[0]).shape)});
}

Result<Types> infer_grad(const InferContext& context) {
  BALEEN_TRY(check_attributes("embedding_grad", context.attributes, {{"rows", AttributeType::integer}, dtype_rule()}));
  BALEEN_TRY(check_count("embedding_grad", context, 2, 2));
  const ValueType &ids = context.inputs[0], &dy = context.inputs[1];
  BALEEN_TRY(check_ids("embedding_grad", {"ids", ids}));
  BALEEN_TRY(check_floats("embedding_grad", {{"dy", dy}}));
  const std::int64_t rows = context.attributes.integer("rows");
  if (rows < 1) return invalid("embedding_grad: `rows` is " + std::to_string(rows) + "; it must be positive");
  const std::size_t leading = ids.shape.size();
  if (dy.shape.size() < leading ||
      Shape(dy.shape.begin(), dy.shape.begin() + static_cast<std::ptrdiff_t>(leading)) != ids.shape)
    return invalid("embedding_grad: dy " + to_string(dy.shape) + " does not begin with the shape of ids " +
                   to_string(ids.shape));
  BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype("embedding_grad", context.attributes, dy.dtype));
  ValueType table{dtype, {rows}, {""}};
  for (std::size_t d = leading; d < dy.shape.size(); ++d) {
    table.shape.push_back(dy.shape[d]);
    table.axes.push_back(axis(dy, d));
  }
  BALEEN_TRY(check_extents("embedding_grad", table.shape));
  return Types{table};
}

Iteration iteration_grad(const Graph& graph, const Op& op) {
  const std::size_t ids = graph.value(op.inputs[0]).rank(), dy = graph.value(op.inputs[1]).rank();
  const std::string all = letters(dy + 1);
  return {{all.substr(0, ids), all.substr(0, dy)}, {all.back() + all.substr(ids, dy - ids)}, {{1}}, {}};
}

Result<Values> expand_grad(Graph& graph, const Op& op) {
  Builder build(graph);
  const Shape table = graph.value(op.outputs[0]).shape;
  const std::int64_t count = element_count(graph.value(op.inputs[0]).shape), rows = table[0];
  const ValueId hot = one_hot(build, op.inputs[0], count, rows, build.dtype(op.inputs[1]));
  const ValueId flat = build.reshape(op.inputs[1], {count, element_count(Shape(table.begin() + 1, table.end()))});
  const ValueId sums = build.matmul("nv,nd->vd", hot, flat, graph.value(op.outputs[0]).dtype);
  return build.finish({build.reshape(sums, table)});
}

}  // namespace

Status register_embedding(OpRegistry& registry) {
  OpKind kind;
  kind.name = "embedding";
  kind.traits = kPure | kProduct;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = [](const Graph& graph, const Op& op) { return cost_of(graph, op, 0); };
  kind.expand = expand;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "embedding_grad";
  grad.traits = kPure | kTyped;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = [](const Graph& graph, const Op& op) {
    return cost_of(graph, op, static_cast<double>(element_count(graph.value(op.inputs[1]).shape)));
  };
  grad.expand = expand_grad;
  return registry.add(std::move(grad));
}

}  // namespace baleen::ops
