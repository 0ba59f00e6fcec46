/// \file The program of a `pointwise` op as a C++ value that is built instruction by instruction.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "baleen/expression.hpp"

namespace baleen {

/// Straight-line SSA code; see baleen/expression.h for the opcodes and their meaning.
struct Expression {
  std::vector<baleen_instruction_t> code;

  /// Append an instruction (or find an equal one) and return its number. Constants are folded where that changes no
  /// bit.
  std::uint32_t append(const baleen_instruction_t& instruction);
  std::uint32_t input(std::uint32_t number) { return append({BALEEN_X_INPUT, number, 0, 0, 0}); }
  std::uint32_t constant(double value) { return append({BALEEN_X_CONSTANT, 0, 0, 0, value}); }
  std::uint32_t index(std::uint32_t dimension) { return append({BALEEN_X_INDEX, dimension, 0, 0, 0}); }
  std::uint32_t random(std::uint32_t opcode, std::uint64_t site) {
    return append({opcode, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(site >> 32), 0, 0});
  }
  std::uint32_t step() { return append({BALEEN_X_STEP, 0, 0, 0, 0}); }
  std::uint32_t unary(std::uint32_t opcode, std::uint32_t a) { return append({opcode, a, 0, 0, 0}); }
  std::uint32_t binary(std::uint32_t opcode, std::uint32_t a, std::uint32_t b) { return append({opcode, a, b, 0, 0}); }
  std::uint32_t select(std::uint32_t condition, std::uint32_t a, std::uint32_t b) {
    return append({BALEEN_X_SELECT, condition, a, b, 0});
  }

  /// One more than the highest input number used.
  std::uint32_t input_count() const {
    std::uint32_t count = 0;
    for (const auto& i : code)
      if (i.opcode == BALEEN_X_INPUT) count = std::max(count, i.a + 1);
    return count;
  }
  bool uses_random() const {
    return std::any_of(code.begin(), code.end(),
                       [](const auto& i) { return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL; });
  }
};

namespace folding {

/// Clears the fields that the opcode does not read, so that equal instructions have equal bytes.
inline baleen_instruction_t canonical(baleen_instruction_t i) {
  const int operands = operand_count(i.opcode);
  const bool random = i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL;
  const bool numbered = i.opcode == BALEEN_X_INPUT || i.opcode == BALEEN_X_INDEX;
  if (operands < 1 && !random && !numbered) i.a = 0;
  if (operands < 2 && !random && i.opcode != BALEEN_X_ROUND) i.b = 0;
  if (operands < 3) i.c = 0;
  if (i.opcode != BALEEN_X_CONSTANT) i.constant = 0;
  return i;
}

inline bool equal(const baleen_instruction_t& x, const baleen_instruction_t& y) {
  return x.opcode == y.opcode && x.a == y.a && x.b == y.b && x.c == y.c &&
         std::bit_cast<std::uint64_t>(x.constant) == std::bit_cast<std::uint64_t>(y.constant);
}

/// Is `x` the same number whether the expression is computed in fp32 or in fp64?
inline bool exact(double x) { return std::isfinite(x) && static_cast<double>(static_cast<float>(x)) == x; }

inline std::optional<double> constant_of(const Expression& e, std::uint32_t i) {
  if (e.code[i].opcode != BALEEN_X_CONSTANT) return std::nullopt;
  return e.code[i].constant;
}

inline std::optional<double> fold_unary(std::uint32_t opcode, double a) {
  switch (opcode) {
    case BALEEN_X_NEG: return -a;  // exact in any precision, whatever a is
    case BALEEN_X_ABS: return std::fabs(a);
    default: break;
  }
  if (!exact(a)) return std::nullopt;
  switch (opcode) {
    case BALEEN_X_SIGN:
      return a != 0 ? std::optional(a > 0 ? 1.0 : -1.0) : std::nullopt;  // of -0 there are two opinions
    case BALEEN_X_FLOOR: return std::floor(a);
    case BALEEN_X_SQRT: return a >= 0 ? std::optional(std::sqrt(a)) : std::nullopt;
    case BALEEN_X_RELU: return a != 0 ? std::optional(a > 0 ? a : 0.0) : std::nullopt;
    case BALEEN_X_IS_FINITE: return 1.0;
    default: return std::nullopt;
  }
}

/// The value of a correctly rounded operation on two constants. An fp64 result that fp32 can hold is the fp32 result
/// too.
inline std::optional<double> fold_binary(std::uint32_t opcode, double a, double b) {
  if (!exact(a) || !exact(b)) return std::nullopt;
  switch (opcode) {
    case BALEEN_X_ADD: return a + b;
    case BALEEN_X_SUB: return a - b;
    case BALEEN_X_MUL: return a * b;
    case BALEEN_X_DIV: return b != 0 ? std::optional(a / b) : std::nullopt;
    case BALEEN_X_MAX: return a != b ? std::optional(std::max(a, b)) : std::nullopt;  // max(0, -0) has no one answer
    case BALEEN_X_MIN: return a != b ? std::optional(std::min(a, b)) : std::nullopt;
    case BALEEN_X_LT: return a < b;
    case BALEEN_X_LE: return a <= b;
    case BALEEN_X_EQ: return a == b;
    case BALEEN_X_NE: return a != b;
    default: return std::nullopt;
  }
}

/// The instruction that `i` is certain to equal bit for bit, if there is one: x * 1, x / 1, x - 0, x + (-0), -(-x),
/// pow(x, 1), a number rounded twice, a select on a constant.
inline std::optional<std::uint32_t> same_as(const Expression& e, const baleen_instruction_t& i) {
  auto is = [&](std::uint32_t operand, double value) {
    const auto c = constant_of(e, operand);
    return c && std::bit_cast<std::uint64_t>(*c) == std::bit_cast<std::uint64_t>(value);
  };
  switch (i.opcode) {
    case BALEEN_X_MUL:
      if (is(i.b, 1)) return i.a;
      if (is(i.a, 1)) return i.b;
      break;
    case BALEEN_X_ADD:
      if (is(i.b, -0.0)) return i.a;
      if (is(i.a, -0.0)) return i.b;
      break;
    case BALEEN_X_DIV:
    case BALEEN_X_POW:
      if (is(i.b, 1)) return i.a;
      break;
    case BALEEN_X_SUB:
      if (is(i.b, 0)) return i.a;
      break;
    case BALEEN_X_NEG:
      if (e.code[i.a].opcode == BALEEN_X_NEG) return e.code[i.a].a;
      break;
    case BALEEN_X_ROUND:
      if (e.code[i.a].opcode == BALEEN_X_ROUND && e.code[i.a].b == i.b) return i.a;
      break;
    case BALEEN_X_SELECT:
      if (const auto c = constant_of(e, i.a); c && exact(*c)) return *c != 0 ? i.b : i.c;
      if (i.b == i.c) return i.b;
      break;
    default: break;
  }
  return std::nullopt;
}

inline std::optional<double> fold(const Expression& e, const baleen_instruction_t& i) {
  std::optional<double> value;
  if (operand_count(i.opcode) == 1 && i.opcode != BALEEN_X_ROUND) {
    if (const auto a = constant_of(e, i.a)) value = fold_unary(i.opcode, *a);
    if (i.opcode == BALEEN_X_NEG || i.opcode == BALEEN_X_ABS) return value;
  } else if (operand_count(i.opcode) == 2) {
    const auto a = constant_of(e, i.a), b = constant_of(e, i.b);
    if (a && b) value = fold_binary(i.opcode, *a, *b);
  }
  return value && exact(*value) ? value : std::nullopt;
}

}  // namespace folding

inline std::uint32_t Expression::append(const baleen_instruction_t& raw) {
  const baleen_instruction_t instruction = folding::canonical(raw);
  if (const auto same = folding::same_as(*this, instruction)) return *same;
  if (const auto value = folding::fold(*this, instruction)) return constant(*value);
  auto it =
      std::find_if(code.begin(), code.end(), [&](const auto& other) { return folding::equal(other, instruction); });
  if (it != code.end()) return static_cast<std::uint32_t>(it - code.begin());
  code.push_back(instruction);
  return static_cast<std::uint32_t>(code.size() - 1);
}

}  // namespace baleen
