/// \file Expressions in C++: names and operands of instructions, and whether an expression is whole.
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

/// "add", "gelu_tanh", …; the same words as in Lua. "?" for an unknown opcode.
constexpr const char* opcode_name(std::uint32_t opcode) {
  constexpr const char* kLeaves[] = {"input", "constant", "index", "uniform", "normal", "step"};
  constexpr const char* kUnary[] = {
      "neg",  "abs",       "sign", "floor",     "sqrt",      "rsqrt",          "exp",
      "log",  "sin",       "cos",  "tanh",      "erf",       "sigmoid",        "relu",
      "gelu", "gelu_tanh", "silu", "is_finite", "gelu_grad", "gelu_tanh_grad", "silu_grad"};
  constexpr const char* kBinary[] = {"add", "sub", "mul", "div", "max", "min", "pow", "lt", "le", "eq", "ne"};
  switch (operand_count(opcode)) {
    case 0: return kLeaves[opcode - BALEEN_X_INPUT];                                    // NOLINT(*UndefReturn)
    case 1: return opcode == BALEEN_X_ROUND ? "round" : kUnary[opcode - BALEEN_X_NEG];  // NOLINT(*UndefReturn)
    case 2: return kBinary[opcode - BALEEN_X_ADD];  // NOLINT(*UndefReturn): of these operands
    case 3: return "select";
    default: return "?";
  }
}

/// That a `pointwise` op's expression can be computed: known opcodes, operands that come before, inputs, dimensions and
/// results that are there, and no more instructions than anybody means. INVALID names the first that is not.
inline Status check_expression(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                               std::size_t inputs, std::size_t outputs, std::size_t rank) {
  constexpr std::size_t kMostInstructions = 4096;
  if (code.empty() || code.size() > kMostInstructions || results.size() != outputs)
    return invalid("an expression of " + std::to_string(code.size()) + " instructions and " +
                   std::to_string(results.size()) + " results for " + std::to_string(outputs) + " outputs");
  for (std::size_t n = 0; n < code.size(); ++n) {
    const baleen_instruction_t& i = code[n];
    const auto wrong = [&](const std::string& why) {
      return invalid("instruction " + std::to_string(n) + " (" + opcode_name(i.opcode) + "): " + why);
    };
    const int count = operand_count(i.opcode);
    if (count < 0) return wrong("unknown opcode " + std::to_string(i.opcode));
    for (int k = 0; k < count; ++k)
      if (operand(i, k) >= n)
        return wrong("operand " + std::to_string(k) + " is instruction " + std::to_string(operand(i, k)) +
                     ", which does not come before it");
    if (i.opcode == BALEEN_X_INPUT && i.a >= inputs)
      return wrong("reads input " + std::to_string(i.a) + " of " + std::to_string(inputs));
    if (i.opcode == BALEEN_X_INDEX && i.a >= rank)
      return wrong("dimension " + std::to_string(i.a) + "; there are at most " + std::to_string(rank));
    if (i.opcode == BALEEN_X_ROUND && !is_floating(static_cast<baleen_dtype_t>(i.b)))
      return wrong(std::to_string(i.b) + " is no floating dtype");
  }
  for (const std::int64_t result : results)
    if (result < 0 || static_cast<std::size_t>(result) >= code.size())
      return invalid("result " + std::to_string(result) + " is none of the " + std::to_string(code.size()) +
                     " instructions");
  return {};
}

}  // namespace baleen
