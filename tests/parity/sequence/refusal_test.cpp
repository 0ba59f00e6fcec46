/// \file What `sequence` refuses before the first step, with the nearest that works.
#include <gtest/gtest.h>

#include "sequence_run.hpp"
#include "support/case_lists.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

struct Refusal {
  std::string name;
  MeshAxes mesh;
  PlanEntries plan;
  std::vector<std::string> arguments;
  std::vector<std::string> says;
};

void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class SequenceRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(SequenceRefusal, SaysWhatAndOffersTheNearest) {
  const Refusal& r = GetParam();
  const std::string manifest = sequence_manifest(r.mesh, r.plan);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  expect_refusal(run_parity({"run", "--steps", "1"}, "gpt", manifest, r.arguments),
                 {.after_others = true, .parts = r.says});
}

std::vector<Refusal> uneven_parts() {
  return {
      {"TooFewHeads",
       {{"sequence", 4}},
       {ulysses()},
       {"heads=3"},
       {"blocks.0.attention: 3 heads cannot be shared by the 4 ranks along `sequence`", "take 4 heads, 3 ranks",
        "mode = \"ring\""}},
      {"GroupsOfHeads",
       {{"sequence", 4}},
       {ulysses()},
       {"heads=12", "kv_heads=6"},
       {"12 heads that share 6 of keys and values", "heads = 16 and kv_heads = 8", "3 ranks", "mode = \"ring\""}},
      {"HeadsThatTwoAxesShare",
       {{"tensor", 2}, {"sequence", 2}},
       {{"tensor"}, ulysses()},
       {"heads=3"},
       {"3 heads cannot be shared by the 4 ranks along `tensor` and `sequence`"}},
      {"ChunksOfARing",
       {{"sequence", 4}},
       {ring()},
       {},
       {"blocks.0.attention: `seq` = 12 does not divide into 8 equal parts, two for each of the 4 ranks",
        "make it 8 or 16", "mode = \"ulysses\""}},
      {"ChunksOfARingOnFewTokens",
       {{"sequence", 4}},
       {ring()},
       {"context=7"},
       {"`seq` = 7 does not", "; make it 8, or"}},
      {"PartsOfARingWithoutAMask",
       {{"sequence", 4}},
       {ring()},
       {"context=13", "bidirectional"},
       {"`seq` = 13 does not divide into 4 equal parts, one for each of the 4 ranks", "make it 12 or 16"}},
  };
}

std::vector<Refusal> plans_and_options() {
  return {
      {"MegatronOnAGrid",
       {{"tensor", 4}},
       {{"tensor", "mode = \"2d\"\n"}, megatron()},
       {"heads=4"},
       {"ranks.toml:10:12: strategy `sequence` works along the whole mesh axis `tensor`, and another strategy has "
        "split it",
        "mode = \"1d\"", "mode = \"ulysses\" or \"ring\""}},
      {"TwoRings",
       {{"sequence", 2}, {"more", 2}},
       {ring(), {"sequence", "mode = \"ring\"\naxis = \"more\"\n"}},
       {"context=16"},
       {"form of their own, `ring` of strategy `sequence` along `sequence` and `ring` of strategy `sequence` along "
        "`more`"}},
      {"MegatronWithoutTensor",
       {{"data", 2}},
       {megatron()},
       {},
       {"works along the mesh axis `tensor`, and the mesh has none"}},
      {"NoSuchAxis",
       {{"sequence", 2}},
       {{"sequence", "axis = \"tokens\"\n"}},
       {},
       {"works along the mesh axis `tokens`, and the mesh has none", "option `axis`"}},
      {"NoSuchMode", {{"sequence", 2}}, {{"sequence", "mode = \"rings\"\n"}}, {}, {"mode", "ring"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, SequenceRefusal, ::testing::ValuesIn(concatenated({uneven_parts(), plans_and_options()})),
                         [](const auto& info) { return info.param.name; });

TEST(SequenceOfRows, IsRefused) {
  const ProcessResult result =
      run_parity({"run", "--steps", "1"}, "mlp", sequence_manifest({{"sequence", 2}}, {ulysses()}), {});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("no field of the data has the logical axis `seq`"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
