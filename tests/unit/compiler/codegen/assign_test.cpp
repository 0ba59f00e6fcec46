/// \file Assigned values are computed in place where nobody misses the old one; everybody else still reads the old one.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

const Powers kSingle{{"regions", "false"}};

std::size_t launches(const Graph& graph, const Powers& powers = kSingle) {
  return Workbench(graph, make_device(TOY, powers)).launches();
}

TEST(Assign, AnElementwiseUpdateIsDoneInPlace) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4}), x = m.batch("x", {3, 4});
  m.assign(w, m.binary(BALEEN_X_SUB, w, x));
  EXPECT_EQ(launches(m.graph), 1u);
  EXPECT_EQ(Workbench(m.graph, make_device(TOY, kSingle)).program().memory().activations, 0u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 31);
}

TEST(Assign, WithoutAliasesTheResultIsCopied) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4}), x = m.batch("x", {3, 4});
  m.assign(w, m.binary(BALEEN_X_SUB, w, x));
  const Powers powers{{"regions", "false"}, {"aliases", "false"}};
  EXPECT_EQ(launches(m.graph, powers), 2u);
  expect_as_reference(m.graph, TOY, powers, 1, 32);
}

/// Written down after the assign's value, the reader is moved before it.
TEST(Assign, ALaterReaderOfTheOldValueGoesFirst) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4}), x = m.batch("x", {3, 4});
  m.assign(w, m.binary(BALEEN_X_SUB, w, x));
  m.output("old", m.unary(BALEEN_X_SIN, w));
  EXPECT_EQ(launches(m.graph), 2u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 33);
}

TEST(Assign, AReaderOfBothOldAndNewMakesACopyNecessary) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4}), x = m.batch("x", {3, 4});
  const ValueId next = m.binary(BALEEN_X_SUB, w, x);
  m.assign(w, next);
  m.output("change", m.binary(BALEEN_X_DIV, next, w));
  EXPECT_EQ(launches(m.graph), 3u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 34);
}

TEST(Assign, TwoParametersCanBeExchanged) {
  GraphMaker m;
  const ValueId a = m.parameter("a", {3, 4}), b = m.parameter("b", {3, 4});
  m.assign(a, b);
  m.assign(b, a);
  EXPECT_EQ(launches(m.graph), 3u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 35, 3);
}

TEST(Assign, ThreeParametersCanBeRotatedWithArithmetic) {
  GraphMaker m;
  const ValueId a = m.parameter("a", {3, 4}), b = m.parameter("b", {3, 4}), c = m.parameter("c", {3, 4});
  m.assign(a, m.scale(b, 2));
  m.assign(b, m.scale(c, 3));
  m.assign(c, m.binary(BALEEN_X_ADD, a, b));
  expect_as_reference(m.graph, TOY, kSingle, 1, 36, 3);
}

TEST(Assign, OneValueMayBeAssignedTwice) {
  GraphMaker m;
  const ValueId a = m.parameter("a", {3, 4}), b = m.parameter("b", {3, 4});
  const ValueId sum = m.binary(BALEEN_X_ADD, a, b);
  m.assign(a, sum);
  m.assign(b, sum);
  m.output("sum", sum);
  expect_as_reference(m.graph, TOY, kSingle, 1, 37, 3);
}

TEST(Assign, AnOutputOfTheOldValueKeepsIt) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4});
  m.assign(w, m.scale(w, 0.5));
  m.output("old", w);
  m.output("column", m.slice(w, 1, 2, 1));
  expect_as_reference(m.graph, TOY, kSingle, 1, 38, 3);
}

TEST(Assign, AKernelThatReadsTheTargetTransposedDoesNotWriteIntoIt) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {4, 4});
  m.assign(w, m.binary(BALEEN_X_ADD, w, m.transpose(w, {1, 0})));
  EXPECT_EQ(launches(m.graph), 2u);
  expect_as_reference(m.graph, TOY, kSingle, 1, 39, 3);
}

TEST(Assign, AnInputAndAViewCanBeAssigned) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {3, 4}), v = m.parameter("v", {12}), x = m.batch("x", {3, 4});
  m.assign(w, x);
  m.assign(v, m.reshape(w, {12}));
  expect_as_reference(m.graph, TOY, kSingle, 1, 40, 3);
}

}  // namespace
}  // namespace baleen::test
