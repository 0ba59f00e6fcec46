/// \file Random graphs with every freed buffer poisoned: whatever order, view, alias or assign comes about, the results
/// stay.
#include <gtest/gtest.h>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

TEST(RandomGraph, RunsAsTheReferenceDoes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Powers powers{{"regions", seed % 2 ? "true" : "false"},
                        {"aliases", seed % 3 ? "true" : "false"},
                        {"scratch", seed % 5 ? "0" : "70"}};
    expect_as_reference(random_graph(seed, 3 + static_cast<int>(seed % 20)), TOY, powers, 1, seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace baleen::test
