/// \file cross_entropy, the one fused with its matmul, and their gradients.
#include <cmath>

#include "conformance/compute/computed.hpp"
#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

constexpr double kIgnore = -100;

struct Case {
  Shape rows;
  std::int64_t width, classes;
  bool ignores, transposed;
  double smoothing;
};

class CrossEntropy : public ComputeTest {
 protected:
  Tensor targets(const Case& c) {
    Tensor t = random_ids(random, c.rows, 0, static_cast<int>(c.classes) - 1);
    for (std::int64_t i = 0; c.ignores && i < t.size(); i += 3) t[i] = kIgnore;
    return t;
  }
  static OpSpec spec(const std::string& kind, const Case& c) {
    OpSpec out(kind);
    if (c.ignores) out.integer("ignore_index", static_cast<std::int64_t>(kIgnore));
    if (c.smoothing > 0) out.number("smoothing", c.smoothing);
    if (kind.starts_with("linear")) out.integer("transposed", c.transposed);
    return out;
  }
  /// Whether the device has the loss and its gradient as one op, which a program asks of it only then.
  bool joins() {
    const Case c{{2}, 3, 5, false, true, 0.0};
    const Tensor x = zeros({2, 3}), w = zeros({5, 3}), rows = zeros({2});
    return supports(spec("linear_cross_entropy_and_grad", c), {x, w, targets(c), rows}, {rows, rows, x, w});
  }
  static Shape with(Shape rows, std::int64_t last) {
    rows.push_back(last);
    return rows;
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const double smoothing : {0.0, 0.1, 1.0})
    for (const bool ignores : {false, true}) {
      out.push_back({{1}, 1, 1, false, false, smoothing});
      out.push_back({{5}, 3, 7, ignores, true, smoothing});
      out.push_back({{2, 6}, 9, 65, ignores, false, smoothing});
      out.push_back({{0}, 4, 5, ignores, true, smoothing});
    }
  return out;
}

TEST_P(CrossEntropy, OfLogits) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.classes), 3.0), t = targets(c);
    expect(spec("cross_entropy", c), {x, t}, reference::cross_entropy(x, t, kIgnore, c.smoothing),
           tolerance(3e-6, 1e-13));
  }
}
TEST_P(CrossEntropy, OfManyClasses) {
  const Case c{{3}, 1, 5000, false, false, 0.1};
  const Tensor x = random_tensor(random, {3, 5000}, 5.0), t = targets(c);
  expect(spec("cross_entropy", c), {x, t}, reference::cross_entropy(x, t, kIgnore, 0.1), tolerance(3e-6, 1e-13));
}
TEST_P(CrossEntropy, GradientIsTheDifferenceQuotient) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.classes)), t = targets(c),
                 dloss = random_tensor(random, c.rows);
    const Tensor dx = reference::gradient(
        [&](const auto& in) {
          return reference::inner(dloss, reference::cross_entropy(in[0], t, kIgnore, c.smoothing)[0]);
        },
        {x}, 0);
    expect(spec("cross_entropy_grad", c), {x, t, reference::cross_entropy(x, t, kIgnore, c.smoothing)[1], dloss}, {dx},
           tolerance(3e-6, 1e-9));
  }
}
/// Columns `held` of a matrix.
Tensor columns(const Tensor& whole, const std::vector<std::int64_t>& held) {
  const std::int64_t width = whole.shape.back(), rows = whole.size() / width;
  Tensor part = zeros({rows, static_cast<std::int64_t>(held.size())});
  for (std::int64_t i = 0; i < part.size(); ++i)
    part[i] = whole[i / part.shape[1] * width + held[static_cast<std::size_t>(i % part.shape[1])]];
  return part;
}

/// Classes 1, 2 and 5 of seven, and the other four: what two ranks hold.
struct Part {
  std::vector<std::int64_t> classes;
  std::vector<baleen_run_t> runs;
};
const std::vector<Part>& parts() {
  static const std::vector<Part> both{{{1, 2, 5}, {{0, 1, 2}, {2, 5, 1}}},
                                      {{0, 3, 4, 6}, {{0, 0, 1}, {1, 3, 2}, {3, 6, 1}}}};
  return both;
}

TEST_P(CrossEntropy, GradientOfSomeClassesIsThatOfAllThere) {
  const Case c{{6}, 1, 7, true, false, 0.1};
  const Tensor x = random_tensor(random, {6, 7}), t = targets(c), dloss = random_tensor(random, {6});
  const Tensor lse = reference::cross_entropy(x, t, kIgnore, c.smoothing)[1];
  const Tensor whole = run(spec("cross_entropy_grad", c), {x, t, lse, dloss}, {x})[0];
  for (const Part& part : parts()) {
    RunOptions options;
    options.global_shape = {6, 7};
    options.runs = {{{0, 0, 6}}, part.runs};
    expect(spec("cross_entropy_grad", c), {columns(x, part.classes), t, lse, dloss}, {columns(whole, part.classes)},
           tolerance(1e-6, 1e-15), true, options);
  }
}
TEST_P(CrossEntropy, FusedGradientsOfPartsAddUp) {
  const Case c{{2, 3}, 4, 7, true, false, 0.1};
  const Tensor x = random_tensor(random, {2, 3, 4}), w = random_tensor(random, {4, 7}), t = targets(c);
  const Tensor dloss = random_tensor(random, c.rows);
  const Tensor lse = reference::cross_entropy(reference::logits(x, w, false), t, kIgnore, c.smoothing)[1];
  const OpSpec op = spec("linear_cross_entropy_grad", c);
  const std::vector<Tensor> whole = run(op, {x, w, t, lse, dloss}, {x, w});
  Tensor sum = zeros(x.shape);
  for (const Part& part : parts()) {
    RunOptions options;
    options.global_shape = {4, 7};
    options.runs = {{{0, 0, 4}}, part.runs};
    const Tensor own = columns(w, part.classes), wanted = columns(whole[1], part.classes);
    const std::vector<Tensor> got = run(op, {x, own, t, lse, dloss}, {x, own}, options);
    for (std::int64_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[1][i], wanted[i], tolerance(1e-5, 1e-13)) << i;
    for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] += got[0][i];
  }
  for (std::int64_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], whole[0][i], tolerance(1e-5, 1e-13)) << i;
}
TEST_P(CrossEntropy, FusedWithItsMatmul) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.width)), t = targets(c);
    const Tensor w = random_tensor(random, c.transposed ? Shape{c.classes, c.width} : Shape{c.width, c.classes});
    expect(spec("linear_cross_entropy", c), {x, w, t},
           reference::cross_entropy(reference::logits(x, w, c.transposed), t, kIgnore, c.smoothing),
           tolerance(1e-5, 1e-13), false);
  }
}
TEST_P(CrossEntropy, FusedGradientIsTheDifferenceQuotient) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.width)), t = targets(c),
                 dloss = random_tensor(random, c.rows);
    const Tensor w = random_tensor(random, c.transposed ? Shape{c.classes, c.width} : Shape{c.width, c.classes});
    const auto losses = [&](const std::vector<Tensor>& in) {
      return reference::cross_entropy(reference::logits(in[0], in[1], c.transposed), t, kIgnore, c.smoothing);
    };
    const auto loss = [&](const std::vector<Tensor>& in) { return reference::inner(dloss, losses(in)[0]); };
    expect(spec("linear_cross_entropy_grad", c), {x, w, t, losses({x, w})[1], dloss},
           {reference::gradient(loss, {x, w}, 0), reference::gradient(loss, {x, w}, 1)}, tolerance(3e-5, 1e-9), false);
  }
}

/// Where a device has a kernel for both at once; to others programs give the two.
class JoinedCrossEntropy : public CrossEntropy {};

TEST_P(JoinedCrossEntropy, LossAndGradientAtOnceAreThoseOfTwoOps) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.width)), t = targets(c),
                 dloss = random_tensor(random, c.rows);
    const Tensor w = random_tensor(random, c.transposed ? Shape{c.classes, c.width} : Shape{c.width, c.classes});
    const auto losses = reference::cross_entropy(reference::logits(x, w, c.transposed), t, kIgnore, c.smoothing);
    const auto grads = run(spec("linear_cross_entropy_grad", c), {x, w, t, losses[1], dloss}, {x, w});
    expect(spec("linear_cross_entropy_and_grad", c), {x, w, t, dloss}, {losses[0], losses[1], grads[0], grads[1]},
           tolerance(1e-5, 1e-13), false);
  }
}
TEST_P(CrossEntropy, FusedWorksThroughSeveralChunksInBoundedScratch) {
  // 1200 rows of 40000 logits: 192 MB in fp32.
  const Case c{{1200}, 2, 40000, false, true, 0.0};
  const Tensor x = random_tensor(random, {1200, 2}), w = random_tensor(random, {40000, 2}), t = targets(c);
  const auto wanted = reference::cross_entropy(reference::logits(x, w, true), t, kIgnore, 0.0);
  const auto got = run(spec("linear_cross_entropy", c), {x, w, t}, wanted);
  for (std::int64_t i = 0; i < 1200; ++i) EXPECT_NEAR(got[0][i], wanted[0][i], tolerance(2e-4, 1e-11));
  // Each row of dx is p w - w[target].
  Tensor dloss = zeros({1200});
  std::fill(dloss.values.begin(), dloss.values.end(), 1.0);
  const auto grad =
      run(spec("linear_cross_entropy_grad", c), {x, w, t, wanted[1], dloss}, {zeros({1200, 2}), zeros({40000, 2})});
  const std::vector<Tensor> outputs = {wanted[0], wanted[1], grad[0], grad[1]};
  const auto both = joins() ? run(spec("linear_cross_entropy_and_grad", c), {x, w, t, dloss},
                                  {zeros({1200}), zeros({1200}), zeros({1200, 2}), zeros({40000, 2})})
                            : outputs;
  Tensor dx = zeros({1200, 2}), dw = zeros({40000, 2});
  for (std::int64_t i = 0; i < 1200; ++i)
    for (std::int64_t v = 0; v < 40000; ++v) {
      const double p =
          std::exp(x[i * 2] * w[v * 2] + x[i * 2 + 1] * w[v * 2 + 1] - wanted[1][i]) - (t[i] == static_cast<double>(v));
      for (std::int64_t d = 0; d < 2; ++d) {
        dx[i * 2 + d] += p * w[v * 2 + d];
        dw[v * 2 + d] += p * x[i * 2 + d];
      }
    }
  for (const auto& [got_dx, got_dw] : {std::pair{grad[0], grad[1]}, std::pair{both[2], both[3]}}) {
    for (std::int64_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(got_dx[i], dx[i], tolerance(2e-4, 1e-11));
    for (std::int64_t i = 0; i < dw.size(); ++i) ASSERT_NEAR(got_dw[i], dw[i], tolerance(2e-4, 1e-11));
  }
  for (std::int64_t i = 0; i < 1200; ++i) EXPECT_NEAR(both[0][i], wanted[0][i], tolerance(2e-4, 1e-11));
}
TEST_P(CrossEntropy, NamesTheOpAndTheTargetThatIsOutside) {
  Tensor t = random_ids(random, {4}, 0, 4);
  t[2] = 5;
  const OpSpec plain = OpSpec("cross_entropy").integer("ignore_index", -100);
  const OpSpec fused = OpSpec("linear_cross_entropy").integer("ignore_index", -100).integer("transposed", 0);
  std::vector<Tensor> out{zeros({4}), zeros({4})};
  EXPECT_EQ(one().run(plain, {zeros({4, 5}), t}, out, dtype()), BALEEN_INVALID);
  for (const char* part : {"suite.op", "5", "position 2", "[0, 5)"})
    EXPECT_NE(plugin().last_failure().find(part), std::string::npos) << plugin().last_failure();
  EXPECT_EQ(one().run(fused, {zeros({4, 3}), zeros({3, 5}), t}, out, dtype()), BALEEN_INVALID);
}

BALEEN_COMPUTE_SUITE(CrossEntropy);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JoinedCrossEntropy);  // where no member has such a kernel
INSTANTIATE_TEST_SUITE_P(Plugins, JoinedCrossEntropy,
                         testing::ValuesIn(members_that_compute(kJoined, {BALEEN_F32, BALEEN_F64})), case_name);

}  // namespace
}  // namespace baleen::conformance
