/// \file Programs on the real device: strided views, aliases and regions as it offers them.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

const Powers kTwoThreads{{"threads", "2"}, {"pin", "false"}};

TEST(ProgramOnCpu, TrainsAsTheReferenceDoes) {
  for (std::int64_t micro : {1, 2, 3}) {
    SCOPED_TRACE(micro);
    expect_as_reference(training_graph(6), CPU, kTwoThreads, micro, 51, 3);
  }
}

TEST(ProgramOnCpu, RandomGraphsRunAsTheReferenceDoes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_as_reference(random_graph(seed, 3 + static_cast<int>(seed % 20)), CPU, kTwoThreads, 1, seed);
    if (HasFatalFailure()) return;
  }
}

/// The norm of a gradient reads it once.
TEST(ProgramOnCpu, SquaresThatAreAddedUpAreStoredNowhere) {
  for (const Shape& shape : {Shape{64, 300}, Shape{3, 40000}, Shape{700, 9}})
    for (const std::vector<std::int64_t>& dims :
         {std::vector<std::int64_t>{0, 1}, std::vector<std::int64_t>{0}, std::vector<std::int64_t>{1}}) {
      GraphMaker m;
      const ValueId x = m.parameter("x", shape);
      m.output("y", m.sum(m.binary(BALEEN_X_MUL, x, x), dims));
      Workbench bench(m.graph, make_device(CPU, kTwoThreads), 1, false);
      EXPECT_EQ(bench.program().executable().segments[0].instructions.size(), 1u) << "one launch";
      expect_as_reference(m.graph, CPU, kTwoThreads, 1, 53);
    }
}

/// As scales of 8 bits need it.
TEST(ProgramOnCpu, MagnitudesOfWhichTheLargestIsFoundAreStoredNowhere) {
  GraphMaker m;
  const ValueId x = m.parameter("x", {64, 300});
  const std::vector<std::int64_t> dims{0, 1};
  const Attributes largest{{"kind", std::string("max")}, {"dims", dims}, {"keep", Attributes::ints({0})}};
  m.output("y", m.op("reduce", {m.unary(BALEEN_X_ABS, x)}, largest));
  Workbench bench(m.graph, make_device(CPU, kTwoThreads), 1, false);
  EXPECT_EQ(bench.program().executable().segments[0].instructions.size(), 1u) << "one launch";
  expect_as_reference(m.graph, CPU, kTwoThreads, 1, 54);
}

/// A residual block's gradient: that of the norm and what passes beside it are added where the first one is made.
TEST(ProgramOnCpu, GradientsOfNormsAreAddedToWhatPassesBesideThem) {
  enum class Case { alone, kept, read_before };
  for (const Case which : {Case::alone, Case::kept, Case::read_before}) {
    SCOPED_TRACE(static_cast<int>(which));
    GraphMaker m;
    const Shape shape{6, 40};
    const std::vector<ValueId> made =
        m.ops("norm_grad",
              {m.parameter("x", shape), m.parameter("gamma", {40}), m.parameter("dy", shape), m.parameter("rstd", {6}),
               m.parameter("mean", {6})},
              {{"kind", std::string("layer")}, {"bias", Attributes::ints({1})}});
    ValueId beside = m.parameter("beside", shape);
    if (which == Case::read_before) beside = m.binary(BALEEN_X_MUL, beside, m.reshape(made[1], {1, 40}));
    m.output("sum", m.binary(BALEEN_X_ADD, made[0], beside));
    m.output("dgamma", made[1]);
    m.output("dbeta", made[2]);
    if (which == Case::kept) m.output("dx", made[0]);
    Workbench bench(m.graph, make_device(CPU, kTwoThreads), 1, false);
    std::size_t launches = 0;
    for (const Instruction& one : bench.program().executable().segments[0].instructions)
      launches += one.kind == Instruction::Kind::launch;
    EXPECT_EQ(launches, which == Case::alone ? 1u : which == Case::kept ? 2u : 3u);
    expect_as_reference(m.graph, CPU, kTwoThreads, 1, 55);
  }
}

}  // namespace
}  // namespace baleen::test
