/// \file The program of a `pointwise` op as a C++ value: building, evaluating, differentiating, concatenating.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/expression.hpp"

namespace baleen {

/// Straight-line SSA code; see baleen/expression.h for the opcodes and their meaning.
struct Expression {
  std::vector<baleen_instruction_t> code;

  /// Append an instruction (or find an equal one) and return its number. Constants are folded where that changes no
  /// bit.
  std::uint32_t input(std::uint32_t number);
  std::uint32_t constant(double value);
  std::uint32_t index(std::uint32_t dimension);
  std::uint32_t random(std::uint32_t opcode, std::uint64_t site);
  std::uint32_t step();
  std::uint32_t unary(std::uint32_t opcode, std::uint32_t a);
  std::uint32_t binary(std::uint32_t opcode, std::uint32_t a, std::uint32_t b);
  std::uint32_t select(std::uint32_t condition, std::uint32_t a, std::uint32_t b);
  std::uint32_t append(const baleen_instruction_t& instruction);

  /// One more than the highest input number used.
  std::uint32_t input_count() const;
  bool uses_random() const;
};

/// "add", "gelu_tanh", …; the same words as in Lua.
const char* opcode_name(std::uint32_t opcode);
/// The opcode of a word; 0 if there is none.
std::uint32_t opcode_of(const std::string& name);

/// Instruction numbers in range and earlier, opcodes known, results in range.
Status verify(const Expression& expression, const std::vector<std::int64_t>& results, std::uint32_t inputs);

/// d(result)/d(input), times the cotangent which is read as input number `cotangent`, for one result. Appends to `out`,
/// which reads the same inputs as `forward`. Returns the instruction's number, or -1 if the derivative is zero
/// everywhere.
std::int64_t differentiate(const Expression& forward, std::uint32_t result, std::uint32_t input,
                           std::uint32_t cotangent, Expression& out);

/// Appends `inner` to `out`, its input i being instruction inputs[i] of `out`. Returns where each of `inner`'s
/// instructions went.
std::vector<std::uint32_t> inline_into(Expression& out, const Expression& inner,
                                       const std::vector<std::uint32_t>& inputs);

/// Removes instructions that no result needs; renumbers `results`.
Expression prune(const Expression& expression, std::vector<std::int64_t>& results);

/// "gelu_tanh(x0 + x1) * 0.5", for the printer: one text per result.
std::vector<std::string> to_string(const Expression& expression, const std::vector<std::int64_t>& results);

}  // namespace baleen
