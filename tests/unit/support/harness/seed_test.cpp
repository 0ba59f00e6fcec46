/// \file Random tests can be repeated: judged by what another program (child.cpp) draws.
#include "support/seed.hpp"

#include <set>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {
namespace {

ProcessResult draw(const std::string& name, const std::vector<std::string>& environment) {
  return run_process({built("tests/support_child"), "--gtest_filter=" + name},
                     {{}, std::chrono::seconds(60), environment});
}

std::string line_with(const std::string& out, const std::string& mark) {
  const std::size_t at = out.find(mark);
  return at == out.npos ? std::string() : out.substr(at, out.find('\n', at) - at);
}

TEST(Seed, IsThatOfTheEnvironmentAndMixedPerTestAndCall) {
  const std::string once = line_with(draw("Draws.Twice", {"BALEEN_TEST_SEED=5"}).out, "drawn ");
  EXPECT_EQ(once, "drawn " + std::to_string(mixed_seed(5, "Draws.Twice", 0)) + " " +
                      std::to_string(mixed_seed(5, "Draws.Twice", 1)));
  EXPECT_EQ(line_with(draw("Draws.*", {"BALEEN_TEST_SEED=5"}).out, "drawn "), once) << "it depends on what else runs";
  EXPECT_NE(line_with(draw("Draws.Twice", {"BALEEN_TEST_SEED=6"}).out, "drawn "), once);
  EXPECT_NE(line_with(draw("Draws.Again", {"BALEEN_TEST_SEED=5"}).out, "drawn "), once);
}

TEST(Seed, TellsHowToRepeatATest) {
  const std::string first = draw("Draws.Twice", {"BALEEN_TEST_SEED="}).out;
  EXPECT_NE(line_with(draw("Draws.Twice", {"BALEEN_TEST_SEED="}).out, "drawn "), line_with(first, "drawn "));
  const std::string told = line_with(first, "BALEEN_TEST_SEED="), seed = told.substr(0, told.find(' '));
  EXPECT_NE(told.find("tests/support_child --gtest_filter='Draws.Twice'"), told.npos) << first;
  EXPECT_EQ(line_with(draw("Draws.Twice", {seed}).out, "drawn "), line_with(first, "drawn ")) << told;
}

TEST(Seed, ThatIsNoneFailsTheTest) {
  for (const char* bad : {"x", "5x", "-1", "18446744073709551616"}) {
    const ProcessResult result = draw("Draws.Twice", {std::string("BALEEN_TEST_SEED=") + bad});
    EXPECT_EQ(result.exit_code, 1) << bad;
    EXPECT_NE(result.out.find("BALEEN_TEST_SEED is no seed: " + std::string(bad)), std::string::npos) << result.out;
  }
}

// Neighbouring seeds and calls give numbers without anything in common.
TEST(Seed, OfNeighboursDiffers) {
  std::set<std::uint64_t> all;
  for (std::uint64_t base = 0; base < 50; ++base)
    for (std::uint64_t call = 0; call < 50; ++call) all.insert(mixed_seed(base, "Suite.Case", call));
  EXPECT_EQ(all.size(), 2500u);
}

}  // namespace
}  // namespace baleen::test
