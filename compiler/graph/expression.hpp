/// \file What the compiler does with the program of a `pointwise` op: checking, differentiating, concatenating,
/// printing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/expression_builder.hpp"

namespace baleen {

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

/// "gelu_tanh(x0 + x1) * 0.5", for the printer: one text per result.
std::vector<std::string> to_string(const Expression& expression, const std::vector<std::int64_t>& results);

}  // namespace baleen
