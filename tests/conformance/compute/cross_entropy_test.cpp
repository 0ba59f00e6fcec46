/// \file cross_entropy, the one fused with its matmul, and their gradients.
#include <cmath>

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
  static Shape with(Shape rows, std::int64_t last) {
    rows.push_back(last);
    return rows;
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const double smoothing : {0.0, 0.1})
    for (const bool ignores : {false, true}) {
      out.push_back({{1}, 1, 1, false, false, smoothing});
      out.push_back({{5}, 3, 7, ignores, true, smoothing});
      out.push_back({{2, 6}, 9, 65, ignores, false, smoothing});
      out.push_back({{0}, 4, 5, ignores, true, smoothing});
    }
  return out;
}

TEST_P(CrossEntropy, OfLogits) {
  for (Case c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.classes), 3.0), t = targets(c);
    expect(spec("cross_entropy", c), {x, t}, reference::cross_entropy(x, t, kIgnore, c.smoothing), tolerance(3e-6, 1e-13));
  }
}
TEST_P(CrossEntropy, OfManyClasses) {
  const Case c{{3}, 1, 5000, false, false, 0.1};
  const Tensor x = random_tensor(random, {3, 5000}, 5.0), t = targets(c);
  expect(spec("cross_entropy", c), {x, t}, reference::cross_entropy(x, t, kIgnore, 0.1), tolerance(3e-6, 1e-13));
}
TEST_P(CrossEntropy, GradientIsTheDifferenceQuotient) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.classes)), t = targets(c), dloss = random_tensor(random, c.rows);
    const Tensor dx = reference::gradient(
        [&](const auto& in) { return reference::inner(dloss, reference::cross_entropy(in[0], t, kIgnore, c.smoothing)[0]); }, {x}, 0);
    expect(spec("cross_entropy_grad", c), {x, t, reference::cross_entropy(x, t, kIgnore, c.smoothing)[1], dloss}, {dx}, tolerance(3e-6, 1e-9));
  }
}
TEST_P(CrossEntropy, FusedWithItsMatmul) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.width)), t = targets(c);
    const Tensor w = random_tensor(random, c.transposed ? Shape{c.classes, c.width} : Shape{c.width, c.classes});
    expect(spec("linear_cross_entropy", c), {x, w, t},
           reference::cross_entropy(reference::logits(x, w, c.transposed), t, kIgnore, c.smoothing), tolerance(1e-5, 1e-13), false);
  }
}
TEST_P(CrossEntropy, FusedGradientIsTheDifferenceQuotient) {
  for (const Case& c : cases()) {
    const Tensor x = random_tensor(random, with(c.rows, c.width)), t = targets(c), dloss = random_tensor(random, c.rows);
    const Tensor w = random_tensor(random, c.transposed ? Shape{c.classes, c.width} : Shape{c.width, c.classes});
    const auto losses = [&](const std::vector<Tensor>& in) {
      return reference::cross_entropy(reference::logits(in[0], in[1], c.transposed), t, kIgnore, c.smoothing);
    };
    const auto loss = [&](const std::vector<Tensor>& in) { return reference::inner(dloss, losses(in)[0]); };
    expect(spec("linear_cross_entropy_grad", c), {x, w, t, losses({x, w})[1], dloss},
           {reference::gradient(loss, {x, w}, 0), reference::gradient(loss, {x, w}, 1)}, tolerance(3e-5, 1e-9), false);
  }
}
TEST_P(CrossEntropy, FusedWorksThroughSeveralChunksInBoundedScratch) {
  // 400 rows of 40000 logits: 64 MB in fp32.
  const Case c{{400}, 2, 40000, false, true, 0.0};
  const Tensor x = random_tensor(random, {400, 2}), w = random_tensor(random, {40000, 2}), t = targets(c);
  const auto wanted = reference::cross_entropy(reference::logits(x, w, true), t, kIgnore, 0.0);
  const auto got = run(spec("linear_cross_entropy", c), {x, w, t}, wanted);
  for (std::int64_t i = 0; i < 400; ++i) EXPECT_NEAR(got[0][i], wanted[0][i], tolerance(2e-4, 1e-11));
  // Each row of dx is p w - w[target].
  Tensor dloss = zeros({400});
  std::fill(dloss.values.begin(), dloss.values.end(), 1.0);
  const auto grad = run(spec("linear_cross_entropy_grad", c), {x, w, t, wanted[1], dloss}, {zeros({400, 2}), zeros({40000, 2})});
  Tensor dx = zeros({400, 2}), dw = zeros({40000, 2});
  for (std::int64_t i = 0; i < 400; ++i)
    for (std::int64_t v = 0; v < 40000; ++v) {
      const double p = std::exp(x[i * 2] * w[v * 2] + x[i * 2 + 1] * w[v * 2 + 1] - wanted[1][i]) - (t[i] == static_cast<double>(v));
      for (std::int64_t d = 0; d < 2; ++d) {
        dx[i * 2 + d] += p * w[v * 2 + d];
        dw[v * 2 + d] += p * x[i * 2 + d];
      }
    }
  for (std::int64_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(grad[0][i], dx[i], tolerance(2e-4, 1e-11));
  for (std::int64_t i = 0; i < dw.size(); ++i) ASSERT_NEAR(grad[1][i], dw[i], tolerance(2e-4, 1e-11));
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

}  // namespace
}  // namespace baleen::conformance
