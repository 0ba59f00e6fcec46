/// \file What a device lacks is computed by the kinds' expansions, whole and in micro-batches.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

TEST(Expand, LackingKindsAreComputedByOthers) {
  for (const char* lacks : {"norm", "norm_grad", "cross_entropy", "cross_entropy_grad",
                            "norm,norm_grad,cross_entropy,cross_entropy_grad,softmax"}) {
    SCOPED_TRACE(lacks);
    expect_as_reference(training_graph(6), TOY, {{"lacks", lacks}}, 1, 41);
  }
}

TEST(Expand, ExpansionsAreCutIntoMicroBatches) {
  expect_as_reference(training_graph(6), TOY, {{"lacks", "norm,norm_grad,cross_entropy,cross_entropy_grad"}}, 3, 42);
}

Graph attention_graph() {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4, 2, 3}), w = m.parameter("w", {3, 3});
  const ValueId q = m.matmul("bshe,ef->bshf", x, w);
  const auto made =
      m.ops("attention", {q, x, x}, {{"causal", Attributes::ints({1})}, {"scale", Attributes::floats({0.5})}});
  m.output("y", m.sum(made[0], {0, 1, 2, 3}));
  return std::move(m.graph);
}

TEST(Expand, AttentionIsExpandedWholeAndCut) {
  for (std::int64_t micro : {1, 3}) expect_as_reference(attention_graph(), TOY, {{"lacks", "attention"}}, micro, 43);
}

}  // namespace
}  // namespace baleen::test
