/// \file Micro-batches: the sums of the pieces are the whole.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

TEST(Micro, TheCutBatchGivesTheResultsOfTheWhole) {
  for (std::int64_t micro : {1, 2, 3, 6}) {
    SCOPED_TRACE(micro);
    expect_as_reference(training_graph(6), TOY, {}, micro, 11);
  }
}

TEST(Micro, AccumulationNeedsNoPowersOfTheDevice) {
  for (const char* lacking : {"regions", "aliases", "addend"}) {
    if (std::string(lacking) == "aliases") continue;  // accumulating in place is the one that is needed
    SCOPED_TRACE(lacking);
    expect_as_reference(training_graph(6), TOY, {{lacking, "false"}}, 3, 12);
  }
}

TEST(Micro, WithoutAccumulationInPlaceTheDeviceIsRefused) {
  EXPECT_THROW(Workbench(training_graph(6), make_device(TOY, {{"aliases", "false"}}), 2), std::runtime_error);
}

TEST(Micro, SmallerMicroBatchesNeedLessMemory) {
  const Graph graph = training_graph(24);
  const std::uint64_t whole = Workbench(graph, make_device(TOY)).program().memory().activations;
  const std::uint64_t cut = Workbench(graph, make_device(TOY), 6).program().memory().activations;
  EXPECT_LT(cut, whole / 2);
}

/// A weight's gradient is added up by the contraction itself: one sum, no term.
TEST(Micro, AContractionThatTakesAnAddendNeedsNoMemoryForTheTerm) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 50}), y = m.batch("y", {6, 60});
  m.output("g", m.matmul("bi,bo->io", x, y));
  Workbench adding(m.graph, make_device(TOY), 3), separate(m.graph, make_device(TOY, {{"addend", "false"}}), 3);
  EXPECT_EQ(separate.program().memory().peak_bytes - adding.program().memory().peak_bytes, 50u * 60 * 8);
  for (const Powers& powers : {Powers{}, Powers{{"addend", "false"}}}) expect_as_reference(m.graph, TOY, powers, 3, 13);
}

/// The norm is there only after the loop; passing the gradient on in pieces would compute it twice.
TEST(Micro, AGradientScaledByItsOwnNormIsComputedOnce) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), y = m.batch("y", {6, 7});
  const ValueId gradient = m.matmul("bi,bo->io", x, y);
  const ValueId norm = m.unary(BALEEN_X_SQRT, m.sum(m.binary(BALEEN_X_MUL, gradient, gradient), {0, 1}));
  m.output("clipped", m.binary(BALEEN_X_MUL, gradient, norm));
  const auto graph = scheduled(m.graph, 3);
  ASSERT_TRUE(graph) << graph.error().text();
  int contractions = 0;
  for (const Section& section : graph->sections)
    for (OpId op : section.ops) contractions += graph->graph.op(op).kind->has(kContraction);
  EXPECT_EQ(contractions, 1);
  expect_as_reference(m.graph, TOY, {}, 3, 17);
}

/// The term of the sum is read by another op of the loop as well.
TEST(Micro, ATermThatOthersReadIsKeptApart) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5});
  const ValueId sum = m.sum(x, {0});
  m.output("sum", sum);
  m.output("double", m.sum(m.scale(sum, 2), {0}));
  expect_as_reference(m.graph, TOY, {}, 3, 14);
}

/// A bias's gradient is a view of a reduction's result. Summed up only behind the rest of the backward pass, it would
/// hold up every collective that waits for it.
TEST(Micro, ATermThatIsAViewIsAddedUpRightBehindItsMaker) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), y = m.batch("y", {6, 7});
  const ValueId bias = m.reshape(m.sum(x, {0}), {1, 5});
  const ValueId weight = m.matmul("bi,bo->io", m.unary(BALEEN_X_TANH, x), y);
  m.output("weight", weight);
  m.output("bias", bias);
  const Powers powers{{"regions", "false"}};
  Workbench bench(m.graph, make_device(TOY, powers), 3, false);
  std::string guards;
  for (const Segment& segment : bench.program().segments())
    for (const Instruction& instruction : segment.instructions)
      if (segment.loop >= 0) guards += "afnl"[static_cast<int>(instruction.guard)];
  EXPECT_EQ(guards, "afnafn");  // always: the term, first and not first: its sum; then the weight's
  expect_as_reference(m.graph, TOY, powers, 3, 18);
}

/// A value that is computed once and read in the loop must outlive it.
TEST(Micro, WhatALoopReadsLivesUntilItsEnd) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), w = m.parameter("w", {5, 5});
  const ValueId softened = m.unary(BALEEN_X_TANH, w);
  ValueId h = m.matmul("bi,io->bo", x, softened);
  h = m.unary(BALEEN_X_SIN, m.unary(BALEEN_X_COS, h));
  m.output("y", m.sum(m.matmul("bi,io->bo", h, softened), {0, 1}));
  for (const Powers& powers : {Powers{}, Powers{{"regions", "false"}}})
    expect_as_reference(m.graph, TOY, powers, 3, 15);
}

/// Each micro-batch sees its rows of the batch through views of all sorts.
TEST(Micro, ViewsOfBatchInputsMoveWithTheMicroBatch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4, 5});
  const ValueId a = m.transpose(x, {0, 2, 1}), b = m.slice(x, 1, 1, 2);
  const ValueId flat = m.reshape(x, {6, 20});
  m.output("a", m.sum(m.unary(BALEEN_X_SIN, a), {0}));
  m.output("b", m.sum(m.unary(BALEEN_X_COS, m.reshape(b, {6, 10})), {0}));
  m.output("flat", m.sum(m.concat({flat, m.unary(BALEEN_X_TANH, flat)}, 1), {0}));
  expect_as_reference(m.graph, TOY, {}, 2, 16);
}

}  // namespace
}  // namespace baleen::test
