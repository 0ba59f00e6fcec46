/// \file Appending several ops in a row, for gradients and expansions of op kinds.
#pragma once
#include <utility>

#include "baleen/expression_builder.hpp"
#include "baleen/expression_edit.hpp"
#include "baleen/op_reader.hpp"
#include "baleen/op_rules.hpp"

namespace baleen::sdk {

/// Methods throw Failed where the graph refuses. Borrowed: the view outlives it.
class OpBuilder {
 public:
  explicit OpBuilder(GraphView& graph) : graph_(graph) {}

  baleen_value_t one(std::string_view kind, const Values& inputs, const AttributeList& attributes = {}) {
    return graph_.append(kind, inputs, attributes);
  }
  /// `count` results.
  Values many(std::string_view kind, const Values& inputs, const AttributeList& attributes, std::size_t count) {
    return graph_.append(kind, inputs, attributes, count);
  }

  /// `result` of `expression`; a `shape` makes the result larger than the inputs' common shape. It is of the widest
  /// input's dtype, or of `dtype`.
  baleen_value_t pointwise(const Values& inputs, const Expression& expression, std::uint32_t result,
                           const std::optional<Shape>& shape = {}, std::optional<baleen_dtype_t> dtype = {}) {
    std::vector<std::int64_t> results{result};
    AttributeList attributes;
    attributes.expression("expression", prune(expression, results).code).integers("results", results);
    if (shape) attributes.integers("shape", *shape);
    choose(inputs, dtype, attributes);
    return one("pointwise", inputs, attributes);
  }
  baleen_value_t binary(std::uint32_t opcode, baleen_value_t a, baleen_value_t b,
                        std::optional<baleen_dtype_t> dtype = {}) {
    Expression e;
    const auto x = e.input(0);
    const auto result = e.binary(opcode, x, a == b ? x : e.input(1));
    return pointwise(a == b ? Values{a} : Values{a, b}, e, result, {}, dtype);
  }
  /// x itself if it has the dtype.
  baleen_value_t cast(baleen_value_t x, baleen_dtype_t to) {
    if (dtype(x) == to) return x;
    Expression e;
    const auto same = e.input(0);
    return pointwise({x}, e, same, {}, to);
  }
  /// The result is of the widest operand's dtype, or of `dtype`.
  baleen_value_t matmul(const std::string& spec, baleen_value_t a, baleen_value_t b,
                        std::optional<baleen_dtype_t> dtype = {}) {
    AttributeList attributes;
    attributes.text("spec", spec);
    choose({a, b}, dtype, attributes);
    return one("matmul", {a, b}, attributes);
  }
  /// `kind`: "sum" or "max".
  baleen_value_t reduce(std::string_view kind, baleen_value_t x, const std::vector<std::int64_t>& dims, bool keep,
                        std::optional<baleen_dtype_t> dtype = {}) {
    if (dims.empty()) return dtype ? cast(x, *dtype) : x;
    AttributeList attributes;
    attributes.text("kind", kind).integers("dims", dims).integer("keep", keep);
    choose({x}, dtype, attributes);
    return one("reduce", {x}, attributes);
  }
  /// Over the last dimension, which stays with extent 1.
  baleen_value_t reduce_last(std::string_view kind, baleen_value_t x, std::optional<baleen_dtype_t> dtype = {}) {
    return reduce(kind, x, {static_cast<std::int64_t>(rank_of(graph_, x)) - 1}, true, dtype);
  }
  /// x itself if it has the shape.
  baleen_value_t reshape(baleen_value_t x, const Shape& to) {
    if (shape(x) == to) return x;
    return one("reshape", {x}, AttributeList().integers("shape", to));
  }
  /// x with `count` dimensions of extent 1 put before / behind its own.
  baleen_value_t lead(baleen_value_t x, std::size_t count) {
    Shape to = shape(x);
    to.insert(to.begin(), count, 1);
    return reshape(x, to);
  }
  baleen_value_t trail(baleen_value_t x, std::size_t count = 1) {
    Shape to = shape(x);
    to.insert(to.end(), count, 1);
    return reshape(x, to);
  }

  Shape shape(baleen_value_t x) const { return shape_of(graph_, x); }
  baleen_dtype_t dtype(baleen_value_t x) const { return dtype_of(graph_, x); }

 private:
  /// Sets the attribute where the result would be of another dtype without it.
  void choose(const Values& inputs, std::optional<baleen_dtype_t> dtype, AttributeList& attributes) const {
    if (!dtype) return;
    std::vector<baleen_dtype_t> dtypes;
    for (const baleen_value_t input : inputs) dtypes.push_back(dtype_of(graph_, input));
    if (widest(dtypes) != *dtype) attributes.integer("dtype", *dtype);
  }

  GraphView& graph_;
};

}  // namespace baleen::sdk
