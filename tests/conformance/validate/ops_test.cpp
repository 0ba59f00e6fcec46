/// \file Kinds of ops that are wrong: each is found by its case.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "verdict.hpp"

namespace baleen::test {
namespace {

/// Kinds of ops have no options: each wrong one has a name.
TEST(Planted, KindsOfOpsAreFoundByTheirCase) {
  const std::map<std::string, std::string> wrong = {
      {"cube_steep", "along a random direction its results have the slope "},
      {"cube_turned", ", and by its gradient "},
      {"cube_spread", ", and on two ranks "},
      {"cube_rounded", ", and in fp32 "},
      {"cube_breaks", "killed by SIGSEGV in `infer`"},
      {"cube_hangs", "hangs: after "},
      {"cube_scaled", "of operands f8x6, with scale = 0.5: along a random direction"},
      {"cube_leaky", "along a random direction its results have the slope "},
      {"cube_flat", "of operands f8x4x6: a run "},
      {"cube_dies_of_vectors", "killed by SIGABRT in `infer`"},
      {"cube_dies_of_letters", "its graph is killed by signal 6: error: crashed (SIGABRT) in op `planted`"},
      {"cube_lacks_letters", "rule iteration: gave "},
      {"cube_narrow", "the gradient rule of cube_narrow"},
      {"product_loose", "of operands f5x6,f8x6: a run "},
      {"product_both", "of operands f8x6,f8x6, where only `b` is learnt: "}};
  const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_op_planted.so", {"--limit", "30"});
  EXPECT_EQ(verdict.process.exit_code, kCaseFailed) << verdict.process.err;
  for (const char* name : {"op.kinds", "op.cube_sound", "op.cube_bounded"})
    EXPECT_EQ(verdict.result(name), "passed") << name << ": " << verdict.reason(name);
  EXPECT_EQ(verdict.result("op.cube_elsewhere"), "skipped") << verdict.reason("op.cube_elsewhere");
  EXPECT_NE(verdict.reason("op.cube_elsewhere").find("not finite on the numbers that were tried"), std::string::npos);
  for (const auto& [name, reason] : wrong) {
    EXPECT_EQ(verdict.result("op." + name), "failed") << name << ": " << verdict.reason("op." + name);
    EXPECT_NE(verdict.reason("op." + name).find(reason), std::string::npos) << verdict.reason("op." + name);
  }
}

}  // namespace
}  // namespace baleen::test
