/// \file The error of every function of expressions, in units of the last place of the exact result.
#include <cmath>
#include <limits>

#include "baleen/expression.h"
#include "conformance/compute/harness.hpp"

namespace baleen::conformance {
namespace {

using Real = long double;

struct Function {
  const char* name;
  std::uint32_t opcode;
  Real (*exact)(Real);
  double low, high;
  double ulps32, ulps64;
};

Real phi(Real x) { return std::exp(-x * x / 2) * 0.398942280401432677939946L; }
Real below(Real x) { return std::erfc(-x * 0.707106781186547524400844L) / 2; }
Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real tanh_argument(Real x) { return 2 * std::sqrt(2 / 3.14159265358979323846264L) * (x + 0.044715L * x * x * x); }

// The last two columns are what a backend must keep. In the tails of the two GELUs an exponential magnifies the
// rounding of its argument, which is of the order of x*x.
const Function kFunctions[] = {
    {"exp", BALEEN_X_EXP, [](Real x) { return std::exp(x); }, -87, 88, 2, 2},
    {"exp of small", BALEEN_X_EXP, [](Real x) { return std::exp(x); }, -1, 1, 2, 2},
    {"log", BALEEN_X_LOG, [](Real x) { return std::log(x); }, 1e-30, 3, 2, 2},
    {"log of large", BALEEN_X_LOG, [](Real x) { return std::log(x); }, 1, 1e30, 2, 2},
    {"sin", BALEEN_X_SIN, [](Real x) { return std::sin(x); }, -1000, 1000, 1, 2},
    {"cos", BALEEN_X_COS, [](Real x) { return std::cos(x); }, -1000, 1000, 1, 2},
    {"sin of large", BALEEN_X_SIN, [](Real x) { return std::sin(x); }, -1e7, 1e7, 1, 2},
    {"cos of large", BALEEN_X_COS, [](Real x) { return std::cos(x); }, -1e7, 1e7, 1, 2},
    {"tanh", BALEEN_X_TANH, [](Real x) { return std::tanh(x); }, -12, 12, 3, 3},
    {"erf", BALEEN_X_ERF, [](Real x) { return std::erf(x); }, -5, 5, 3, 2},
    {"sigmoid", BALEEN_X_SIGMOID, sigmoid, -80, 80, 4, 4},
    {"sqrt", BALEEN_X_SQRT, [](Real x) { return std::sqrt(x); }, 0, 1e20, 0.51, 0.51},
    {"rsqrt", BALEEN_X_RSQRT, [](Real x) { return 1 / std::sqrt(x); }, 1e-20, 10, 1.6, 1.6},
    {"silu", BALEEN_X_SILU, [](Real x) { return x * sigmoid(x); }, -80, 80, 4, 4},
    {"gelu", BALEEN_X_GELU, [](Real x) { return x * below(x); }, -12, 12, 12, 300},
    {"gelu_tanh", BALEEN_X_GELU_TANH, [](Real x) { return x * sigmoid(tanh_argument(x)); }, -6, 6, 80, 80},
};

// Derivatives cross zero; their error is counted in units of the last place of 1.
const Function kDerivatives[] = {
    {"gelu_grad", BALEEN_X_GELU_GRAD, [](Real x) { return below(x) + x * phi(x); }, -12, 12, 4, 4},
    {"silu_grad", BALEEN_X_SILU_GRAD, [](Real x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }, -80, 80, 4, 4},
    {"gelu_tanh_grad", BALEEN_X_GELU_TANH_GRAD,
     [](Real x) {
       const Real s = sigmoid(tanh_argument(x));
       return s + x * s * (1 - s) * 2 * std::sqrt(2 / 3.14159265358979323846264L) * (1 + 3 * 0.044715L * x * x);
     },
     -12, 12, 6, 6},
};

/// The largest error so far, and where; none is larger than that of what is no number.
struct Worst {
  double ulps = 0, at = 0;

  void see(double error, double x) {
    if (std::isnan(error)) error = INFINITY;
    if (error > ulps) ulps = error, at = x;
  }
};

TEST(Worst, IsNotForgottenAfterWhatIsNoNumber) {
  Worst worst;
  for (const double error : {1.0, 3.0, std::nan(""), 2.0}) worst.see(error, 10 * error);
  EXPECT_EQ(worst.ulps, INFINITY);
  Worst sound;
  for (const double error : {1.0, 3.0, 2.0}) sound.see(error, 10 * error);
  EXPECT_EQ(sound.ulps, 3);
  EXPECT_EQ(sound.at, 30);
}

class Accuracy : public ComputeTest {
 protected:
  double unit(double at) const {
    if (is_double()) return std::nextafter(std::abs(at), INFINITY) - std::abs(at);
    const auto x = static_cast<float>(std::abs(at));
    return static_cast<double>(std::nextafter(x, INFINITY)) - static_cast<double>(x);
  }
  Tensor samples(const Function& f) {
    Tensor x = zeros({40000});
    std::uniform_real_distribution<double> draw(f.low, f.high), power(-8, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      // Half of them crowd towards zero, where relative errors show.
      double v = draw(random);
      if (i % 2) v *= std::pow(10.0, power(random));
      if (v < f.low || v > f.high) v = f.high;
      x[i] = static_cast<double>(static_cast<float>(v));
    }
    return x;
  }
  void check(const Function& f, bool relative) {
    const Tensor x = samples(f);
    const OpSpec op = OpSpec("pointwise").expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {f.opcode, 0, 0, 0, 0}}, {1});
    const auto got = run(op, {x}, {zeros(x.shape)});
    Worst worst;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const Real exact = f.exact(static_cast<Real>(x[i]));
      if (std::abs(static_cast<double>(exact)) < (is_double() ? 1e-300 : 1.2e-38)) continue;  // denormal
      const Real error = std::abs(static_cast<Real>(got[0][i]) - exact);
      worst.see(static_cast<double>(error) / unit(relative ? static_cast<double>(exact) : 1.0), x[i]);
    }
    EXPECT_LE(worst.ulps, is_double() ? f.ulps64 : f.ulps32) << f.name << " at " << worst.at;
    RecordProperty(f.name, std::to_string(worst.ulps));
    if (std::getenv("BALEEN_TEST_VERBOSE")) std::printf("%-16s %.2f ulp at %g\n", f.name, worst.ulps, worst.at);
  }
};

TEST_P(Accuracy, OfFunctionsIsSomeUnitsInTheLastPlace) {
  for (const Function& f : kFunctions) check(f, true);
}
TEST_P(Accuracy, OfDerivativesIsSomeUnitsOfOne) {
  for (const Function& f : kDerivatives) check(f, false);
}
TEST_P(Accuracy, OfPowerIsSomeUnitsInTheLastPlace) {
  Tensor a = zeros({20000}), b = a;
  std::uniform_real_distribution<double> base(0.01, 30), exponent(-20, 20);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(static_cast<float>(base(random)));
    b[i] = static_cast<double>(static_cast<float>(exponent(random)));
  }
  const OpSpec op =
      OpSpec("pointwise")
          .expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_POW, 0, 1, 0, 0}}, {2});
  const auto got = run(op, {a, b}, {zeros(a.shape)});
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const Real exact = std::pow(static_cast<Real>(a[i]), static_cast<Real>(b[i]));
    ASSERT_LE(static_cast<double>(std::abs(static_cast<Real>(got[0][i]) - exact)) / unit(static_cast<double>(exact)),
              2.0)
        << a[i] << " to the " << b[i];
  }
}
TEST_P(Accuracy, AtTheEnds) {
  const double inf = INFINITY, nan = std::nan("");
  struct End {
    std::uint32_t opcode;
    double x, y;
  };
  const End ends[] = {{BALEEN_X_EXP, -inf, 0},
                      {BALEEN_X_EXP, inf, inf},
                      {BALEEN_X_EXP, nan, nan},
                      {BALEEN_X_EXP, 0, 1},
                      {BALEEN_X_EXP, 1000, inf},
                      {BALEEN_X_EXP, -1000, 0},
                      {BALEEN_X_LOG, 0, -inf},
                      {BALEEN_X_LOG, -1, nan},
                      {BALEEN_X_LOG, inf, inf},
                      {BALEEN_X_LOG, 1, 0},
                      {BALEEN_X_LOG, nan, nan},
                      {BALEEN_X_TANH, inf, 1},
                      {BALEEN_X_TANH, -inf, -1},
                      {BALEEN_X_TANH, nan, nan},
                      {BALEEN_X_ERF, inf, 1},
                      {BALEEN_X_ERF, -inf, -1},
                      {BALEEN_X_ERF, 0, 0},
                      {BALEEN_X_SIGMOID, -inf, 0},
                      {BALEEN_X_SIGMOID, inf, 1},
                      {BALEEN_X_SIGMOID, nan, nan},
                      {BALEEN_X_GELU, 50, 50},
                      {BALEEN_X_GELU, -50, 0},
                      {BALEEN_X_GELU, nan, nan},
                      {BALEEN_X_GELU_TANH, 50, 50},
                      {BALEEN_X_GELU_TANH, -50, 0},
                      {BALEEN_X_SILU, -1000, 0},
                      {BALEEN_X_SILU, 1000, 1000},
                      {BALEEN_X_GELU_GRAD, 50, 1},
                      {BALEEN_X_GELU_GRAD, -50, 0},
                      {BALEEN_X_GELU_TANH_GRAD, 1e18, 1},
                      {BALEEN_X_GELU_TANH_GRAD, -1e18, 0},
                      {BALEEN_X_SILU_GRAD, 1000, 1},
                      {BALEEN_X_SILU_GRAD, -1000, 0},
                      {BALEEN_X_SQRT, -1, nan},
                      {BALEEN_X_RSQRT, 0, inf},
                      {BALEEN_X_RELU, -inf, 0},
                      {BALEEN_X_RELU, nan, nan},
                      {BALEEN_X_SIGN, -inf, -1},
                      {BALEEN_X_IS_FINITE, inf, 0},
                      {BALEEN_X_IS_FINITE, nan, 0},
                      {BALEEN_X_IS_FINITE, 3e38, 1},
                      {BALEEN_X_FLOOR, -0.5, -1},
                      {BALEEN_X_FLOOR, 1e30, 1e30}};
  for (const End& end : ends) {
    const OpSpec op = OpSpec("pointwise").expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {end.opcode, 0, 0, 0, 0}}, {1});
    const double x = is_double() ? end.x : static_cast<double>(static_cast<float>(end.x));
    const double y = is_double() ? end.y : static_cast<double>(static_cast<float>(end.y));
    const double got = run(op, {Tensor{{1}, {x}}}, {zeros({1})})[0][0];
    EXPECT_TRUE(std::isnan(y) ? std::isnan(got) : got == y)
        << "opcode " << end.opcode << " of " << x << " is " << got << ", wanted " << y;
  }
}

BALEEN_COMPUTE_SUITE(Accuracy);

}  // namespace
}  // namespace baleen::conformance
