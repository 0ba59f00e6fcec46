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

}  // namespace
}  // namespace baleen::test
