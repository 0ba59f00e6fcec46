/// \file Whole programs against the reference interpreter, and what a program says about its memory.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

const Powers kPlain{{"regions", "false"}, {"aliases", "false"}, {"addend", "false"}};

TEST(Program, TrainsAsTheReferenceDoes) { expect_as_reference(training_graph(6), TOY, {}, 1, 1); }

TEST(Program, PowersOfTheDeviceChangeNoResult) {
  for (const char* power : {"regions", "aliases", "addend"}) {
    SCOPED_TRACE(power);
    Powers powers = kPlain;
    powers[power] = "true";
    expect_as_reference(training_graph(6), TOY, powers, 1, 2);
  }
}

TEST(Program, ScratchOfAKernelTouchesNothingElse) {
  expect_as_reference(training_graph(6), TOY, {{"scratch", "1000"}}, 1, 3);
}

TEST(Program, RegionsSaveLaunchesAndAliasesSaveMemory) {
  const Graph graph = training_graph(6);
  Workbench plain(graph, make_device(TOY, kPlain)), able(graph, make_device(TOY));
  EXPECT_LT(able.launches(), plain.launches());
  EXPECT_LT(able.program().memory().peak_bytes, plain.program().memory().peak_bytes);
}

TEST(Program, TheReportAddsUpToThePeak) {
  Workbench bench(training_graph(6), make_device(TOY, {{"scratch", "100"}}));
  const MemoryReport& memory = bench.program().memory();
  EXPECT_EQ(memory.inputs + memory.activations + memory.gradients + memory.scratch, memory.peak_bytes);
  EXPECT_GE(memory.arena_bytes, memory.peak_bytes);
  EXPECT_GE(memory.scratch, 100u);
  EXPECT_GT(memory.inputs, 0u);
}

/// exp and its sum: x, y and the result of a chain of two ops, on paper.
TEST(Program, PeakOfAChainIsKnown) {
  GraphMaker m;
  const ValueId x = m.batch("x", {1000});
  m.output("y", m.sum(m.unary(BALEEN_X_EXP, m.unary(BALEEN_X_SIN, x)), {0}));
  Workbench bench(m.graph, make_device(TOY, kPlain));
  // Two of the three vectors live at once; 8,000 bytes are 125 lines.
  EXPECT_EQ(bench.program().memory().peak_bytes, 2u * 8000);
  Workbench in_place(m.graph, make_device(TOY, {{"regions", "false"}}));
  // The second vector takes the bytes of the first.
  EXPECT_EQ(in_place.program().memory().peak_bytes, 2u * 8000);
}

TEST(Program, FlopsAreThoseOfTheWholeBatch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), w = m.parameter("w", {5, 7});
  m.output("y", m.sum(m.matmul("bi,io->bo", x, w), {0, 1}));
  const double once = Workbench(m.graph, make_device(TOY)).program().flops();
  EXPECT_GE(once, 2.0 * 6 * 5 * 7);
  // The sum of the micro-batches' results is one addition more.
  EXPECT_EQ(Workbench(m.graph, make_device(TOY), 3).program().flops(), once + 1);
}

TEST(Program, SpansNameTheLayersInOrder) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), w = m.parameter("w", {5, 7});
  m.output("y", m.op("softmax", {m.matmul("bi,io->bo", x, w)}, {}, "head"));
  Workbench bench(m.graph, make_device(TOY));
  std::vector<SpanRecord> spans;
  std::vector<std::int64_t> segments(bench.program().segments().size(), 0);
  ASSERT_TRUE(bench.program().run(bench.device().stream(), {0, 0, &spans, &segments}));
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_STREQ(spans[0].name, "bi,io->bo (matmul)");
  EXPECT_STREQ(spans[1].name, "head (softmax)");
  EXPECT_LE(spans[0].begin, spans[0].end);
  EXPECT_LE(spans[0].end, spans[1].begin);
  EXPECT_GE(segments[0], spans[1].end - spans[0].begin);
}

TEST(Program, AnOpThatTheDeviceCannotComputeIsNamedWithItsLayer) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), w = m.parameter("w", {5, 7});
  m.output("y", m.matmul("bi,io->bo", x, w));
  try {
    Workbench bench(m.graph, make_device(TOY, {{"lacks", "matmul"}}));
    FAIL() << "compiled";
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("bi,io->bo"), std::string::npos) << text;
    EXPECT_NE(text.find("`matmul` of fp64 [6, 5], fp64 [5, 7]"), std::string::npos) << text;
  }
}

TEST(Program, AnInputMayBeAnOutput) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 5}), w = m.parameter("w", {5, 7});
  m.output("x again", x);
  m.output("transposed", m.transpose(x, {1, 0}));
  m.output("w again", w);
  expect_as_reference(m.graph, TOY, {}, 1, 4);
}

}  // namespace
}  // namespace baleen::test
