/// \file Evaluates expressions in fp64.
#include "support/reference_expression.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace baleen::test {
namespace {

/// The nearest number with `digits` binary digits whose exponent is at least `least`, ties to even.
double to_digits(double value, int digits, int least, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, least) - digits;
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(result) > largest ? std::copysign(INFINITY, value) : result;
}

double random(const baleen_instruction_t& i, const Element& element) {
  const std::uint64_t site = (std::uint64_t{i.b} << 32) | i.a, key = element.seed ^ site;
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto words =
      philox({low(element.number), high(element.number), low(element.step), high(element.step)}, {low(key), high(key)});
  if (i.opcode == BALEEN_X_UNIFORM) return (words[0] >> 8) * 0x1p-24;
  const double u = ((words[0] >> 8) + 0.5) * 0x1p-24, v = (words[1] >> 8) * 0x1p-24;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double normal_pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double gelu_tanh_grad(double x) {
  const double c = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

double unary(std::uint32_t opcode, double a) {
  switch (opcode) {
    case BALEEN_X_NEG: return -a;
    case BALEEN_X_ABS: return std::fabs(a);
    case BALEEN_X_SIGN: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case BALEEN_X_FLOOR: return std::floor(a);
    case BALEEN_X_SQRT: return std::sqrt(a);
    case BALEEN_X_RSQRT: return 1 / std::sqrt(a);
    case BALEEN_X_EXP: return std::exp(a);
    case BALEEN_X_LOG: return std::log(a);
    case BALEEN_X_SIN: return std::sin(a);
    case BALEEN_X_COS: return std::cos(a);
    case BALEEN_X_TANH: return std::tanh(a);
    case BALEEN_X_ERF: return std::erf(a);
    case BALEEN_X_SIGMOID: return logistic(a);
    case BALEEN_X_RELU: return a > 0 ? a : 0;
    case BALEEN_X_GELU: return a * normal_cdf(a);
    case BALEEN_X_GELU_TANH: return gelu_tanh(a);
    case BALEEN_X_SILU: return a * logistic(a);
    case BALEEN_X_IS_FINITE: return std::isfinite(a);
    case BALEEN_X_GELU_GRAD: return normal_cdf(a) + a * normal_pdf(a);
    case BALEEN_X_GELU_TANH_GRAD: return gelu_tanh_grad(a);
    case BALEEN_X_SILU_GRAD: return logistic(a) * (1 + a * (1 - logistic(a)));
    default: throw std::logic_error("no unary opcode " + std::to_string(opcode));
  }
}

double binary(std::uint32_t opcode, double a, double b) {
  switch (opcode) {
    case BALEEN_X_ADD: return a + b;
    case BALEEN_X_SUB: return a - b;
    case BALEEN_X_MUL: return a * b;
    case BALEEN_X_DIV: return a / b;
    case BALEEN_X_MAX: return std::fmax(a, b);
    case BALEEN_X_MIN: return std::fmin(a, b);
    case BALEEN_X_POW: return std::pow(a, b);
    case BALEEN_X_LT: return a < b;
    case BALEEN_X_LE: return a <= b;
    case BALEEN_X_EQ: return a == b;
    case BALEEN_X_NE: return a != b;
    default: throw std::logic_error("no binary opcode " + std::to_string(opcode));
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * counter[0], q = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(q >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(q),
               static_cast<std::uint32_t>(p >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double rounded(double value, baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return value;
    case BALEEN_F32: return static_cast<float>(value);
    case BALEEN_F16: return to_digits(value, 11, -13, 65504);
    case BALEEN_BF16: return to_digits(static_cast<float>(value), 8, -125, 3.3895313892515355e38);
    // What is finite stays so.
    case BALEEN_E4M3:
      if (!std::isfinite(value)) return NAN;
      return std::clamp(to_digits(static_cast<float>(value), 4, -5, 1e300), -448.0, 448.0);
    case BALEEN_E5M2:
      if (!std::isfinite(value)) return value;
      return std::clamp(to_digits(static_cast<float>(value), 3, -13, 1e300), -57344.0, 57344.0);
    default: return std::nearbyint(value);
  }
}

std::vector<double> evaluate(const Expression& expression, const std::vector<double>& inputs, const Element& element) {
  std::vector<double> at;
  at.reserve(expression.code.size());
  for (const auto& i : expression.code) {
    switch (i.opcode) {
      case BALEEN_X_INPUT: at.push_back(inputs.at(i.a)); continue;
      case BALEEN_X_CONSTANT: at.push_back(i.constant); continue;
      case BALEEN_X_INDEX: at.push_back(static_cast<double>(element.coordinate.at(i.a))); continue;
      case BALEEN_X_UNIFORM:
      case BALEEN_X_NORMAL: at.push_back(random(i, element)); continue;
      case BALEEN_X_STEP: at.push_back(static_cast<double>(element.step)); continue;
      case BALEEN_X_SELECT: at.push_back(at.at(i.a) != 0 ? at.at(i.b) : at.at(i.c)); continue;
      case BALEEN_X_ROUND: at.push_back(rounded(at.at(i.a), static_cast<baleen_dtype_t>(i.b))); continue;
      default: break;
    }
    at.push_back(operand_count(i.opcode) == 1 ? unary(i.opcode, at.at(i.a)) : binary(i.opcode, at.at(i.a), at.at(i.b)));
  }
  return at;
}

}  // namespace baleen::test
