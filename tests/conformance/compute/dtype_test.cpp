/// \file Every op with operands in bf16 and fp16, alone and beside fp32, against the device's own fp64, which the rest
/// of this suite holds against plain definitions. Inputs are new in every run.
///
/// Limits. u is half the distance of two neighbours beside 1: 2^-8 in bf16, 2^-11 in fp16, 2^-24 in fp32. A result that
/// was computed in fp32 and rounded once is within u of the exact one, so each element must be within u |exact| and
/// what fp32 loses in sums of some hundred terms (kSingle of the output's root mean square). A second rounding would
/// show: it takes some elements beyond. Ops in which a device may round an operand of an inner product again
/// (attention's probabilities, the gradient of logits) must keep ‖got − exact‖ within u ‖exact‖; one rounding gives
/// about 0.4 u.
#include <cmath>
#include <limits>

#include "baleen/expression.h"
#include "conformance/compute/computed.hpp"
#include "conformance/compute/mixtures.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

constexpr double kSingle = 1e-5;

double unit(baleen_dtype_t dtype) {
  return dtype == BALEEN_BF16 ? 0x1p-8 : dtype == BALEEN_F16 ? 0x1p-11 : dtype == BALEEN_F32 ? 0x1p-24 : 0x1p-53;
}
/// Half the distance of the smallest numbers.
double smallest(baleen_dtype_t dtype) { return dtype == BALEEN_F16 ? 0x1p-25 : 0x1p-134; }

/// How a case is run.
struct Way {
  Placement placement;
  RunOptions::Aliases aliases;
  bool from_one_thread = false;  ///< too, with the same bits
};

class Halves : public ComputeTest {
 protected:
  void SetUp() override {
    ComputeTest::SetUp();
    const std::uint64_t seed = test::seed();
    random.seed(seed);
    trace_ = std::make_unique<testing::ScopedTrace>(__FILE__, __LINE__, "seed " + std::to_string(seed));
  }
  void TearDown() override { trace_.reset(); }

  std::vector<Tensor> exact(const CrossCase& c, RunOptions options) {
    CrossCase wide = c;
    for (auto* tensors : {&wide.inputs, &wide.outputs})
      for (Tensor& t : *tensors) t.dtype = t.integer ? baleen_dtype_t{0} : baleen_dtype_t{BALEEN_F64};
    options.placement = Placement::kPacked;
    options.aliases = RunOptions::Aliases::none;
    return run(wide.op, wide.inputs, wide.outputs, options);
  }

  void compare(const CrossCase& c, const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
    const std::string& kind = c.op.kind();
    const bool inner = kind.starts_with("attention") || kind.starts_with("linear");
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Tensor& kept = c.outputs[k];
      const double one = kept.integer ? 0 : kSingle, u = kept.integer ? 0 : unit(kept.dtype);
      double distance = 0, length = 0;
      for (const double y : wanted[k].values) length += std::isfinite(y) ? y * y : 0;
      const double size = std::sqrt(static_cast<double>(got[k].size())), mean = std::sqrt(length) / std::max(1.0, size);
      for (std::int64_t i = 0; i < got[k].size(); ++i) {
        const double x = got[k][i], y = wanted[k][i], error = std::abs(x - y);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        distance += error * error;
        const bool fits = error <= u * std::abs(y) + smallest(kept.dtype) + one * mean;
        ASSERT_TRUE(fits || inner) << "output " << k << " element " << i << " is " << x << ", exactly " << y;
      }
      const double limit = (inner ? std::max(u, unit(dtype())) : u) + one;
      EXPECT_LE(std::sqrt(distance), limit * std::sqrt(length) + smallest(kept.dtype) * size) << "output " << k;
    }
  }

  /// One case, in a few placements, in the inputs' place where that is allowed.
  void check(const CrossCase& original, const Mixture& mixture, const std::vector<Way>& ways) {
    const CrossCase c = mixed(original, mixture, dtype());
    SCOPED_TRACE(c.name + ", " + mixture.name);
    if (!supports(c.op, c.inputs, c.outputs)) return;
    ++computed_;
    RunOptions options;
    options.seed = random();
    options.step = random() % 1000;
    const std::vector<Tensor> wanted = exact(c, options);
    for (const Way& way : ways) {
      SCOPED_TRACE(name(way.placement));
      options.placement = way.placement;
      options.aliases = way.aliases;
      const std::vector<Tensor> got = run(c.op, c.inputs, c.outputs, options);
      compare(c, got, wanted);
      if (HasFatalFailure()) return;
      if (!way.from_one_thread) continue;
      std::vector<Tensor> single = c.outputs;
      ASSERT_EQ(one().run(c.op, c.inputs, single, dtype(), options), BALEEN_OK);
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_TRUE(same_values(single[k], got[k])) << "output " << k << " depends on the number of threads";
    }
  }

  static bool same_values(const Tensor& a, const Tensor& b) {
    for (std::int64_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
    return true;
  }

  /// All in 16 bits, and one of the mixtures, which take turns.
  void check_all(const std::vector<CrossCase>& cases) {
    using Aliases = RunOptions::Aliases;
    const std::vector<Way> many{{Placement::kPacked, Aliases::none, true},
                                {Placement::kPacked, Aliases::first},
                                {Placement::kGaps, Aliases::last},
                                {Placement::kReversed, Aliases::none}},
        few{{Placement::kPacked, Aliases::last}};
    std::size_t turn = dtype() == BALEEN_BF16 ? 0 : 3;
    for (const CrossCase& c : cases) {
      check(c, kMixtures[0], many);
      check(c, kMixtures[1 + turn++ % (std::size(kMixtures) - 1)], few);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(computed_, 0) << "this device computes nothing in " << dtype_name(dtype());
  }

  Tensor draw(Shape shape) { return random_tensor(random, std::move(shape)); }
  int computed_ = 0;

 private:
  std::unique_ptr<testing::ScopedTrace> trace_;
};

TEST_P(Halves, GiveTheExactResultsOfEveryOpRoundedOnce) {
  const Compute reference = [&](const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs) {
    CrossCase c{"", op, inputs, std::move(outputs)};
    return exact(c, {});
  };
  check_all(cross_cases(random, reference));
}

TEST_P(Halves, AddUpLongProductsBeforeTheyRound) {
  std::vector<CrossCase> cases;
  const auto product = [&](const char* spec, const Shape& a, const Shape& b, const Shape& y, bool added) {
    std::vector<Tensor> inputs{draw(a), draw(b)};
    if (added) inputs.push_back(draw(y));
    cases.push_back({spec, OpSpec("matmul").text("spec", spec), inputs, {zeros(y)}});
  };
  for (const bool added : {false, true}) {
    product("mk,kn->mn", {9, 1700}, {1700, 150}, {9, 150}, added);
    product("mk,nk->nm", {130, 900}, {20, 900}, {20, 130}, added);
    product("km,kn->mn", {900, 40}, {900, 70}, {40, 70}, added);
    product("akb,kbn->an", {3, 40, 50}, {40, 50, 60}, {3, 60}, added);
    product("abk,bak->ab", {3, 4, 50}, {4, 3, 50}, {3, 4}, added);
    product("mk,kn->mn", {1100, 5}, {5, 7}, {1100, 7}, added);
    product("mk,kn->mn", {3, 0}, {0, 4}, {3, 4}, added);
  }
  check_all(cases);
}

/// Of numbers of one sign: where they cancel, what fp32 loses is no small part of what is left.
TEST_P(Halves, AddLongSumsBeforeTheyRound) {
  std::vector<CrossCase> cases;
  const auto positive = [&](const Shape& shape) {
    Tensor x = draw(shape);
    for (double& value : x.values) value = std::abs(value);
    return x;
  };
  const auto sum = [&](const Shape& x, std::int64_t dim, const Shape& y) {
    cases.push_back({"sum", OpSpec("reduce").integers("dims", {dim}).text("kind", "sum"), {positive(x)}, {zeros(y)}});
  };
  sum({20000}, 0, {});
  sum({3000, 37}, 0, {37});
  sum({3, 9000}, 1, {3});
  const Tensor ids = random_ids(random, {3000}, 0, 4);
  cases.push_back({"rows", OpSpec("embedding_grad").integer("rows", 5), {ids, positive({3000, 70})}, {zeros({5, 70})}});
  check_all(cases);
}

TEST_P(Halves, TakeLossAndGradientAtOnce) {
  std::vector<CrossCase> cases;
  for (const bool transposed : {false, true}) {
    const Shape w = transposed ? Shape{65, 20} : Shape{20, 65};
    Tensor targets = random_ids(random, {3, 11}, 0, 64);
    targets[4] = -100;
    cases.push_back({"linear_cross_entropy_and_grad",
                     OpSpec("linear_cross_entropy_and_grad")
                         .integer("ignore_index", -100)
                         .number("smoothing", 0.1)
                         .integer("transposed", transposed),
                     {draw({3, 11, 20}), draw(w), targets, draw({3, 11})},
                     {zeros({3, 11}), zeros({3, 11}), zeros({3, 11, 20}), zeros(w)}});
  }
  check_all(cases);
}

class JoinedInHalves : public Halves {};

/// The weight's gradient over more rows of logits than are held at a time: 144 MB of them in fp32. bf16 rounds most.
TEST_P(JoinedInHalves, RoundTheSumOverChunksOfRowsOnce) {
  const std::int64_t rows = 900, classes = 40000;
  const CrossCase c = mixed({"several chunks",
                             OpSpec("linear_cross_entropy_and_grad").integer("transposed", 1),
                             {draw({rows, 2}), draw({classes, 2}), random_ids(random, {rows}, 0, 39999), draw({rows})},
                             {zeros({rows}), zeros({rows}), zeros({rows, 2}), zeros({classes, 2})}},
                            kMixtures[0], dtype());
  const Tensor &x = c.inputs[0], &w = c.inputs[1], &target = c.inputs[2], &dloss = c.inputs[3];
  std::vector<Tensor> wanted = c.outputs;
  std::vector<double> p(static_cast<std::size_t>(classes));
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::int64_t v = 0; v < classes; ++v)
      sum += p[static_cast<std::size_t>(v)] = std::exp(x[2 * i] * w[2 * v] + x[2 * i + 1] * w[2 * v + 1]);
    const auto t = static_cast<std::int64_t>(target[i]);
    wanted[1][i] = std::log(sum);
    wanted[0][i] = wanted[1][i] - std::log(p[static_cast<std::size_t>(t)]);
    for (std::int64_t v = 0; v < classes; ++v) {
      const double slope = (p[static_cast<std::size_t>(v)] / sum - (v == t)) * dloss[i];
      for (std::int64_t d = 0; d < 2; ++d) {
        wanted[2][2 * i + d] += slope * w[2 * v + d];
        wanted[3][2 * v + d] += slope * x[2 * i + d];
      }
    }
  }
  compare(c, run(c.op, c.inputs, c.outputs), wanted);
}

/// Every pair of dtypes, with values at and beside all edges; exact.
TEST_P(Halves, AreCastExactly) {
  const double inf = INFINITY, most = std::numeric_limits<float>::max();
  Tensor x{{40},
           {0.0,
            -0.0,
            1.0,
            -1.0,
            inf,
            -inf,
            std::nan(""),
            65504,
            65519.99609375,
            65520,
            -65536,
            1e30,
            -most,
            most,
            0x1p-14,
            0x1.ffcp-15,
            0x1p-24,
            0x1p-25,
            0x1.8p-25,
            0x1.000002p-25,
            -0x1p-26,
            0x1p-126,
            0x1p-133,
            0x1p-134,
            0x1.8p-134,
            0x1p-149,
            1 + 0x1p-8,
            1 + 0x3p-8,
            1 + 0x1p-8 + 0x1p-23,
            1 + 0x1p-11,
            1 + 0x3p-11,
            1 + 0x1p-11 + 0x1p-23,
            3.38953e38,
            3.3961775e38,
            3.4e38,
            0.1,
            -0.3,
            1e-7,
            12345.678,
            -2049}};
  for (int i = 0; i < 2000; ++i) x.values.push_back(std::ldexp(draw({1})[0], static_cast<int>(random() % 60) - 30));
  x.shape = {static_cast<std::int64_t>(x.values.size())};
  const OpSpec cast = OpSpec("pointwise").expression({{BALEEN_X_INPUT, 0, 0, 0, 0}}, {0});
  int pairs = 0;
  for (const baleen_dtype_t from : {BALEEN_F32, BALEEN_F64, BALEEN_BF16, BALEEN_F16}) {
    Tensor in = x, out = zeros(x.shape);
    in.dtype = from;
    out.dtype = dtype();
    for (const bool back : {false, true}) {
      if (back) std::swap(in.dtype, out.dtype);
      // Of fp64 what fp32 holds too: a device may go from one to 16 bits by way of the other.
      for (std::int64_t i = 0; i < x.size(); ++i) in[i] = rounded(rounded(x[i], BALEEN_F32), in.dtype);
      if (!supports(cast, {in}, {out})) continue;
      ++pairs;
      for (const Placement placement : kPlacements) {
        SCOPED_TRACE(std::string(dtype_name(in.dtype)) + " to " + std::string(dtype_name(out.dtype)));
        RunOptions options;
        options.placement = placement;
        const Tensor got = run(cast, {in}, {out}, options)[0];
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const double wanted = rounded(in[i], out.dtype);
          ASSERT_TRUE(std::isnan(wanted) ? std::isnan(got[i])
                                         : got[i] == wanted && std::signbit(got[i]) == std::signbit(wanted))
              << in[i] << " became " << got[i] << ", wanted " << wanted;
        }
      }
    }
  }
  EXPECT_EQ(pairs, 8) << "this device does not cast";
}

/// Rounding inside an expression is storing and loading again.
TEST_P(Halves, AreRoundedInsideExpressionsAsOnStoring) {
  Tensor x = draw({3000});
  for (double& v : x.values) v = rounded(std::ldexp(v, static_cast<int>(random() % 50) - 30), BALEEN_F32);
  const OpSpec round =
      OpSpec("pointwise")
          .expression({{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_ROUND, 0, static_cast<std::uint32_t>(dtype()), 0, 0}},
                      {1});
  x.dtype = BALEEN_F32;
  Tensor y = zeros(x.shape);
  y.dtype = BALEEN_F32;
  const Tensor got = run(round, {x}, {y})[0];
  for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], rounded(x[i], dtype())) << x[i];
}

TEST_P(Halves, GoByNoFloatingDtypeBesideFp64) {
  const auto of = [](baleen_dtype_t dtype, Shape shape) {
    Tensor t = zeros(std::move(shape));
    t.dtype = dtype;
    return t;
  };
  const OpSpec product = OpSpec("matmul").text("spec", "mk,kn->mn");
  EXPECT_FALSE(supports(product, {of(dtype(), {2, 3}), of(BALEEN_F64, {3, 4})}, {of(BALEEN_F64, {2, 4})}));
  EXPECT_FALSE(supports(product, {of(BALEEN_F64, {2, 3}), of(BALEEN_F64, {3, 4})}, {of(dtype(), {2, 4})}));
  EXPECT_FALSE(supports(OpSpec("softmax"), {of(BALEEN_F64, {2, 3})}, {of(dtype(), {2, 3})}));
  EXPECT_FALSE(supports(OpSpec("copy"), {of(BALEEN_F32, {2, 3})}, {of(dtype(), {2, 3})}));
}

INSTANTIATE_TEST_SUITE_P(Plugins, Halves,
                         testing::Combine(testing::ValuesIn(plugin_paths()),
                                          testing::Values(baleen_dtype_t{BALEEN_BF16}, baleen_dtype_t{BALEEN_F16})),
                         case_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JoinedInHalves);  // where no member has such a kernel
INSTANTIATE_TEST_SUITE_P(Plugins, JoinedInHalves, testing::ValuesIn(members_that_compute(kJoined, {BALEEN_BF16})),
                         case_name);

}  // namespace
}  // namespace baleen::conformance
