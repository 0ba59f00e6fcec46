/// \file Whole expressions: one without what no result needs, and one inside another.
#pragma once
#include <cstdint>
#include <vector>

#include "baleen/expression_builder.hpp"

namespace baleen {

/// Removes instructions that no result needs; renumbers `results`.
inline Expression prune(const Expression& expression, std::vector<std::int64_t>& results) {
  std::vector<char> needed(expression.code.size(), 0);
  for (std::int64_t result : results) needed[static_cast<std::size_t>(result)] = 1;
  for (std::size_t n = expression.code.size(); n-- > 0;) {
    if (!needed[n]) continue;
    const auto& i = expression.code[n];
    const std::uint32_t operand[] = {i.a, i.b, i.c};
    for (int k = 0; k < operand_count(i.opcode); ++k) needed[operand[k]] = 1;
  }
  Expression kept;
  std::vector<std::uint32_t> where(expression.code.size(), 0);
  for (std::size_t n = 0; n < expression.code.size(); ++n) {
    if (!needed[n]) continue;
    baleen_instruction_t moved = expression.code[n];
    const int operands = operand_count(moved.opcode);
    if (operands > 0) moved.a = where[moved.a];
    if (operands > 1) moved.b = where[moved.b];
    if (operands > 2) moved.c = where[moved.c];
    where[n] = static_cast<std::uint32_t>(kept.code.size());
    kept.code.push_back(moved);
  }
  for (std::int64_t& result : results) result = where[static_cast<std::size_t>(result)];
  return kept;
}

/// Appends `inner` to `out`, its input i being instruction inputs[i] of `out`. Returns where each of `inner`'s
/// instructions went.
inline std::vector<std::uint32_t> inline_into(Expression& out, const Expression& inner,
                                              const std::vector<std::uint32_t>& inputs) {
  std::vector<std::uint32_t> where;
  where.reserve(inner.code.size());
  for (const auto& instruction : inner.code) {
    if (instruction.opcode == BALEEN_X_INPUT) {
      where.push_back(inputs.at(instruction.a));
      continue;
    }
    baleen_instruction_t moved = instruction;
    const int operands = operand_count(instruction.opcode);
    if (operands > 0) moved.a = where[instruction.a];
    if (operands > 1) moved.b = where[instruction.b];
    if (operands > 2) moved.c = where[instruction.c];
    where.push_back(out.append(moved));
  }
  return where;
}

}  // namespace baleen
