/// \file What the instructions of expressions give, one at a time and in fp64: for devices that interpret them, and to
/// check others with.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "baleen/expression.h"

namespace baleen {

/// UNIFORM, or NORMAL, of an element in a step: Philox4x32-10 (Salmon et al. 2011). key: the seed ^ the site;
/// `element`: row-major in the global tensor. In fp64: round it to what the expression is computed in.
inline double random_value(bool is_normal, std::uint64_t key, std::uint64_t element, std::uint64_t step) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::uint32_t x[4] = {low(element), high(element), low(step), high(step)}, k[2] = {low(key), high(key)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * x[0], q = std::uint64_t{0xCD9E8D57} * x[2];
    const std::uint32_t next[4] = {high(q) ^ x[1] ^ k[0], low(q), high(p) ^ x[3] ^ k[1], low(p)};
    std::copy(next, next + 4, x);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  const double u = x[0] >> 8, v = x[1] >> 8;
  if (!is_normal) return u * 0x1p-24;
  constexpr double kTurn = 6.283185307179586476925;
  return std::sqrt(-2 * std::log((u + 0.5) * 0x1p-24)) * std::cos(kTurn * (v * 0x1p-24));
}

namespace detail {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// Φ, the normal distribution.
inline double normal_below(double x) { return std::erfc(-x * 0.70710678118654752440) / 2; }

/// GELU's tanh approximation is x sigmoid(t), t = 2 sqrt(2/π) (x + 0.044715 x³).
constexpr double kTanhScale = 1.59576912160573071176, kTanhCube = 0.044715;
inline double tanh_argument(double x) { return kTanhScale * (x + kTanhCube * x * x * x); }
inline double gelu_tanh_grad(double x) {
  const double t = tanh_argument(x), s = sigmoid(t), slope = s * sigmoid(-t);
  return slope == 0 ? s : s + x * slope * kTanhScale * (1 + 3 * kTanhCube * x * x);
}

}  // namespace detail

/// An instruction that its operands alone decide: all from NEG on but ROUND. `b`, `c`: any number where the opcode has
/// no such operand. The results of single instructions are to be rounded where fp32 is computed in.
inline double expression_value(std::uint32_t opcode, double a, double b, double c) {
  switch (opcode) {
    case BALEEN_X_NEG: return -a;
    case BALEEN_X_ABS: return std::abs(a);
    case BALEEN_X_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a;
    case BALEEN_X_FLOOR: return std::floor(a);
    case BALEEN_X_SQRT: return std::sqrt(a);
    case BALEEN_X_RSQRT: return 1 / std::sqrt(a);
    case BALEEN_X_EXP: return std::exp(a);
    case BALEEN_X_LOG: return std::log(a);
    case BALEEN_X_SIN: return std::sin(a);
    case BALEEN_X_COS: return std::cos(a);
    case BALEEN_X_TANH: return std::tanh(a);
    case BALEEN_X_ERF: return std::erf(a);
    case BALEEN_X_SIGMOID: return detail::sigmoid(a);
    case BALEEN_X_RELU: return a < 0 ? 0 : a;
    case BALEEN_X_GELU: return a * detail::normal_below(a);
    case BALEEN_X_GELU_TANH: return a * detail::sigmoid(detail::tanh_argument(a));
    case BALEEN_X_SILU: return a * detail::sigmoid(a);
    case BALEEN_X_IS_FINITE: return std::isfinite(a);
    case BALEEN_X_GELU_GRAD: return detail::normal_below(a) + a * std::exp(-a * a / 2) * 0.39894228040143267794;
    case BALEEN_X_GELU_TANH_GRAD: return detail::gelu_tanh_grad(a);
    case BALEEN_X_SILU_GRAD: return detail::sigmoid(a) * (1 + a * detail::sigmoid(-a));
    case BALEEN_X_ADD: return a + b;
    case BALEEN_X_SUB: return a - b;
    case BALEEN_X_MUL: return a * b;
    case BALEEN_X_DIV: return a / b;
    case BALEEN_X_MAX: return a < b ? b : a;
    case BALEEN_X_MIN: return b < a ? b : a;
    case BALEEN_X_POW: return std::pow(a, b);
    case BALEEN_X_LT: return a < b;
    case BALEEN_X_LE: return a <= b;
    case BALEEN_X_EQ: return a == b;
    case BALEEN_X_NE: return a != b;
    default: return a != 0 ? b : c;  // BALEEN_X_SELECT
  }
}

}  // namespace baleen
