/// \file The strategy `recompute` in all its modes, alone and beside others: the same losses to the last bit.
#include "parity/recompute/recompute_run.hpp"

namespace baleen::test {
namespace {

struct Beside {
  std::string name;
  Mix mix = {};
  std::string more = {};                    ///< further entries of the plan
  std::vector<std::string> arguments = {};  ///< of the script
};

void PrintTo(const Beside& beside, std::ostream* out) { *out << beside.name; }

std::vector<Beside> all_beside() {
  const std::string bf16 = plan_entry("precision", "dtype = \"bf16\"\n"),
                    fp16 = plan_entry("precision", "dtype = \"fp16\"\n");
  return {
      {"One"},
      {"OneAccumulating", {}, {}, {"accumulate=2"}},
      {"OneBf16", {}, bf16},
      {"OneOfTiedWeightsAndClipped", {}, {}, {"tied=true", "clip=0.5", "norm=rms"}},
      {"Data2", {.data = 2}},
      {"Data4", {.data = 4}},
      {"Data2Accumulating", {.data = 2}, {}, {"accumulate=2"}},
      {"Zero1", {.data = 2, .stage = 1}},
      {"Zero2", {.data = 2, .stage = 2}, {}, {"accumulate=2"}},
      {"Zero3", {.data = 2, .stage = 3}},
      {"Zero3Of4", {.data = 4, .stage = 3}, {}, {"accumulate=2"}},
      {"Zero3Bf16", {.data = 2, .stage = 3}, bf16},
      {"Tensor2", {.tensor = 2, .products = "1d"}},
      {"Tensor2Fp16", {.tensor = 2, .products = "1d"}, fp16},
      {"Tensor4Of2d", {.tensor = 4, .products = "2d"}},
      {"Megatron2", {.tensor = 2, .products = "1d", .megatron = true}},
      {"Ring2", {.sequence = 2, .attention = "ring"}},
      {"Ulysses2", {.sequence = 2, .attention = "ulysses"}},
      {"DataTensor", {.data = 2, .tensor = 2, .products = "1d"}},
      {"Zero1RingBf16", {.data = 2, .sequence = 2, .stage = 1, .attention = "ring"}, bf16},
      {"Zero3Tensor", {.data = 2, .tensor = 2, .stage = 3, .products = "1d"}},
  };
}

class RecomputeBeside : public ::testing::TestWithParam<Beside> {};

TEST_P(RecomputeBeside, ChangesNoBit) {
  const Beside& beside = GetParam();
  const std::string manifest = manifest_for(beside.mix) + beside.more;
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const Losses without = losses_of(manifest, beside.arguments);
  ASSERT_EQ(without.size(), 5u);
  for (const char* mode : {"full", "selective", "every"})
    EXPECT_EQ(losses_of(manifest + recompute_entry(mode), beside.arguments), without) << mode;
}

INSTANTIATE_TEST_SUITE_P(Recompute, RecomputeBeside, ::testing::ValuesIn(all_beside()),
                         [](const auto& info) { return info.param.name; });

/// Parameters too, and what is held out, on two ranks and on one.
TEST(RecomputeModes, VerifyFindsNoDifference) {
  for (const Mix& mix : {Mix{.data = 2}, Mix{.data = 2, .stage = 3}}) {
    const std::string manifest = manifest_of(mix) + recompute_entry("full");
    if (!missing_strategy(manifest).empty()) continue;
    expect_equal(run_recompute({"verify", "--steps", "4"}, manifest, {"dropout=0.1"}), 4);
  }
}

/// Programs of the script that learn go through the same phase; one without what the options name is left alone.
TEST(RecomputeModes, ServeProgramsThatLearn) {
  const auto printed = [](const std::string& entry) {
    const ProcessResult result = run_parity({"run"}, "programs/adversarial", entry, {});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    std::string losses;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("learnt ")) losses += line + "\n";
    return losses;
  };
  const std::string without = printed("");
  EXPECT_EQ(printed(recompute_entry("selective")), without);
  EXPECT_EQ(printed(recompute_entry("full", "blocks = \"*\"\n")), without);
}

}  // namespace
}  // namespace baleen::test
