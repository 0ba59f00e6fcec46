/// \file Arithmetic on values of a graph: each operator and function appends one `pointwise` or `reduce` op.
/// The core merges equal ops and fuses neighbours, so write formulas as they stand in the paper.
#pragma once
#include <array>
#include <initializer_list>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "baleen/graph.h"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// A value of a graph: a handle, valid during the plugin's call. Two values meet in one op when they are of one graph
/// and their shapes broadcast (one is a scalar, or equal rank with extents equal or 1).
class Value {
 public:
  Value() = default;
  Value(const baleen_graph_t* graph, baleen_value_t id) : graph_(graph), id_(id) {}

  const baleen_graph_t* graph() const { return graph_; }
  baleen_value_t id() const { return id_; }
  explicit operator bool() const { return graph_ != nullptr && id_ != BALEEN_NONE; }

  /// Shape, dtype, role and users. Throws Failed where the value does not exist.
  baleen_value_info_t info() const {
    if (!*this) throw std::invalid_argument("an empty Value is used: it is no value of a graph");
    baleen_value_info_t info{};
    info.size = sizeof(info);
    if (const auto status = graph_->read_value(graph_->self, id_, &info)) throw Failed(status);
    return info;
  }

 private:
  const baleen_graph_t* graph_ = nullptr;
  baleen_value_t id_ = BALEEN_NONE;
};

/// What an operator takes: a value, or a number that becomes a constant inside the expression. An empty value throws.
class Operand {
 public:
  Operand(Value value) : value_(value) {
    if (!value) throw std::invalid_argument("an operand is an empty Value: it is no value of a graph");
  }
  Operand(double constant) : constant_(constant) {}

  bool is_constant() const { return !value_; }
  Value value() const { return value_; }
  double constant() const { return constant_; }

 private:
  Value value_;
  double constant_ = 0;
};

/// Appends one op of a single result. Throws Failed where the graph refuses it (its text is with the host).
inline Value append(const baleen_graph_t* graph, std::string_view kind, std::span<const baleen_value_t> inputs,
                    std::span<const baleen_attribute_t> attributes, std::string_view name = {}) {
  baleen_op_view_t op{};
  op.size = sizeof(op);
  op.kind = abi(kind);
  op.name = abi(name);
  op.inputs = inputs.data();
  op.input_count = inputs.size();
  op.attributes = attributes.data();
  op.attribute_count = attributes.size();
  baleen_value_t result = BALEEN_NONE;
  if (const auto status = graph->append(graph->self, &op, &result, 1)) throw Failed(status);
  return {graph, result};
}

/// Appends `opcode` (expression.h) applied to one to three operands, at least one of them a value.
inline Value pointwise(std::uint32_t opcode, std::initializer_list<Operand> operands) {
  std::array<baleen_instruction_t, 4> code{};
  std::array<baleen_value_t, 3> inputs{};
  std::array<std::uint32_t, 3> arguments{};
  std::uint32_t length = 0, input_count = 0;
  const baleen_graph_t* graph = nullptr;
  for (const Operand& operand : operands) {
    if (operand.is_constant()) {
      code[length] = {BALEEN_X_CONSTANT, 0, 0, 0, operand.constant()};
    } else {
      graph = operand.value().graph();
      std::uint32_t number = 0;  // x * x reads x once
      while (number < input_count && inputs[number] != operand.value().id()) ++number;
      if (number == input_count) inputs[input_count++] = operand.value().id();
      code[length] = {BALEEN_X_INPUT, number, 0, 0, 0};
    }
    arguments[length] = length;
    ++length;
  }
  if (!graph) throw std::invalid_argument("pointwise needs at least one value of a graph");
  code[length] = {opcode, arguments[0], arguments[1], arguments[2], 0};
  const std::int64_t result = length;
  const baleen_attribute_t attributes[] = {{abi("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, length + 1, code.data()},
                                           {abi("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &result}};
  return append(graph, "pointwise", {inputs.data(), input_count}, attributes);
}

/// The same numbers in another dtype, named after the value.
inline Value cast(Value x, baleen_dtype_t dtype) {
  const baleen_instruction_t read{BALEEN_X_INPUT, 0, 0, 0, 0};
  const std::int64_t result = 0, type = dtype;
  const baleen_attribute_t attributes[] = {{abi("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, 1, &read},
                                           {abi("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &result},
                                           {abi("dtype"), BALEEN_ATTRIBUTE_INTS, 0, 1, &type}};
  const baleen_value_t input = x.id();
  const std::string name(view(x.info().name));
  return append(x.graph(), "pointwise", {&input, 1}, attributes, name);
}

inline Value operator-(Value x) { return pointwise(BALEEN_X_NEG, {x}); }
inline Value operator+(Operand a, Operand b) { return pointwise(BALEEN_X_ADD, {a, b}); }
inline Value operator-(Operand a, Operand b) { return pointwise(BALEEN_X_SUB, {a, b}); }
inline Value operator*(Operand a, Operand b) { return pointwise(BALEEN_X_MUL, {a, b}); }
inline Value operator/(Operand a, Operand b) { return pointwise(BALEEN_X_DIV, {a, b}); }

inline Value abs(Value x) { return pointwise(BALEEN_X_ABS, {x}); }
inline Value sign(Value x) { return pointwise(BALEEN_X_SIGN, {x}); }
inline Value floor(Value x) { return pointwise(BALEEN_X_FLOOR, {x}); }
inline Value sqrt(Value x) { return pointwise(BALEEN_X_SQRT, {x}); }
inline Value rsqrt(Value x) { return pointwise(BALEEN_X_RSQRT, {x}); }
inline Value exp(Value x) { return pointwise(BALEEN_X_EXP, {x}); }
inline Value log(Value x) { return pointwise(BALEEN_X_LOG, {x}); }
inline Value tanh(Value x) { return pointwise(BALEEN_X_TANH, {x}); }
inline Value is_finite(Value x) { return pointwise(BALEEN_X_IS_FINITE, {x}); }

inline Value max(Operand a, Operand b) { return pointwise(BALEEN_X_MAX, {a, b}); }
inline Value min(Operand a, Operand b) { return pointwise(BALEEN_X_MIN, {a, b}); }
inline Value pow(Operand base, Operand exponent) { return pointwise(BALEEN_X_POW, {base, exponent}); }

/// Comparisons give 1 or 0. They are functions, because `==` on handles would mislead.
inline Value less(Operand a, Operand b) { return pointwise(BALEEN_X_LT, {a, b}); }
inline Value less_equal(Operand a, Operand b) { return pointwise(BALEEN_X_LE, {a, b}); }
inline Value equal(Operand a, Operand b) { return pointwise(BALEEN_X_EQ, {a, b}); }
inline Value not_equal(Operand a, Operand b) { return pointwise(BALEEN_X_NE, {a, b}); }

/// `then` where `condition` is not 0, `otherwise` elsewhere.
inline Value select(Operand condition, Operand then, Operand otherwise) {
  return pointwise(BALEEN_X_SELECT, {condition, then, otherwise});
}

/// The sum over `dims`; `keep` leaves each of them with extent 1, so that the result meets `x` in formulas.
inline Value sum(Value x, std::span<const std::int64_t> dims, bool keep = false) {
  const std::int64_t keeps = keep ? 1 : 0;
  const std::string_view kind = "sum";
  const baleen_attribute_t attributes[] = {{abi("kind"), BALEEN_ATTRIBUTE_STRING, 0, kind.size(), kind.data()},
                                           {abi("dims"), BALEEN_ATTRIBUTE_INTS, 0, dims.size(), dims.data()},
                                           {abi("keep"), BALEEN_ATTRIBUTE_INTS, 0, 1, &keeps}};
  const baleen_value_t input = x.id();
  return append(x.graph(), "reduce", {&input, 1}, attributes);
}

/// The sum of all elements, a scalar.
inline Value sum(Value x) {
  const std::uint32_t rank = x.info().rank;
  if (rank == 0) return x;
  std::array<std::int64_t, BALEEN_MAX_RANK> dims{};
  std::iota(dims.begin(), dims.end(), 0);
  return sum(x, std::span<const std::int64_t>(dims.data(), rank));
}

/// A contraction by letters, one per dimension, as in "ij,jk->ik" (docs: layer_ops.md, matmul).
inline Value matmul(std::string_view letters, Value a, Value b) {
  const baleen_attribute_t attributes[] = {{abi("spec"), BALEEN_ATTRIBUTE_STRING, 0, letters.size(), letters.data()}};
  const baleen_value_t inputs[] = {a.id(), b.id()};
  return append(a.graph(), "matmul", inputs, attributes);
}

/// The same numbers, whole on every rank. In an update: what is computed from it alone is whole too, so a chain of
/// products gathers its operand once.
inline Value whole(Value x) {
  const Value same = cast(x, x.info().dtype);
  if (const auto status = x.graph()->set_tag(x.graph()->self, same.info().producer, abi("whole"), abi("")))
    throw Failed(status);
  return same;
}

/// The Euclidean norm over all elements, a scalar.
inline Value norm(Value x) { return sqrt(sum(x * x)); }

}  // namespace baleen::sdk
