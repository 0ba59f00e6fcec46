/// \file Names of opcodes; checking and joining expressions.
#include "compiler/graph/expression.hpp"

#include <algorithm>
#include <array>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

struct Opcode {
  std::uint32_t opcode;
  const char* name;
};

constexpr std::array kOpcodes = {
    Opcode{BALEEN_X_INPUT, "input"},
    Opcode{BALEEN_X_CONSTANT, "constant"},
    Opcode{BALEEN_X_INDEX, "index"},
    Opcode{BALEEN_X_UNIFORM, "uniform"},
    Opcode{BALEEN_X_NORMAL, "normal"},
    Opcode{BALEEN_X_STEP, "step"},
    Opcode{BALEEN_X_NEG, "neg"},
    Opcode{BALEEN_X_ABS, "abs"},
    Opcode{BALEEN_X_SIGN, "sign"},
    Opcode{BALEEN_X_FLOOR, "floor"},
    Opcode{BALEEN_X_SQRT, "sqrt"},
    Opcode{BALEEN_X_RSQRT, "rsqrt"},
    Opcode{BALEEN_X_EXP, "exp"},
    Opcode{BALEEN_X_LOG, "log"},
    Opcode{BALEEN_X_SIN, "sin"},
    Opcode{BALEEN_X_COS, "cos"},
    Opcode{BALEEN_X_TANH, "tanh"},
    Opcode{BALEEN_X_ERF, "erf"},
    Opcode{BALEEN_X_SIGMOID, "sigmoid"},
    Opcode{BALEEN_X_RELU, "relu"},
    Opcode{BALEEN_X_GELU, "gelu"},
    Opcode{BALEEN_X_GELU_TANH, "gelu_tanh"},
    Opcode{BALEEN_X_SILU, "silu"},
    Opcode{BALEEN_X_IS_FINITE, "is_finite"},
    Opcode{BALEEN_X_GELU_GRAD, "gelu_grad"},
    Opcode{BALEEN_X_GELU_TANH_GRAD, "gelu_tanh_grad"},
    Opcode{BALEEN_X_SILU_GRAD, "silu_grad"},
    Opcode{BALEEN_X_ADD, "add"},
    Opcode{BALEEN_X_SUB, "sub"},
    Opcode{BALEEN_X_MUL, "mul"},
    Opcode{BALEEN_X_DIV, "div"},
    Opcode{BALEEN_X_MAX, "max"},
    Opcode{BALEEN_X_MIN, "min"},
    Opcode{BALEEN_X_POW, "pow"},
    Opcode{BALEEN_X_LT, "lt"},
    Opcode{BALEEN_X_LE, "le"},
    Opcode{BALEEN_X_EQ, "eq"},
    Opcode{BALEEN_X_NE, "ne"},
    Opcode{BALEEN_X_SELECT, "select"},
    Opcode{BALEEN_X_ROUND, "round"},
};

const Opcode* find_opcode(std::uint32_t opcode) {
  auto it = std::find_if(kOpcodes.begin(), kOpcodes.end(), [&](const Opcode& o) { return o.opcode == opcode; });
  return it == kOpcodes.end() ? nullptr : &*it;
}

}  // namespace

const char* opcode_name(std::uint32_t opcode) {
  const Opcode* found = find_opcode(opcode);
  return found ? found->name : "?";
}

std::uint32_t opcode_of(const std::string& name) {
  auto it = std::find_if(kOpcodes.begin(), kOpcodes.end(), [&](const Opcode& o) { return name == o.name; });
  return it == kOpcodes.end() ? 0 : it->opcode;
}

Status verify(const Expression& expression, const std::vector<std::int64_t>& results, std::uint32_t inputs) {
  for (std::size_t n = 0; n < expression.code.size(); ++n) {
    const auto& i = expression.code[n];
    const auto wrong = [&](const std::string& why) {
      return invalid("instruction " + std::to_string(n) + " (" + opcode_name(i.opcode) + "): " + why);
    };
    const int operands = operand_count(i.opcode);
    if (operands < 0) return wrong("unknown opcode " + std::to_string(i.opcode));
    const std::uint32_t operand[] = {i.a, i.b, i.c};
    for (int k = 0; k < operands; ++k)
      if (operand[k] >= n)
        return wrong("operand " + std::to_string(k) + " is instruction " + std::to_string(operand[k]) +
                     ", which does not come before it");
    if (i.opcode == BALEEN_X_INPUT && i.a >= inputs)
      return wrong("reads input " + std::to_string(i.a) + " of " + std::to_string(inputs));
    if (i.opcode == BALEEN_X_INDEX && i.a >= BALEEN_MAX_RANK)
      return wrong("dimension " + std::to_string(i.a) + "; a tensor has at most " + std::to_string(BALEEN_MAX_RANK));
    if (i.opcode == BALEEN_X_ROUND && !is_floating(static_cast<baleen_dtype_t>(i.b)))
      return wrong(std::to_string(i.b) + " is no floating dtype");
  }
  for (std::int64_t result : results)
    if (result < 0 || result >= static_cast<std::int64_t>(expression.code.size()))
      return invalid("result " + std::to_string(result) + " is none of the " + std::to_string(expression.code.size()) +
                     " instructions");
  return {};
}

std::vector<std::uint32_t> inline_into(Expression& out, const Expression& inner,
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
