/// \file softmax, norm and their gradients.
#include <cmath>
#include <limits>

#include "baleen/region.hpp"
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
/// What passes beside a norm is added to its gradient in one region. Of rows that devices hold in registers, and
/// others.
TEST_P(Norm, GradientIsAddedToWhatPassesBesideTheNorm) {
  const baleen_instruction_t x0{BALEEN_X_INPUT, 0, 0, 0, 0}, x1{BALEEN_X_INPUT, 1, 0, 0, 0};
  const std::vector<baleen_dtype_t> dtypes = is_double()
                                                 ? std::vector<baleen_dtype_t>{BALEEN_F64}
                                                 : std::vector<baleen_dtype_t>{BALEEN_F32, BALEEN_BF16, BALEEN_F16};
  for (const baleen_dtype_t own : dtypes)
    for (const Shape& shape : {Shape{3, 7}, {2, 2, 64}, {1, 768}, {1, 1280}, {1, 2056}, {1, 3001}, {0, 8}})
      for (const bool layer : {true, false}) {
        if (!layer && shape.back() > 64) continue;  // the same kernels
        SCOPED_TRACE(std::string(dtype_name(own)) + ", width " + std::to_string(shape.back()));
        const auto in = [own](Tensor tensor, baleen_dtype_t dtype) {
          for (double& value : tensor.values) value = rounded(value, own);
          tensor.dtype = dtype;
          return tensor;
        };
        const baleen_dtype_t wide = sdk::computed_in(own);
        const Tensor x = in(random_tensor(random, shape), own), gamma = in(random_tensor(random, {shape.back()}), own);
        const auto forward = reference::norm(x, gamma, nullptr, layer, 1e-5);
        std::vector<Tensor> inputs{x, gamma, in(random_tensor(random, shape), own), forward[1]};
        if (layer) inputs.push_back(forward[2]);
        for (std::size_t i = 3; i < inputs.size(); ++i) inputs[i].dtype = wide;
        std::vector<Tensor> wanted{zeros(shape), zeros({shape.back()}), zeros({shape.back()})};
        wanted[0].dtype = own;
        wanted[1].dtype = wanted[2].dtype = wide;
        const OpSpec first = spec("norm_grad", layer).integer("bias", 1);
        wanted = run(first, inputs, wanted);
        const Tensor added = in(random_tensor(random, shape), own);
        for (std::int64_t i = 0; i < added.size(); ++i)
          wanted[0][i] = rounded(rounded(wanted[0][i] + added[i], wide), own);
        const baleen_instruction_t add{BALEEN_X_ADD, layer ? 1u : 0u, layer ? 0u : 1u, 0, 0};  // in either order
        const OpSpec sum = OpSpec("pointwise").expression({x0, x1, add}, {2});
        RunOptions options;
        options.behind = &sum;
        options.first_inputs = inputs.size();
        options.first_outputs = 2;
        inputs.push_back(added);
        if (!one().supports(first, inputs, wanted, dtype(), options)) {
          EXPECT_NE(own, wide) << "no kernel for it";
          continue;
        }
        EXPECT_EQ(run(first, inputs, wanted, options)[0].values, wanted[0].values);
        const double limit = own == BALEEN_BF16 ? 8e-3 : own == BALEEN_F16 ? 1e-3 : tolerance(2e-6, 1e-13);
        expect(first, inputs, wanted, limit, true, options);  // rows that lie otherwise are added up otherwise
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
