/// \file `pointwise`: an expression per element, over inputs that are broadcast along dimensions of extent 1.
#include "pointwise.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "baleen/expression_text.hpp"
#include "baleen/op_kind.hpp"
#include "baleen/op_rules.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// "pointwise gelu(x0 + x1)", shortened.
std::string title(const InferInput& input) {
  const Op op = input.op();
  std::string text = expression_text(op.expression("expression"), op.integers("results")[0]);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return "pointwise " + text;
}

std::string operand_text(const InferInput& input, std::size_t i) {
  return "x" + std::to_string(i) + " " + shape_text(input.type(i).shape);
}

Error more_dimensions(const InferInput& input, const std::string& other, std::size_t rank, std::size_t i) {
  return invalid(title(input) + ": " + other + " has " + std::to_string(rank) + " dimensions and " +
                 operand_text(input, i) + " has " + std::to_string(input.type(i).shape.size()) +
                 "; reshape to equal ranks (extents of 1 are broadcast)");
}

/// The common shape of the inputs, or `shape` where it is given, to which all are broadcast.
Result<Shape> result_shape(const InferInput& input) {
  Shape shape;
  std::size_t first = input.count();  // the input that gave the rank
  const bool given = input.op().has("shape");
  if (given) {
    const auto extents = input.op().integers("shape");
    shape.assign(extents.begin(), extents.end());
  }
  for (std::size_t i = 0; i < input.count(); ++i) {
    const Shape& own = input.type(i).shape;
    if (own.empty()) continue;
    if (!given && first == input.count()) {
      shape = own;
      first = i;
    }
    const auto other = [&] { return given ? "`shape` " + shape_text(shape) : operand_text(input, first); };
    if (own.size() != shape.size()) return more_dimensions(input, other(), shape.size(), i);
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (own[d] == shape[d] || own[d] == 1) continue;
      if (shape[d] != 1 || given)
        return invalid(title(input) + ": dimension " + std::to_string(d) + " is " + std::to_string(own[d]) + " in " +
                       operand_text(input, i) + " and " + std::to_string(shape[d]) +
                       (given ? " in " + other() : " before it, in " + shape_text(shape)) +
                       "; extents must be equal or 1");
      shape[d] = own[d];
    }
  }
  if (!check_extents({}, shape)) return check_extents(title(input), shape).error();  // a title is much to write
  return shape;
}

Result<std::vector<baleen_dtype_t>> result_dtypes(const InferInput& input) {
  const std::size_t count = input.op().integers("results").size();
  if (input.op().has("dtype")) {
    const auto list = input.op().integers("dtype");
    if (list.size() != 1 && list.size() != count)
      return invalid(title(input) + ": `dtype` lists " + std::to_string(list.size()) + " dtypes for " +
                     std::to_string(count) + " results");
    std::vector<baleen_dtype_t> dtypes;
    for (std::size_t i = 0; i < count; ++i)
      dtypes.push_back(static_cast<baleen_dtype_t>(list[list.size() == 1 ? 0 : i]));
    return dtypes;
  }
  const auto dtype = widest(input.types());
  if (!dtype) return invalid(title(input) + ": without floating inputs the attribute `dtype` must say the result's");
  return std::vector<baleen_dtype_t>(count, *dtype);
}

Status check_program(const InferInput& input) {
  const auto results = input.op().integers("results");
  if (results.empty()) return invalid("pointwise: `results` is empty");
  const Status whole =
      check_expression(input.op().expression("expression"), results, input.count(), results.size(), BALEEN_MAX_RANK);
  return whole ? Status() : invalid("pointwise: " + whole.error().message);
}

/// Elements are computed with in floating point, which has no room for 64 bits.
Status refuse_wide_ids(const InferInput& input) {
  for (std::size_t i = 0; i < input.count(); ++i)
    if (input.type(i).dtype == BALEEN_I64)
      return invalid(title(input) + ": x" + std::to_string(i) + " is " + type_text(input.type(i)) +
                     ", whose 64 bits no float holds" + remedy_of(BALEEN_I64));
  return {};
}

Status check_indices(const InferInput& input, const Shape& shape) {
  for (const baleen_instruction_t& i : input.op().expression("expression"))
    if (i.opcode == BALEEN_X_INDEX && i.a >= shape.size())
      return invalid(title(input) + ": index(" + std::to_string(i.a) + ") of a result of shape " + shape_text(shape));
  return {};
}

class Pointwise : public OpKind {
 public:
  Pointwise()
      : OpKind("pointwise", "an expression per element", BALEEN_KIND_PURE | BALEEN_KIND_TYPED | BALEEN_KIND_DERIVED) {
    operand("x", "the rank of y with extents equal or 1, or rank 0; not int64", BALEEN_OPERAND_MANY);
    result("y", "the common shape of the operands, or `shape`", BALEEN_OPERAND_MANY);
    attribute(BALEEN_RULE_EXPRESSION, "expression", "", "a program (expression.h)");
    attribute(BALEEN_RULE_INTEGERS, "results", "", "the instruction that gives each result");
    optional_attribute(BALEEN_RULE_INTEGERS, "shape", "of the results, where it is not the operands' common one");
    optional_attribute(BALEEN_RULE_DTYPES, "dtype", "one, or one per result; else the widest floating operand's");
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check_program(input));
    BALEEN_TRY(refuse_wide_ids(input));
    if (input.count() == 0 && !input.op().has("shape"))
      return invalid(title(input) + ": without inputs the attribute `shape` must say the result's");
    BALEEN_TRY_ASSIGN(const Shape shape, result_shape(input));
    BALEEN_TRY(check_indices(input, shape));
    BALEEN_TRY_ASSIGN(const auto dtypes, result_dtypes(input));
    ValueType type{BALEEN_F32, shape, std::vector<std::string>(shape.size())};
    for (std::size_t d = 0; d < shape.size(); ++d)
      for (const ValueType& x : input.types())
        if (type.axes[d].empty() && x.shape.size() == shape.size() && x.shape[d] == shape[d]) type.axes[d] = axis(x, d);
    Types results;
    for (const baleen_dtype_t dtype : dtypes) results.push_back(same_but(type, dtype));
    return results;
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    return pointwise_gradient(graph, op, cotangents, wanted);
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const Shape shape = shape_of(graph, op.result(0));
    const std::string all = letters(shape.size());
    Iteration result;
    result.outputs.assign(op.results(), all);
    std::vector<std::uint32_t> floats;
    for (std::uint32_t i = 0; i < op.operands(); ++i) {
      const baleen_value_info_t input = graph.value(op.operand(i));
      std::string& own = result.inputs.emplace_back(all, 0, input.rank);
      for (std::size_t d = 0; d < own.size(); ++d)
        if (input.shape[d] != shape[d]) own[d] = '.';
      if (is_floating(input.dtype)) floats.push_back(i);
    }
    // Terms of a sum are not the sum once they are cut off at the largest number of 8 bits.
    for (std::uint32_t i = 0; i < op.results(); ++i)
      if (is_fp8(graph.value(op.result(i)).dtype)) return result;
    result.linear = linear_sets(op.op().expression("expression"), op.op().integers("results"), floats);
    return result;
  }

  Cost cost(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const auto code = op.op().expression("expression");
    const auto work =
        std::count_if(code.begin(), code.end(), [](const auto& i) { return operand_count(i.opcode) > 0; });
    return op.cost(static_cast<double>(work) * static_cast<double>(elements(shape_of(graph, op.result(0)))));
  }
};
BALEEN_OP_KIND(Pointwise);

}  // namespace
}  // namespace baleen::ops
