/// \file Parts of a concat are computed where they belong; where that is not possible they are copied.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

const Powers kSingle{{"regions", "false"}};

std::size_t launches(const Graph& graph) { return Workbench(graph, make_device(TOY, kSingle)).launches(); }

TEST(Concat, ComputedPartsNeedNoCopy) {
  for (std::int64_t dim : {0, 1}) {
    GraphMaker m;
    const ValueId x = m.batch("x", {3, 4});
    const ValueId a = m.unary(BALEEN_X_SIN, x), b = m.unary(BALEEN_X_COS, x);
    m.output("y", m.concat({a, b}, dim));
    EXPECT_EQ(launches(m.graph), 2u);
    expect_as_reference(m.graph, TOY, kSingle, 1, 21);
  }
}

TEST(Concat, AnInputAViewAParameterAndARepetitionAreCopied) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4}), w = m.parameter("w", {3, 4});
  const ValueId a = m.unary(BALEEN_X_SIN, x), b = m.unary(BALEEN_X_COS, x);
  m.output("y", m.concat({x, a, w, m.slice(b, 0, 1, 2), a}, 0));
  // sin, cos, and copies of x, a, w, the slice, a.
  EXPECT_EQ(launches(m.graph), 7u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 22);
}

TEST(Concat, APartThatLiesInTwoResultsIsCopiedOnce) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4});
  const ValueId a = m.unary(BALEEN_X_SIN, x), b = m.unary(BALEEN_X_COS, x), c = m.unary(BALEEN_X_TANH, x);
  m.output("y", m.concat({a, b}, 1));
  m.output("z", m.concat({c, a}, 0));
  EXPECT_EQ(launches(m.graph), 4u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 23);
}

TEST(Concat, PartsAreReadByOthersToo) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4});
  const ValueId a = m.unary(BALEEN_X_SIN, x), b = m.unary(BALEEN_X_COS, a);
  const ValueId y = m.concat({a, b}, 1);
  m.output("y", m.unary(BALEEN_X_TANH, y));
  m.output("product", m.matmul("ab,cb->ac", a, b));
  m.output("nested", m.concat({y, m.unary(BALEEN_X_EXP, y)}, 0));
  expect_as_reference(m.graph, TOY, {}, 1, 24);
}

TEST(Concat, ComputedPartsAreSeenThroughReshapesAndTransposes) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4});
  const ValueId a = m.reshape(m.unary(BALEEN_X_SIN, x), {3, 1, 4}), b = m.reshape(m.unary(BALEEN_X_COS, x), {3, 1, 4});
  const ValueId c = m.reshape(m.transpose(m.unary(BALEEN_X_TANH, m.transpose(x, {1, 0})), {1, 0}), {3, 1, 4});
  m.output("y", m.concat({a, b, c}, 1));
  EXPECT_EQ(launches(m.graph), 3u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 26);
}

/// Pairs that lie three apart are rows of two, and no rows of four.
TEST(Concat, APartWhoseReshapeIsNoViewThereIsCopied) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4});
  const ValueId a = m.reshape(m.unary(BALEEN_X_SIN, x), {6, 2}), b = m.reshape(m.unary(BALEEN_X_COS, x), {6, 2});
  m.output("y", m.concat({a, m.slice(b, 1, 0, 1)}, 1));
  EXPECT_EQ(launches(m.graph), 4u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 27);
}

TEST(Concat, AReshapeOfATransposeIsCopiedFirst) {
  GraphMaker m;
  const ValueId x = m.batch("x", {3, 4});
  const ValueId a = m.unary(BALEEN_X_SIN, x);
  m.output("y", m.unary(BALEEN_X_COS, m.reshape(m.transpose(a, {1, 0}), {2, 6})));
  EXPECT_EQ(launches(m.graph), 3u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 25);
}

}  // namespace
}  // namespace baleen::test
