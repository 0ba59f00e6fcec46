/// \file Expressions in C++: how many operands an instruction has, and whether one that comes across the ABI is whole.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "baleen/dtype.hpp"
#include "baleen/expression.h"
#include "baleen/result.hpp"

namespace baleen {

/// How many of an opcode's a, b, c are instruction numbers (0..3); -1 for an unknown opcode.
constexpr int operand_count(std::uint32_t opcode) {
  if (opcode >= BALEEN_X_INPUT && opcode <= BALEEN_X_STEP) return 0;
  if (opcode >= BALEEN_X_NEG && opcode <= BALEEN_X_SILU_GRAD) return 1;
  if (opcode >= BALEEN_X_ADD && opcode <= BALEEN_X_NE) return 2;
  if (opcode == BALEEN_X_SELECT) return 3;
  return opcode == BALEEN_X_ROUND ? 1 : -1;
}

/// Operand 0, 1 or 2: a, b or c.
constexpr std::uint32_t operand(const baleen_instruction_t& i, int number) {
  return number == 0 ? i.a : number == 1 ? i.b : i.c;
}

/// That a `pointwise` op's expression can be computed: known opcodes, operands that come before, inputs, dimensions and
/// results that are there, and no more instructions than anybody means. INVALID names the first that is not.
inline Status check_expression(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                               std::size_t inputs, std::size_t outputs, std::size_t rank) {
  constexpr std::size_t kMostInstructions = 4096;
  if (code.empty() || code.size() > kMostInstructions || results.size() != outputs)
    return invalid("an expression of " + std::to_string(code.size()) + " instructions and " +
                   std::to_string(results.size()) + " results for " + std::to_string(outputs) + " outputs");
  for (std::size_t i = 0; i < code.size(); ++i) {
    const int count = operand_count(code[i].opcode);
    bool good = count >= 0;
    for (int k = 0; good && k < count; ++k) good = operand(code[i], k) < i;
    if (code[i].opcode == BALEEN_X_INPUT) good = code[i].a < inputs;
    if (code[i].opcode == BALEEN_X_INDEX) good = code[i].a < rank;
    if (code[i].opcode == BALEEN_X_ROUND) good = good && dtype_size(static_cast<baleen_dtype_t>(code[i].b)) > 0;
    if (!good)
      return invalid("instruction " + std::to_string(i) + " (opcode " + std::to_string(code[i].opcode) +
                     ") of the expression is malformed");
  }
  for (const std::int64_t result : results)
    if (result < 0 || static_cast<std::size_t>(result) >= code.size())
      return invalid("the expression has no instruction " + std::to_string(result) + " to be a result");
  return {};
}

}  // namespace baleen
