/// \file softmax, norm and their gradients.
#include <cmath>
#include <limits>

#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

class Softmax : public ComputeTest {};
class Norm : public ComputeTest {
 protected:
  OpSpec spec(const std::string& kind, bool layer) const {
    return OpSpec(kind).text("kind", layer ? "layer" : "rms").number("epsilon", 1e-5);
  }
};

TEST_P(Softmax, OfAwkwardSizes) {
  for (const Shape& shape : {Shape{1}, {7}, {3, 5}, {2, 3, 65}, {4, 1}, {3, 1025}, {0, 4}})
    for (const double deviation : {1.0, 30.0}) {
      const Tensor x = random_tensor(random, shape, deviation);
      expect(OpSpec("softmax"), {x}, {reference::softmax(x)}, tolerance(2e-6, 1e-14));
    }
}
TEST_P(Softmax, TakesMaskedScores) {
  Tensor x = random_tensor(random, {3, 9});
  for (const std::int64_t i : {0, 4, 9, 10, 26}) x[i] = -std::numeric_limits<double>::infinity();
  expect(OpSpec("softmax"), {x}, {reference::softmax(x)}, tolerance(1e-6, 1e-14));
}
TEST_P(Softmax, GradientIsTheDifferenceQuotient) {
  const Tensor x = random_tensor(random, {4, 11}), weight = random_tensor(random, {4, 11});
  const Tensor y = reference::softmax(x);
  const Tensor dx =
      reference::gradient([&](const auto& in) { return reference::inner(weight, reference::softmax(in[0])); }, {x}, 0);
  expect(OpSpec("softmax_grad"), {y, weight}, {dx}, tolerance(1e-6, 1e-9));
}

TEST_P(Norm, OfAwkwardSizes) {
  for (const Shape& shape : {Shape{1, 1}, {3, 7}, {2, 3, 64}, {5, 129}, {2, 3000}, {0, 8}})
    for (const bool layer : {true, false})
      for (const bool has_beta : {false, true}) {
        if (!layer && has_beta) continue;
        const Tensor x = random_tensor(random, shape, 2.0, 3.0), gamma = random_tensor(random, {shape.back()}),
                     beta = random_tensor(random, {shape.back()});
        std::vector<Tensor> inputs{x, gamma};
        if (has_beta) inputs.push_back(beta);
        expect(spec("norm", layer), inputs, reference::norm(x, gamma, has_beta ? &beta : nullptr, layer, 1e-5),
               tolerance(1e-5, 1e-12));
      }
}
TEST_P(Norm, SurvivesALargeMean) {
  const Tensor x = random_tensor(random, {3, 256}, 1.0, 1000.0), gamma = random_tensor(random, {256});
  expect(spec("norm", true), {x, gamma}, reference::norm(x, gamma, nullptr, true, 1e-5), tolerance(1e-3, 1e-10));
}
TEST_P(Norm, GradientIsTheDifferenceQuotient) {
  for (const Shape& shape : {Shape{3, 7}, {2, 2, 18}, {70, 3}})
    for (const bool layer : {true, false}) {
      const bool has_beta = layer;
      const Tensor x = random_tensor(random, shape), gamma = random_tensor(random, {shape.back()}),
                   beta = random_tensor(random, {shape.back()}), dy = random_tensor(random, shape);
      const auto forward = reference::norm(x, gamma, nullptr, layer, 1e-5);
      const auto loss = [&](const std::vector<Tensor>& in) {
        return reference::inner(dy, reference::norm(in[0], in[1], &in[2], layer, 1e-5)[0]);
      };
      std::vector<Tensor> inputs{x, gamma, dy, forward[1]}, wanted;
      if (layer) inputs.push_back(forward[2]);
      for (std::size_t i = 0; i < (has_beta ? 3u : 2u); ++i)
        wanted.push_back(reference::gradient(loss, {x, gamma, beta}, i));
      expect(spec("norm_grad", layer).integer("bias", has_beta), inputs, wanted, tolerance(5e-5, 1e-7));
    }
}
TEST_P(Norm, RefusesAnUnknownKind) {
  std::vector<Tensor> out{zeros({2, 4}), zeros({2})};
  EXPECT_EQ(one().run(OpSpec("norm").text("kind", "batch").number("epsilon", 1e-5), {zeros({2, 4}), zeros({4})}, out,
                      dtype()),
            BALEEN_INVALID);
}

BALEEN_COMPUTE_SUITE(Softmax);
BALEEN_COMPUTE_SUITE(Norm);

}  // namespace
}  // namespace baleen::conformance
