/// \file matmul: every arrangement of letters against the plain contraction.
#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

class Matmul : public ComputeTest {
 protected:
  struct Case {
    std::string spec;
    Shape a, b;
  };
  // The order of sums may depend on the threads.
  void check(const Case& c) {
    SCOPED_TRACE(c.spec);
    const Tensor a = random_tensor(random, c.a), b = random_tensor(random, c.b);
    const Tensor product = reference::matmul(c.spec, a, b);
    const double close = tolerance(2e-5, 1e-13);
    expect(OpSpec("matmul").text("spec", c.spec), {a, b}, {product}, close, false);
    Tensor sum = random_tensor(random, product.shape);
    const Tensor initial = sum;
    for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] += product[i];
    expect(OpSpec("matmul").text("spec", c.spec), {a, b, initial}, {sum}, close, false);
  }
};

TEST_P(Matmul, ComputesPlainProductsOfAwkwardSizes) {
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {7, 5, 3}, {1, 33, 17}, {65, 1, 31}, {50, 129, 97}, {64, 64, 1}})
    check({"mk,kn->mn", {m, k}, {k, n}});
}
TEST_P(Matmul, ComputesEveryTransposition) {
  for (const char* spec : {"mk,kn->mn", "mk,kn->nm", "km,kn->mn", "km,nk->mn", "mk,nk->mn", "km,nk->nm"}) {
    const std::string s = spec;
    const auto shape = [&](std::size_t at) {
      Shape out;
      for (const char l : s.substr(at, 2)) out.push_back(l == 'm' ? 13 : l == 'k' ? 21 : 34);
      return out;
    };
    check({s, shape(0), shape(3)});
  }
}
TEST_P(Matmul, ComputesTheProductsOfATransformer) {
  check({"bsd,dche->bsche", {2, 5, 12}, {12, 3, 2, 4}});       // qkv
  check({"bsche,dche->bsd", {2, 5, 3, 2, 4}, {12, 3, 2, 4}});  // its gradient to x
  check({"bsd,bsche->dche", {2, 5, 12}, {2, 5, 3, 2, 4}});     // its gradient to the weight
  check({"bshe,hed->bsd", {2, 5, 3, 4}, {3, 4, 12}});          // output projection
  check({"bsd,bshe->hed", {2, 5, 12}, {2, 5, 3, 4}});
}
TEST_P(Matmul, ComputesBatches) {
  check({"bmk,bkn->bmn", {3, 7, 5}, {3, 5, 6}});
  check({"abmk,abkn->abmn", {2, 3, 4, 5}, {2, 3, 5, 6}});
  check({"bhse,bhte->bhst", {2, 3, 4, 5}, {2, 3, 6, 5}});
  check({"bshe,bthe->bhst", {2, 4, 3, 5}, {2, 6, 3, 5}});
  check({"bmk,kn->bmn", {3, 7, 5}, {5, 6}});
  check({"mk,bkn->bmn", {7, 5}, {3, 5, 6}});
}
TEST_P(Matmul, ComputesLettersThatDoNotMerge) {
  check({"akb,bn->nka", {3, 4, 5}, {5, 6}});
  check({"akb,kbn->an", {3, 4, 5}, {4, 5, 6}});
  check({"abk,bak->ab", {3, 4, 5}, {4, 3, 5}});
  check({"xkym,kn->mxyn", {2, 3, 4, 5}, {3, 6}});
  check({"kam,bkan->bmn", {3, 4, 5}, {2, 3, 4, 6}});
}
TEST_P(Matmul, ComputesOuterAndInnerProducts) {
  check({"m,n->mn", {9}, {7}});
  check({"k,k->", {9}, {9}});
  check({"mk,k->m", {9, 5}, {5}});
}
TEST_P(Matmul, ReadsBroadcastOperands) {
  Tensor a = random_tensor(random, {6, 5});
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t k = 0; k < 5; ++k) a[i * 5 + k] = a[k];
  a.broadcast = {true, false};
  const Tensor b = random_tensor(random, {5, 7});
  expect(OpSpec("matmul").text("spec", "mk,kn->mn"), {a, b}, {reference::matmul("mk,kn->mn", a, b)},
         tolerance(1e-5, 1e-13), false);
}
TEST_P(Matmul, GivesZeroOrTheThirdOperandForAnEmptySum) {
  const Tensor c = random_tensor(random, {3, 4});
  expect(OpSpec("matmul").text("spec", "mk,kn->mn"), {zeros({3, 0}), zeros({0, 4})}, {zeros({3, 4})}, 0);
  expect(OpSpec("matmul").text("spec", "mk,kn->mn"), {zeros({3, 0}), zeros({0, 4}), c}, {c}, 0);
  expect(OpSpec("matmul").text("spec", "mk,kn->mn"), {zeros({0, 2}), zeros({2, 4})}, {zeros({0, 4})}, 0);
}
TEST_P(Matmul, RefusesASpecThatIsNoContraction) {
  std::vector<Tensor> out{zeros({2, 2})};
  for (const char* spec : {"mk kn->mn", "mk,kn", "mkz,kn->mn", "mk,kn->m"}) {
    EXPECT_EQ(one().run(OpSpec("matmul").text("spec", spec), {zeros({2, 2}), zeros({2, 2})}, out, dtype()),
              BALEEN_INVALID)
        << spec;
    EXPECT_NE(plugin().last_failure().find(spec), std::string::npos) << plugin().last_failure();
  }
}

BALEEN_COMPUTE_SUITE(Matmul);

}  // namespace
}  // namespace baleen::conformance
