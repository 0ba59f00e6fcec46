/// \file attention and its gradient against whole score matrices.
#include <cmath>

#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

struct Sizes {
  std::int64_t batch, queries, keys, heads, groups, width;
};

class Attention : public ComputeTest {
 protected:
  struct Problem {
    Tensor q, k, v, ids_q, ids_k;
    reference::AttentionMask mask;
    double scale;
    std::vector<Tensor> inputs() const {
      if (!mask.ids_q) return {q, k, v};
      return {q, k, v, ids_q, ids_k};
    }
  };
  // The mask points into the problem: fill in place.
  void make(Problem& p, const Sizes& s, bool causal, bool ids) {
    p.q = random_tensor(random, {s.batch, s.queries, s.heads, s.width});
    p.k = random_tensor(random, {s.batch, s.keys, s.groups, s.width});
    p.v = random_tensor(random, {s.batch, s.keys, s.groups, s.width});
    p.scale = 1 / std::sqrt(static_cast<double>(s.width));
    p.mask.causal = causal;
    if (!ids) return;
    p.ids_q = random_ids(random, {s.batch, s.queries}, -1, 2);
    p.ids_k = random_ids(random, {s.batch, s.keys}, -1, 2);
    p.mask.ids_q = &p.ids_q;
    p.mask.ids_k = &p.ids_k;
  }
  static OpSpec spec(const std::string& kind, const Problem& p) {
    return OpSpec(kind).integer("causal", p.mask.causal).number("scale", p.scale);
  }
  void check(const Sizes& s, bool causal, bool ids) {
    SCOPED_TRACE(testing::Message() << "batch " << s.batch << ", queries " << s.queries << ", keys " << s.keys
                                    << ", heads " << s.heads << ", groups " << s.groups << ", width " << s.width
                                    << ", causal " << causal << ", ids " << ids);
    Problem p;
    make(p, s, causal, ids);
    expect(spec("attention", p), p.inputs(), reference::attention(p.q, p.k, p.v, p.mask, p.scale),
           tolerance(5e-6, 1e-13));
  }
  // By difference quotients where that is affordable, else by the plain formulas.
  void check_gradient(const Sizes& s, bool causal, bool ids, bool by_quotient) {
    SCOPED_TRACE(testing::Message() << "queries " << s.queries << ", keys " << s.keys << ", width " << s.width
                                    << ", causal " << causal << ", ids " << ids);
    Problem p;
    make(p, s, causal, ids);
    const Tensor d_o = random_tensor(random, p.q.shape);
    const auto loss = [&](const std::vector<Tensor>& in) {
      return reference::inner(d_o, reference::attention(in[0], in[1], in[2], p.mask, p.scale)[0]);
    };
    std::vector<Tensor> inputs = p.inputs(), wanted;
    for (const Tensor& t : reference::attention(p.q, p.k, p.v, p.mask, p.scale)) inputs.push_back(t);
    inputs.push_back(d_o);
    if (by_quotient)
      for (std::size_t i = 0; i < 3; ++i) wanted.push_back(reference::gradient(loss, {p.q, p.k, p.v}, i));
    else
      wanted = reference::attention_grad(p.q, p.k, p.v, p.mask, p.scale, d_o);
    expect(spec("attention_grad", p), inputs, wanted, tolerance(2e-5, by_quotient ? 1e-9 : 1e-12));
  }
};

TEST_P(Attention, OfAwkwardSizes) {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 1},
                         {2, 5, 5, 3, 3, 4},
                         {1, 64, 64, 2, 2, 16},
                         {1, 65, 65, 1, 1, 32},
                         {2, 70, 70, 4, 2, 20},
                         {1, 130, 130, 2, 1, 64},
                         {1, 3, 200, 2, 2, 7},
                         {1, 200, 3, 2, 2, 24},
                         {1, 100, 130, 1, 1, 16},
                         {2, 128, 138, 2, 1, 16},
                         {1, 130, 100, 1, 1, 16}})
    for (const bool causal : {false, true})
      for (const bool ids : {false, true}) check(s, causal, ids);
}
TEST_P(Attention, OfNoKeysIsZero) { check({1, 3, 0, 2, 2, 4}, false, false); }
TEST_P(Attention, OfNoQueriesIsEmpty) { check({1, 0, 3, 2, 2, 4}, true, false); }
TEST_P(Attention, StandsLargeScores) {
  Problem p;
  make(p, {1, 80, 80, 1, 1, 16}, true, false);
  p.scale = 100;
  expect(spec("attention", p), p.inputs(), reference::attention(p.q, p.k, p.v, p.mask, p.scale),
         tolerance(5e-4, 1e-11));
}
TEST_P(Attention, OfPaddingOnlyIsZero) {
  Problem p;
  make(p, {2, 9, 9, 2, 1, 8}, false, true);
  std::fill(p.ids_q.values.begin(), p.ids_q.values.end(), -1.0);
  std::fill(p.ids_k.values.begin(), p.ids_k.values.end(), -1.0);
  const auto out = run(spec("attention", p), p.inputs(), {zeros(p.q.shape), zeros({2, 2, 9})});
  for (const double x : out[0].values) EXPECT_EQ(x, 0.0);
  for (const double x : out[1].values) EXPECT_EQ(x, -INFINITY);
}
TEST_P(Attention, GradientIsTheDifferenceQuotient) {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 1}, {2, 5, 5, 2, 1, 3}, {1, 4, 7, 2, 2, 16}, {1, 7, 4, 2, 2, 2}})
    for (const bool causal : {false, true})
      for (const bool ids : {false, true}) check_gradient(s, causal, ids, true);
}
TEST_P(Attention, GradientOfSeveralBlocks) {
  for (const Sizes& s : {Sizes{2, 70, 70, 4, 2, 20},
                         {1, 130, 130, 2, 1, 64},
                         {1, 3, 200, 2, 2, 16},
                         {1, 200, 3, 2, 2, 24},
                         {1, 129, 129, 2, 2, 32},
                         {1, 100, 130, 1, 1, 16},
                         {1, 128, 138, 2, 1, 16},
                         {1, 130, 100, 1, 1, 16}})
    for (const bool causal : {false, true})
      for (const bool ids : {false, true}) check_gradient(s, causal, ids, false);
}
TEST_P(Attention, GradientOfNothingIsZero) {
  for (const bool causal : {false, true}) {
    check_gradient({1, 0, 3, 2, 2, 4}, causal, false, false);
    check_gradient({1, 3, 0, 2, 2, 4}, causal, false, false);
  }
}

BALEEN_COMPUTE_SUITE(Attention);

}  // namespace
}  // namespace baleen::conformance
