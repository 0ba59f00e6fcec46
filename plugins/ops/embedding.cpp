/// \file `embedding`: rows of a table by ids, and `embedding_grad`.
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// [N, V]: 1 where the column is the row's id. An id outside the table gives zeros here, not an error.
baleen_value_t one_hot(OpBuilder& build, baleen_value_t ids, std::int64_t count, std::int64_t rows,
                       baleen_dtype_t dtype) {
  Expression e;
  const auto hit = e.binary(BALEEN_X_EQ, e.input(0), e.index(1));
  return build.pointwise({build.reshape(ids, {count, 1})}, e, hit, Shape{count, rows}, dtype);
}

/// Elements of one row of a table.
std::int64_t row_elements(const Shape& table) { return elements(std::span(table).subspan(1)); }

class Embedding : public OpKind {
 public:
  Embedding() : OpKind("embedding", "rows of a table by ids", BALEEN_KIND_PURE | BALEEN_KIND_PRODUCT) {
    operand("table", "[rows, ..]");
    operand("ids", "any shape; an id outside the table is an error of the run", BALEEN_OPERAND_IDS);
    result("y", "the shape of ids, then that of a row; the dtype of the table");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType &table = input.type(0), &ids = input.type(1);
    BALEEN_TRY(check_least_rank("embedding", {"table", table}, 1));
    if (table.shape[0] == 0) return invalid("embedding: table " + shape_text(table.shape) + " has no rows");
    ValueType y{table.dtype, ids.shape, {}};
    for (std::size_t d = 0; d < ids.shape.size(); ++d) y.axes.push_back(axis(ids, d));
    for (std::size_t d = 1; d < table.shape.size(); ++d) {
      y.shape.push_back(table.shape[d]);
      y.axes.push_back(axis(table, d));
    }
    BALEEN_TRY(check_extents(
        "embedding: rows of table " + shape_text(table.shape) + " for ids " + shape_text(ids.shape), y.shape));
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const OpNode node = OpNode::of(graph, op);
    const std::int64_t rows = shape_of(graph, node.inputs[0])[0];
    return Values{
        graph.append("embedding_grad", {node.inputs[1], cotangents[0]}, AttributeList().integer("rows", rows)),
        BALEEN_NONE};
  }

  /// A cut of the rows (the last letter) makes y partial: an id outside a part gives zeros there.
  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::size_t ids = op.rank(1), y = op.result_rank(0);
    const std::string all = letters(y + 1);
    return {{all.back() + all.substr(ids, y - ids), all.substr(0, ids)}, {all.substr(0, y)}, {{0}}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost(0); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const Shape table = build.shape(node.inputs[0]);
    const std::int64_t count = elements(build.shape(node.inputs[1])), rows = table[0];
    const baleen_value_t hot = one_hot(build, node.inputs[1], count, rows, build.dtype(node.inputs[0]));
    const baleen_value_t flat = build.reshape(node.inputs[0], {rows, row_elements(table)});
    const baleen_value_t y = build.matmul("nv,vd->nd", hot, flat);
    return Values{build.reshape(y, build.shape(node.outputs[0]))};
  }
};
BALEEN_OP_KIND(Embedding);

class EmbeddingGrad : public OpKind {
 public:
  EmbeddingGrad()
      : OpKind("embedding_grad", "the sums of dy over the positions of each id, in ascending position",
               BALEEN_KIND_PURE | BALEEN_KIND_TYPED | BALEEN_KIND_DERIVED) {
    operand("ids", "of embedding", BALEEN_OPERAND_IDS);
    operand("dy", "the shape of ids, then that of a row");
    result("dtable", "[rows, ..]; the dtype of dy");
    attribute(BALEEN_RULE_INTEGER, "rows", "", "of the table");
    typed();
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType &ids = input.type(0), &dy = input.type(1);
    const std::int64_t rows = input.op().integer("rows");
    if (rows < 1) return invalid("embedding_grad: `rows` is " + std::to_string(rows) + "; it must be positive");
    const std::size_t leading = ids.shape.size();
    if (dy.shape.size() < leading ||
        Shape(dy.shape.begin(), dy.shape.begin() + static_cast<std::ptrdiff_t>(leading)) != ids.shape)
      return invalid("embedding_grad: dy " + shape_text(dy.shape) + " does not begin with the shape of ids " +
                     shape_text(ids.shape));
    BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype("embedding_grad", input.dtype(), dy.dtype));
    ValueType table{dtype, {rows}, {""}};
    for (std::size_t d = leading; d < dy.shape.size(); ++d) {
      table.shape.push_back(dy.shape[d]);
      table.axes.push_back(axis(dy, d));
    }
    BALEEN_TRY(check_extents("embedding_grad", table.shape));
    return Types{table};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::size_t ids = op.rank(0), dy = op.rank(1);
    const std::string all = letters(dy + 1);
    return {{all.substr(0, ids), all.substr(0, dy)}, {all.back() + all.substr(ids, dy - ids)}, {{1}}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    return op.cost(static_cast<double>(elements(op.shape(1))));
  }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const Shape table = build.shape(node.outputs[0]);
    const std::int64_t count = elements(build.shape(node.inputs[0])), rows = table[0];
    const baleen_value_t hot = one_hot(build, node.inputs[0], count, rows, build.dtype(node.inputs[1]));
    const baleen_value_t flat = build.reshape(node.inputs[1], {count, row_elements(table)});
    const baleen_value_t sums = build.matmul("nv,nd->vd", hot, flat, build.dtype(node.outputs[0]));
    return Values{build.reshape(sums, table)};
  }
};
BALEEN_OP_KIND(EmbeddingGrad);

}  // namespace
}  // namespace baleen::ops
