/// \file Building, checking and transforming expressions.
#include "compiler/graph/expression.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

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

/// Clears the fields that the opcode does not read, so that equal instructions have equal bytes.
baleen_instruction_t canonical(baleen_instruction_t i) {
  const int operands = operand_count(i.opcode);
  const bool random = i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL;
  const bool numbered = i.opcode == BALEEN_X_INPUT || i.opcode == BALEEN_X_INDEX;
  if (operands < 1 && !random && !numbered) i.a = 0;
  if (operands < 2 && !random && i.opcode != BALEEN_X_ROUND) i.b = 0;
  if (operands < 3) i.c = 0;
  if (i.opcode != BALEEN_X_CONSTANT) i.constant = 0;
  return i;
}

bool equal(const baleen_instruction_t& x, const baleen_instruction_t& y) {
  return x.opcode == y.opcode && x.a == y.a && x.b == y.b && x.c == y.c &&
         std::bit_cast<std::uint64_t>(x.constant) == std::bit_cast<std::uint64_t>(y.constant);
}

/// Is `x` the same number whether the expression is computed in fp32 or in fp64?
bool exact(double x) { return std::isfinite(x) && static_cast<double>(static_cast<float>(x)) == x; }

std::optional<double> constant_of(const Expression& e, std::uint32_t i) {
  if (e.code[i].opcode != BALEEN_X_CONSTANT) return std::nullopt;
  return e.code[i].constant;
}

std::optional<double> fold_unary(std::uint32_t opcode, double a) {
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
std::optional<double> fold_binary(std::uint32_t opcode, double a, double b) {
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
std::optional<std::uint32_t> same_as(const Expression& e, const baleen_instruction_t& i) {
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

std::optional<double> fold(const Expression& e, const baleen_instruction_t& i) {
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

}  // namespace

const char* opcode_name(std::uint32_t opcode) {
  const Opcode* found = find_opcode(opcode);
  return found ? found->name : "?";
}

std::uint32_t opcode_of(const std::string& name) {
  auto it = std::find_if(kOpcodes.begin(), kOpcodes.end(), [&](const Opcode& o) { return name == o.name; });
  return it == kOpcodes.end() ? 0 : it->opcode;
}

std::uint32_t Expression::append(const baleen_instruction_t& raw) {
  const baleen_instruction_t instruction = canonical(raw);
  if (const auto same = same_as(*this, instruction)) return *same;
  if (const auto value = fold(*this, instruction)) return constant(*value);
  auto it = std::find_if(code.begin(), code.end(), [&](const auto& other) { return equal(other, instruction); });
  if (it != code.end()) return static_cast<std::uint32_t>(it - code.begin());
  code.push_back(instruction);
  return static_cast<std::uint32_t>(code.size() - 1);
}

std::uint32_t Expression::input(std::uint32_t number) { return append({BALEEN_X_INPUT, number, 0, 0, 0}); }
std::uint32_t Expression::constant(double value) { return append({BALEEN_X_CONSTANT, 0, 0, 0, value}); }
std::uint32_t Expression::index(std::uint32_t dimension) { return append({BALEEN_X_INDEX, dimension, 0, 0, 0}); }
std::uint32_t Expression::step() { return append({BALEEN_X_STEP, 0, 0, 0, 0}); }
std::uint32_t Expression::random(std::uint32_t opcode, std::uint64_t site) {
  return append({opcode, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(site >> 32), 0, 0});
}
std::uint32_t Expression::unary(std::uint32_t opcode, std::uint32_t a) { return append({opcode, a, 0, 0, 0}); }
std::uint32_t Expression::binary(std::uint32_t opcode, std::uint32_t a, std::uint32_t b) {
  return append({opcode, a, b, 0, 0});
}
std::uint32_t Expression::select(std::uint32_t condition, std::uint32_t a, std::uint32_t b) {
  return append({BALEEN_X_SELECT, condition, a, b, 0});
}

std::uint32_t Expression::input_count() const {
  std::uint32_t count = 0;
  for (const auto& i : code)
    if (i.opcode == BALEEN_X_INPUT) count = std::max(count, i.a + 1);
  return count;
}

bool Expression::uses_random() const {
  return std::any_of(code.begin(), code.end(),
                     [](const auto& i) { return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL; });
}

Status verify(const Expression& expression, const std::vector<std::int64_t>& results, std::uint32_t inputs) {
  for (std::size_t n = 0; n < expression.code.size(); ++n) {
    const auto& i = expression.code[n];
    const std::string where = "instruction " + std::to_string(n) + " (" + opcode_name(i.opcode) + ")";
    const int operands = operand_count(i.opcode);
    if (operands < 0) return invalid(where + ": unknown opcode " + std::to_string(i.opcode));
    const std::uint32_t operand[] = {i.a, i.b, i.c};
    for (int k = 0; k < operands; ++k)
      if (operand[k] >= n)
        return invalid(where + ": operand " + std::to_string(k) + " is instruction " + std::to_string(operand[k]) +
                       ", which does not come before it");
    if (i.opcode == BALEEN_X_INPUT && i.a >= inputs)
      return invalid(where + ": reads input " + std::to_string(i.a) + " of " + std::to_string(inputs));
    if (i.opcode == BALEEN_X_INDEX && i.a >= BALEEN_MAX_RANK)
      return invalid(where + ": dimension " + std::to_string(i.a) + "; a tensor has at most " +
                     std::to_string(BALEEN_MAX_RANK));
    if (i.opcode == BALEEN_X_ROUND && !is_floating(static_cast<baleen_dtype_t>(i.b)))
      return invalid(where + ": " + std::to_string(i.b) + " is no floating dtype");
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

Expression prune(const Expression& expression, std::vector<std::int64_t>& results) {
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

}  // namespace baleen
