/// \file The chain rule over the opcodes of expressions.
#include "expression_derivative.hpp"

#include <cstddef>
#include <numbers>
#include <vector>

#include "baleen/expression_edit.hpp"

namespace baleen::ops {
namespace {

using Number = std::uint32_t;

/// Appends formulas to an expression.
class Formula {
 public:
  explicit Formula(Expression& out) : out_(out) {}

  Number constant(double value) { return out_.constant(value); }
  Number add(Number a, Number b) { return out_.binary(BALEEN_X_ADD, a, b); }
  Number sub(Number a, Number b) { return out_.binary(BALEEN_X_SUB, a, b); }
  Number mul(Number a, Number b) { return out_.binary(BALEEN_X_MUL, a, b); }
  Number scale(double factor, Number a) { return mul(constant(factor), a); }
  Number div(Number a, Number b) { return out_.binary(BALEEN_X_DIV, a, b); }
  Number less(Number a, Number b) { return out_.binary(BALEEN_X_LT, a, b); }
  Number equal(Number a, Number b) { return out_.binary(BALEEN_X_EQ, a, b); }
  Number call(std::uint32_t opcode, Number a) { return out_.unary(opcode, a); }
  Number pow(Number a, Number b) { return out_.binary(BALEEN_X_POW, a, b); }
  Number neg(Number a) { return call(BALEEN_X_NEG, a); }
  Number select(Number condition, Number a, Number b) { return out_.select(condition, a, b); }
  const baleen_instruction_t& at(Number i) const { return out_.code[i]; }

  /// d/dx of gelu_grad: phi(x) (2 - x^2).
  Number gelu_second(Number x) {
    const Number square = mul(x, x);
    const Number density =
        scale(std::numbers::inv_sqrtpi / std::numbers::sqrt2, call(BALEEN_X_EXP, scale(-0.5, square)));
    return mul(density, sub(constant(2), square));
  }

  /// d/dx of gelu_tanh_grad, with u = c (x + a x^3) and t = tanh u: (1 - t^2) (u' + x (u'' - 2 t u'^2) / 2).
  Number gelu_tanh_second(Number x) {
    constexpr double kA = 0.044715;
    const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const Number square = mul(x, x);
    const Number t = call(BALEEN_X_TANH, mul(scale(c, x), add(constant(1), scale(kA, square))));
    const Number u1 = scale(c, add(constant(1), scale(3 * kA, square)));
    const Number u2 = scale(6 * kA * c, x);
    const Number inner = sub(u2, mul(mul(scale(2, t), u1), u1));
    return mul(sub(constant(1), mul(t, t)), add(u1, mul(scale(0.5, x), inner)));
  }

  /// d/dx of silu_grad, with s = sigmoid x: s (1 - s) (2 + x (1 - 2 s)).
  Number silu_second(Number x) {
    const Number s = call(BALEEN_X_SIGMOID, x);
    return mul(mul(s, sub(constant(1), s)), add(constant(2), mul(x, sub(constant(1), scale(2, s)))));
  }

 private:
  Expression& out_;
};

/// Reverse mode over one expression: adjoints by instruction of `out`.
class Reverse {
 public:
  explicit Reverse(Expression& out) : f_(out) {}

  std::vector<std::int64_t> adjoint;  ///< by forward instruction; -1: zero

  /// Adds `value` to the adjoint of a forward instruction.
  void give(std::uint32_t to, Number value) {
    adjoint[to] = adjoint[to] < 0 ? value : f_.add(static_cast<Number>(adjoint[to]), value);
  }

  /// Hands the adjoint `g` of forward instruction `i` on to its operands. `y` is i's own place in `out`, `at` where the
  /// forward instructions went, `active` which of them depend on the input.
  void step(const baleen_instruction_t& i, Number g, Number y, const std::vector<Number>& at,
            const std::vector<char>& active) {
    if (i.opcode == BALEEN_X_SELECT) return select(i, g, at, active);
    if (operand_count(i.opcode) == 2) return binary(i, g, y, at, active);
    if (const auto d = unary(i.opcode, g, y, at[i.a]); d >= 0) give(i.a, static_cast<Number>(d));
  }

 private:
  /// The adjoint of the operand a of a unary opcode; -1 where the derivative is zero.
  std::int64_t unary(std::uint32_t opcode, Number g, Number y, Number a) {
    switch (opcode) {
      case BALEEN_X_NEG: return f_.neg(g);
      case BALEEN_X_ABS: return f_.mul(g, f_.call(BALEEN_X_SIGN, a));
      case BALEEN_X_SQRT: return f_.div(f_.scale(0.5, g), y);
      case BALEEN_X_RSQRT: return f_.mul(g, f_.scale(-0.5, f_.mul(y, f_.mul(y, y))));
      case BALEEN_X_EXP: return f_.mul(g, y);
      case BALEEN_X_LOG: return f_.div(g, a);
      case BALEEN_X_SIN: return f_.mul(g, f_.call(BALEEN_X_COS, a));
      case BALEEN_X_COS: return f_.neg(f_.mul(g, f_.call(BALEEN_X_SIN, a)));
      case BALEEN_X_TANH: return f_.mul(g, f_.sub(f_.constant(1), f_.mul(y, y)));
      case BALEEN_X_ERF:
        return f_.mul(g, f_.scale(2 * std::numbers::inv_sqrtpi, f_.call(BALEEN_X_EXP, f_.neg(f_.mul(a, a)))));
      case BALEEN_X_SIGMOID: return f_.mul(g, f_.mul(y, f_.sub(f_.constant(1), y)));
      case BALEEN_X_RELU: return f_.select(f_.less(f_.constant(0), a), g, f_.constant(0));
      case BALEEN_X_GELU: return f_.mul(g, f_.call(BALEEN_X_GELU_GRAD, a));
      case BALEEN_X_GELU_TANH: return f_.mul(g, f_.call(BALEEN_X_GELU_TANH_GRAD, a));
      case BALEEN_X_SILU: return f_.mul(g, f_.call(BALEEN_X_SILU_GRAD, a));
      case BALEEN_X_GELU_GRAD: return f_.mul(g, f_.gelu_second(a));
      case BALEEN_X_GELU_TANH_GRAD: return f_.mul(g, f_.gelu_tanh_second(a));
      case BALEEN_X_SILU_GRAD: return f_.mul(g, f_.silu_second(a));
      case BALEEN_X_ROUND: return g;  // straight through: rounding is meant to be invisible
      default: return -1;             // sign, floor, is_finite
    }
  }

  void binary(const baleen_instruction_t& i, Number g, Number y, const std::vector<Number>& at,
              const std::vector<char>& active) {
    const Number a = at[i.a], b = at[i.b];
    const bool to_a = active[i.a], to_b = active[i.b];
    switch (i.opcode) {
      case BALEEN_X_ADD:
        if (to_a) give(i.a, g);
        if (to_b) give(i.b, g);
        return;
      case BALEEN_X_SUB:
        if (to_a) give(i.a, g);
        if (to_b) give(i.b, f_.neg(g));
        return;
      case BALEEN_X_MUL:
        if (to_a) give(i.a, f_.mul(g, b));
        if (to_b) give(i.b, f_.mul(g, a));
        return;
      case BALEEN_X_DIV:
        if (to_a) give(i.a, f_.div(g, b));
        if (to_b) give(i.b, f_.neg(f_.div(f_.mul(g, y), b)));
        return;
      case BALEEN_X_MAX:
        if (to_a) give(i.a, chosen(g, f_.less(b, a), a, b));
        if (to_b) give(i.b, chosen(g, f_.less(a, b), a, b));
        return;
      case BALEEN_X_MIN:
        if (to_a) give(i.a, chosen(g, f_.less(a, b), a, b));
        if (to_b) give(i.b, chosen(g, f_.less(b, a), a, b));
        return;
      case BALEEN_X_POW:
        if (to_a) give(i.a, f_.mul(g, power_base(a, b)));
        if (to_b) give(i.b, f_.mul(g, power_exponent(a, y)));
        return;
      default: return;  // comparisons
    }
  }

  /// All of g where the operand wins, half where the operands are equal. Selected, not multiplied: 0 * inf is no 0.
  Number chosen(Number g, Number wins, Number a, Number b) {
    return f_.select(wins, g, f_.select(f_.equal(a, b), f_.scale(0.5, g), f_.constant(0)));
  }

  /// b a^(b-1), and 0 where b is 0.
  Number power_base(Number a, Number b) {
    if (f_.at(b).opcode == BALEEN_X_CONSTANT) {
      const double exponent = f_.at(b).constant;
      if (exponent == 2) return f_.scale(2, a);
      if (exponent != 0) return f_.scale(exponent, f_.pow(a, f_.constant(exponent - 1)));
    }
    const Number general = f_.mul(b, f_.pow(a, f_.sub(b, f_.constant(1))));
    return f_.select(f_.equal(b, f_.constant(0)), f_.constant(0), general);
  }

  /// a^b log a, and 0 where a is 0.
  Number power_exponent(Number a, Number y) {
    return f_.select(f_.equal(a, f_.constant(0)), f_.constant(0), f_.mul(y, f_.call(BALEEN_X_LOG, a)));
  }

  void select(const baleen_instruction_t& i, Number g, const std::vector<Number>& at, const std::vector<char>& active) {
    const Number zero = f_.constant(0);
    if (active[i.b]) give(i.b, f_.select(at[i.a], g, zero));
    if (active[i.c]) give(i.c, f_.select(at[i.a], zero, g));
  }

  Formula f_;
};

/// Which instructions depend on an input.
std::vector<char> dependents(const Expression& expression, std::uint32_t input) {
  std::vector<char> depends(expression.code.size(), 0);
  for (std::size_t n = 0; n < expression.code.size(); ++n) {
    const auto& i = expression.code[n];
    const std::uint32_t operand[] = {i.a, i.b, i.c};
    depends[n] = i.opcode == BALEEN_X_INPUT && i.a == input;
    for (int k = 0; k < operand_count(i.opcode); ++k) depends[n] = depends[n] || depends[operand[k]];
  }
  return depends;
}

}  // namespace

std::int64_t differentiate(const Expression& forward, std::uint32_t result, std::uint32_t input,
                           std::uint32_t cotangent, Expression& out) {
  const std::vector<char> active = dependents(forward, input);
  if (!active[result]) return -1;
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t i = 0; i < forward.input_count(); ++i) inputs.push_back(out.input(i));
  const std::vector<std::uint32_t> at = inline_into(out, forward, inputs);

  Reverse reverse(out);
  reverse.adjoint.assign(forward.code.size(), -1);
  reverse.give(result, out.input(cotangent));
  std::int64_t sum = -1;
  for (std::size_t n = result + 1; n-- > 0;) {
    const auto& i = forward.code[n];
    if (!active[n] || reverse.adjoint[n] < 0) continue;
    const auto g = static_cast<Number>(reverse.adjoint[n]);
    if (i.opcode == BALEEN_X_INPUT)
      sum = sum < 0 ? g : out.binary(BALEEN_X_ADD, static_cast<Number>(sum), g);
    else
      reverse.step(i, g, at[n], at, active);
  }
  return sum;
}

}  // namespace baleen::ops
