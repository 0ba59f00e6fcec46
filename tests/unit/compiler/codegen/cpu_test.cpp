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

}  // namespace
}  // namespace baleen::test
