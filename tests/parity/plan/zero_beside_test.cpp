/// \file ZeRO beside a second mesh axis: shards are of what a rank holds without them (strategies/zero/README.md), and
/// model states travel along ZeRO's own axis alone.
///
/// E elements of parameters that a rank holds without ZeRO, N ranks along its axis, one micro-batch, all fp32:
///
///   stage   parameters   Adam's moments   sent along the axis
///   1, 2    4E           8E/N             2 * 4E (N-1)/N: shards of gradients, updated parameters
///   3       4E/N         8E/N             3 * 4E (N-1)/N, less what backward does not read again
///
/// as in table 1 of Rajbhandari et al. (arXiv 1910.02054) with E for its Ψ. Over G micro-batches as much is held, and
/// sent 2, G + 1 and 3G times 4E (N-1)/N: stage 1 sums gradients once a step, the others in each micro-batch.
#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA)

constexpr double kLayers = 4, kWidth = 1024, kVocabulary = 8192, kContext = 256;
constexpr double kWeights = 12 * kLayers * kWidth * kWidth + kVocabulary * kWidth;
constexpr double kInner = 7 * kLayers * kWidth;  // biases of queries, keys and values, and of the wide layer
constexpr double kOthers = 6 * kLayers * kWidth + 2 * kWidth + kContext * kWidth;

struct Beside {
  const char* name;
  std::vector<std::pair<std::string, int>> mesh;
  const char* zero_axis;
  const char* plan;                           ///< of the other strategy
  double weights = 1, inner = 1, others = 1;  ///< over how many ranks it cuts these
};

void PrintTo(const Beside& beside, std::ostream* out) { *out << beside.name; }

/// Bytes that a rank sends along `axis`, or along all others (and along several at once).
double sent(const PlannedRanks& one, const std::string& axis, bool along) {
  const std::string prefix = "sent_bytes.";
  double bytes = 0;
  for (const auto& [key, number] : one.numbers) {
    if (!key.starts_with(prefix)) continue;
    const std::string axes = key.substr(key.find('.', prefix.size()) + 1);
    if ((axes == axis) == along) bytes += number;
  }
  return bytes;
}

class ZeroBeside : public ::testing::TestWithParam<std::tuple<Beside, int, bool>> {
 protected:
  void expect_formula(int micro_batches) const;
  Planned plan(const std::string& strategy, int micro_batches) const {
    const auto& [beside, stage, zero_first] = GetParam();
    auto mesh = beside.mesh;
    if (!zero_first) std::reverse(mesh.begin(), mesh.end());
    return plan_of(
        "plan/gpt_large", manifest_of(mesh, "[[plan]]\n" + strategy + beside.plan + "[compute]\nmemory = 1000000000\n"),
        {"layers=4", "dim=1024", "heads=16", "vocab=8192", "context=256", "batch=96",
         "accumulate=" + std::to_string(micro_batches), "data=" + source_dir() + "/tests/golden/whales.txt"});
  }
};

void ZeroBeside::expect_formula(int micro_batches) const {
  const auto& [beside, stage, zero_first] = GetParam();
  const std::string axis = beside.zero_axis;
  const auto at =
      std::find_if(beside.mesh.begin(), beside.mesh.end(), [&](const auto& one) { return one.first == axis; });
  const double ranks = at->second;
  const double held = kWeights / beside.weights + kInner / beside.inner + kOthers / beside.others;
  const Planned with =
      plan("strategy = \"zero\"\nstage = " + std::to_string(stage) + "\naxis = \"" + axis + "\"\n", micro_batches);
  const Planned without = plan("strategy = \"data\"\naxis = \"" + axis + "\"\n", micro_batches);
  ASSERT_EQ(with.exit_code, 0) << with.err;
  ASSERT_EQ(without.exit_code, 0) << without.err;
  for (const PlannedRanks& one : with.classes) {
    const PlannedRanks& plain = without.of(one.stretches.front().first);
    ASSERT_EQ(plain.bytes("parameters"), 4 * held) << "without zero";
    EXPECT_EQ(one.bytes("parameters"), 4 * held / (stage == 3 ? ranks : 1));
    EXPECT_EQ(one.bytes("optimizer"), 8 * held / ranks);
    const double travel = 4 * held * (ranks - 1) / ranks, along = sent(one, axis, true);
    // Less where a gradient that `tensor` sums too is cut along it before, and what backward does not read again.
    const double times = stage == 1 ? 2 : stage == 2 ? micro_batches + 1 : 3 * micro_batches;
    EXPECT_LE(along / travel, times + 0.001);
    EXPECT_GE(along / travel, stage < 3 ? 0.975 * times : 2.5 / 3 * times);
    // A cube whose gradients are summed in each micro-batch sums them along its depth there too, to hold shards alone.
    const bool sums_more = beside.name == std::string("tensor_3d") && stage > 1 && micro_batches > 1;
    EXPECT_LE(sent(one, axis, false), (sums_more ? 1.08 : 1.01) * sent(plain, axis, false));
  }
}

TEST_P(ZeroBeside, HoldsAndSendsWhatTheFormulaSays) { expect_formula(1); }

TEST_P(ZeroBeside, HoldsAsMuchOverMicroBatchesAndSendsWhatTheFormulaSays) { expect_formula(3); }

#if defined(BALEEN_TEST_PRECISION) && defined(BALEEN_TEST_RECOMPUTE)
/// A copy in 16 bits is gathered once a step and stays: the backward pass has it, whatever runs again there.
TEST(ZeroWithRecompute, GathersCopiesInSixteenBitsOnce) {
  for (const char* stage : {"1", "2"})
    for (const char* again : {"full", "every"})
      for (const char* micro_batches : {"1", "2"}) {
        const auto planned = [&](const std::string& recompute) {
          return plan_of(
              "plan/gpt_large",
              manifest_of({{"data", 2}}, std::string("[[plan]]\nstrategy = \"zero\"\nstage = ") + stage +
                                             "\n[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n" + recompute +
                                             "[compute]\nmemory = 1000000000\n"),
              {"layers=4", "dim=256", "heads=4", "vocab=512", "context=64", "batch=16",
               std::string("accumulate=") + micro_batches, "data=" + source_dir() + "/tests/golden/whales.txt"});
        };
        const Planned without = planned(""),
                      with = planned("[[plan]]\nstrategy = \"recompute\"\nmode = \"" + std::string(again) + "\"\n");
        ASSERT_EQ(without.exit_code, 0) << without.err;
        ASSERT_EQ(with.exit_code, 0) << with.err;
        const PlannedRanks &plain = without.classes.at(0), &rank = with.classes.at(0);
        EXPECT_GT(plain.bytes("copies"), 0);
        EXPECT_NEAR(rank.bytes("copies") / plain.bytes("copies"), 1, 0.005) << stage << again << micro_batches;
        EXPECT_EQ(sent(rank, "data", true), sent(plain, "data", true)) << stage << again << micro_batches;
        EXPECT_LT(rank.numbers.at("working_value_bytes"), plain.numbers.at("working_value_bytes"));
      }
}
#endif

#ifdef BALEEN_TEST_SEQUENCE
/// Shards over both axes, whichever is outside: states stay where they are, so nothing but gradients and parameters
/// travels, along one axis at a time.
TEST(ZeroOverTwoAxes, SendsAlikeInEitherOrderOfTheMesh) {
  for (const int ranks : {16, 1024}) {
    std::vector<std::map<std::string, double>> sent;
    for (const bool data_first : {true, false}) {
      MeshAxes mesh{{"data", ranks / 8}, {"sequence", 8}};
      if (!data_first) std::reverse(mesh.begin(), mesh.end());
      const std::string entries =
          "[[plan]]\nstrategy = \"zero\"\nstage = 3\nextra_axes = \"sequence\"\n[[plan]]\nstrategy = \"sequence\"\n";
      const Planned planned = plan_of("plan/gpt_large", manifest_of(mesh, entries + "[compute]\nmemory = 1000000000\n"),
                                      {"layers=2", "dim=1024", "heads=16", "vocab=8192", "context=256", "batch=1024",
                                       "accumulate=1", "data=" + source_dir() + "/tests/golden/whales.txt"});
      ASSERT_EQ(planned.exit_code, 0) << planned.err;
      ASSERT_EQ(planned.classes.size(), 1u);
      const PlannedRanks& all = planned.classes[0];
      EXPECT_EQ(all.bytes("parameters"), 4 * planned.parameters / ranks);
      EXPECT_EQ(all.bytes("optimizer"), 8 * planned.parameters / ranks);
      auto& own = sent.emplace_back();
      for (const auto& [key, bytes] : all.numbers)
        if (key.starts_with("sent_bytes.")) own[key] = bytes;
    }
    EXPECT_EQ(sent[0].size(), sent[1].size());
    for (const auto& [key, bytes] : sent[0]) {
      ASSERT_TRUE(sent[1].contains(key)) << key;
      EXPECT_NEAR(sent[1][key], bytes, 0.25 * bytes) << key;
    }
    EXPECT_EQ(sent[0].count("sent_bytes.all_to_all.data,sequence"), 0u);
  }
}

/// Gradients are scattered along the extra axis first and updates gathered along it last, so that along `data` each
/// rank sends its part of a half: 2 Psi/2 (N - 1)/N, as the strategy's own form says.
TEST(ZeroOverTwoAxes, SendsAlongItsOwnAxisWhatTheExtraOneLeaves) {
  for (const char* stage : {"1", "2"}) {
    const Planned planned =
        plan_of("plan/gpt_large",
                manifest_of({{"data", 4}, {"sequence", 2}},
                            std::string("[[plan]]\nstrategy = \"zero\"\nstage = ") + stage +
                                "\nextra_axes = \"sequence\"\n[[plan]]\nstrategy = \"sequence\"\nmode = \"ulysses\"\n"
                                "[compute]\nmemory = 1000000000\n"),
                {"layers=2", "dim=1024", "heads=16", "vocab=8192", "context=256", "batch=16", "accumulate=1",
                 "data=" + source_dir() + "/tests/golden/whales.txt"});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    ASSERT_EQ(planned.classes.size(), 1u);
    const PlannedRanks::Form& sent = planned.classes[0].forms.at("sent along data");
    EXPECT_NEAR(sent.formula / (2 * 4 * planned.parameters / 2 * 3 / 4), 1, 0.01) << stage;
    EXPECT_NEAR(sent.planned / sent.formula, 1, 0.01) << stage;
    EXPECT_FALSE(sent.off);
  }
}
#endif

std::vector<Beside> all_beside() {
  std::vector<Beside> all{{"hybrid", {{"shard", 4}, {"data", 2}}, "shard", "[[plan]]\nstrategy = \"data\"\n"}};
#ifdef BALEEN_TEST_TENSOR
  const auto tensor = [&](const char* name, int ranks, const char* plan, double weights, double inner, double others) {
    all.push_back({name, {{"data", 4}, {"tensor", ranks}}, "data", plan, weights, inner, others});
  };
  tensor("tensor_1d", 8, "[[plan]]\nstrategy = \"tensor\"\n", 8, 8, 1);
  tensor("tensor_2d", 4, "[[plan]]\nstrategy = \"tensor\"\nmode = \"2d\"\n", 4, 2, 2);
  tensor("tensor_25d", 8, "[[plan]]\nstrategy = \"tensor\"\nmode = \"2.5d\"\ndepth = 2\n", 4, 2, 2);
  tensor("tensor_3d", 8, "[[plan]]\nstrategy = \"tensor\"\nmode = \"3d\"\n", 8, 2, 2);
#endif
#ifdef BALEEN_TEST_SEQUENCE
  for (const auto& [name, plan] : {std::pair{"ring", "[[plan]]\nstrategy = \"sequence\"\nmode = \"ring\"\n"},
                                   std::pair{"ulysses", "[[plan]]\nstrategy = \"sequence\"\n"}})
    all.push_back({name, {{"data", 4}, {"sequence", 4}}, "data", plan});
#if defined(BALEEN_TEST_TENSOR)
  tensor("megatron", 8, "[[plan]]\nstrategy = \"tensor\"\n[[plan]]\nstrategy = \"sequence\"\nmode = \"megatron\"\n", 8,
         8, 1);
#endif
#endif
  return all;
}

std::string name_of(const ::testing::TestParamInfo<ZeroBeside::ParamType>& info) {
  const auto& [beside, stage, zero_first] = info.param;
  return std::string(beside.name) + "_zero" + std::to_string(stage) + (zero_first ? "_outside" : "_inside");
}

INSTANTIATE_TEST_SUITE_P(Strategies, ZeroBeside,
                         ::testing::Combine(::testing::ValuesIn(all_beside()), ::testing::Values(1, 2, 3),
                                            ::testing::Bool()),
                         name_of);

#endif

}  // namespace
}  // namespace baleen::test
