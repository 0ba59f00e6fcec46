/// \file Compressed gradients beside pipelines, recomputation, ZeRO, precision and micro-batches: what is computed in
/// another order, or again, has the same bits; and where compression loses nothing, the numbers of fp32.
#include <cmath>

#include "parity/mixes/mix.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

std::string compress_entry(const std::string& method, const std::string& more = {}) {
  return plan_entry("compress", "method = \"" + method + "\"\n" + more);
}

Losses losses_of(const MeshAxes& mesh, const std::string& plan, const std::vector<std::string>& arguments,
                 int steps = 6) {
  const TemporaryFolder folder;
  const std::string log = folder / "log";
  const ProcessResult result = run_parity({"run", "--steps", std::to_string(steps), "--log-json", log}, "gpt",
                                          manifest_of(mesh, plan), arguments);
  EXPECT_EQ(result.exit_code, 0) << plan << result.err;
  return losses_in(log);
}

void expect_near(const Losses& losses, const Losses& exact, double tolerance, const std::string& what) {
  ASSERT_EQ(losses.size(), exact.size()) << what;
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(std::stod(losses[i]), std::stod(exact[i]), tolerance) << what << ", step " << i;
}

struct Method {
  std::string name, options;
};
const std::vector<Method> kMethods{
    {"bf16", ""}, {"8bit", ""}, {"1bit", "warmup_steps = 2\n"}, {"powersgd", "warmup_steps = 1\n"}};

const MeshAxes kData2{{"data", 2}}, kData4{{"data", 4}};

/// Factors of full rank hold a gradient as it is, but for rounding: so do sums of plain descent.
TEST(PowerSgd, OfFullRankIsFp32) {
  const std::string full = compress_entry("powersgd", "rank = 4096\nmin_gain = 0\nmin_elements = 0\n");
  const std::vector<std::string> arguments{"optimizer=sgd", "lr=0.1", "accumulate=2"};
  for (const std::string& strategy : {plan_entry("data"), plan_entry("zero", "stage = 1\n")})
    for (const MeshAxes& mesh : {kData2, kData4}) {
      const Losses exact = losses_of(mesh, strategy, arguments);
      EXPECT_GT(std::stod(exact.front()), std::stod(exact.back()) + 0.01) << "it learns";
      expect_near(losses_of(mesh, strategy + full, arguments), exact, 2e-5, strategy);
    }
}

/// In the steps of the warm-up every bit is that of a plan without compression; then not.
TEST(Warmup, HasTheBitsOfFp32) {
  for (const Method& method : {kMethods[2], kMethods[3]}) {
    const Losses exact = losses_of(kData2, plan_entry("data"), {}, 8),
                 own = losses_of(kData2, plan_entry("data") + compress_entry(method.name, "warmup_steps = 4\n"), {}, 8);
    ASSERT_EQ(own.size(), 8u);
    // The loss of the step after an update is the first to tell.
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(own[i], exact[i]) << method.name << " step " << i;
    EXPECT_NE(own, exact) << method.name;
    expect_near(own, exact, 0.2, method.name);
  }
}

struct Sums {
  const char* name;
  std::string plan;
};
void PrintTo(const Sums& sums, std::ostream* out) { *out << sums.name; }
const Sums kSums[] = {{"data", plan_entry("data")},
                      {"zero1", plan_entry("zero", "stage = 1\n")},
                      {"zero2", plan_entry("zero", "stage = 2\nreduce_gradients = \"once_per_step\"\n")},
                      {"bf16", plan_entry("precision", "dtype = \"bf16\"\n") + plan_entry("data")},
                      {"fp16", plan_entry("precision", "dtype = \"fp16\"\ngradients = \"fp32\"\nloss_scale = 64\n") +
                                   plan_entry("zero", "stage = 1\n")}};

class CompressedBeside : public testing::TestWithParam<std::tuple<Sums, int>> {};

TEST_P(CompressedBeside, AllThatSumsGradientsTrains) {
  const auto& [sums, micro_batches] = GetParam();
  const std::vector<std::string> arguments{"accumulate=" + std::to_string(micro_batches), "clip=0.5"};
  const Losses exact = losses_of(kData2, sums.plan, arguments, 12);
  for (const Method& method : kMethods) {
    const std::string entry = compress_entry(method.name, method.options);
    const Losses own = losses_of(kData2, sums.plan + entry, arguments, 12);
    expect_near(own, exact, method.name == "bf16" || method.name == "8bit" ? 0.02 : 0.25, method.name);
    if (sums.name != std::string("bf16") || method.name != "bf16") {
      EXPECT_NE(own, exact) << method.name;
    }
    EXPECT_EQ(own, losses_of(kData2, sums.plan + entry, arguments, 12)) << method.name << ": the same bits again";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CompressedBeside, testing::Combine(testing::ValuesIn(kSums), testing::Values(1, 2)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + "_accumulate_" +
                                  std::to_string(std::get<1>(one.param));
                         });

/// A plan is checked in fp64, which is not compressed.
TEST(Compressed, IsVerified) {
  for (const Method& method : kMethods)
    expect_equal(
        run_parity({"verify", "--steps", "4"}, "gpt",
                   manifest_of(kData2, plan_entry("zero", "stage = 1\n") + compress_entry(method.name, method.options)),
                   {"accumulate=2"}),
        4);
}

/// As users run it, within the error that each method states; the update of what arrives is exact.
TEST(Compressed, IsVerifiedInFp32Too) {
  const std::string least = "min_elements = 64\n";
  std::vector<Method> methods = kMethods;
  methods.push_back({"fp16", ""});
  for (const std::string& sums : {plan_entry("data"), plan_entry("zero", "stage = 1\n")})
    for (const Method& method : methods) {
      const std::string manifest = manifest_of(kData2, sums + compress_entry(method.name, method.options + least));
      const ProcessResult result =
          run_parity({"verify", "--dtype", "fp32"}, "gpt", manifest, {"accumulate=2", "clip=0.5"});
      expect_equal(result, 20, method.name == "bf16" || method.name == "fp16" ? method.name : "fp32");
      const bool feeds_back = method.name == "1bit" || method.name == "powersgd";
      EXPECT_EQ(
          result.out.find("gradients that strategies approximate, not judged but in fp64: `") != std::string::npos,
          feeds_back)
          << result.out;
    }
}

/// Parameters of one number beside others.
TEST(Compressed, MayHaveASingleElement) {
  for (const Method& method : kMethods) {
    const std::string entry = compress_entry(method.name, method.options + "min_elements = 0\n");
    const ProcessResult result =
        run_parity({"run", "--steps", "4"}, "zero/scalar", manifest_of(kData2, plan_entry("data") + entry), {});
    EXPECT_EQ(result.exit_code, 0) << method.name << ": " << result.err;
  }
}

/// One from the first step on, the other behind its warm-up.
TEST(Compressed, ByTwoMethodsIsVerifiedInFp32Too) {
  const std::string plan = plan_entry("data") + compress_entry("8bit", "min_elements = 64\nskip = [\"*mlp*\"]\n") +
                           compress_entry("1bit",
                                          "min_elements = 64\nskip = [\"*attention*\", \"embedding*\", \"head*\"]\n"
                                          "warmup_steps = 10\n");
  const ProcessResult result = run_parity({"verify", "--dtype", "fp32"}, "gpt", manifest_of(kData2, plan), {});
  expect_equal(result, 20, "fp32");
  EXPECT_NE(result.out.find("not judged but in fp64: `blocks.0.mlp."), std::string::npos) << result.out;
}

/// What runs again has the bits that it had, whatever is made of the gradients.
TEST(Compressed, HasTheSameBitsWithRecomputation) {
  for (const std::string& sums : {plan_entry("data"), plan_entry("zero", "stage = 1\n")})
    for (const Method& method : kMethods) {
      const std::string plan = sums + compress_entry(method.name, method.options);
      const Losses kept = losses_of(kData2, plan, {"layers=3", "dropout=0.2"});
      EXPECT_EQ(kept.size(), 6u);
      for (const std::string mode : {"full", "selective"})
        EXPECT_EQ(losses_of(kData2, plan + plan_entry("recompute", mode_option(mode)), {"layers=3", "dropout=0.2"}),
                  kept)
            << method.name << " " << mode;
    }
}

const MeshAxes kStages{{"pipeline", 2}, {"data", 2}};
const std::vector<std::string> kPipelined{"layers=3", "batch=16", "accumulate=4", "dropout=0.2"};

std::string pipeline_entry(const std::string& schedule) {
  return plan_entry("pipeline", "schedule = \"" + schedule + "\"\n");
}

/// Each stage sends its own gradients and no other's, in fewer bits; schedules with the same stages have the same bits.
TEST(Compressed, GoesThroughPipelines) {
  if (!has_plugin("strategy", "pipeline")) GTEST_SKIP() << "no strategy `pipeline` in this tree";
  for (const std::string& sums : {plan_entry("data"), plan_entry("zero", "stage = 1\n")}) {
    const Losses exact = losses_of(kStages, pipeline_entry("1f1b") + sums, kPipelined);
    for (const std::string method : {"bf16", "8bit"}) {
      const std::string rest = sums + compress_entry(method);
      const Losses own = losses_of(kStages, pipeline_entry("1f1b") + rest, kPipelined);
      expect_near(own, exact, 0.02, method);
      EXPECT_NE(own, exact) << method;
      for (const std::string schedule : {"gpipe", "zero_bubble"})
        EXPECT_EQ(losses_of(kStages, pipeline_entry(schedule) + rest, kPipelined), own) << method << " " << schedule;
    }
    expect_equal(run_parity({"verify", "--steps", "3"}, "gpt",
                            manifest_of(kStages, pipeline_entry("1f1b") + sums + compress_entry("8bit")), kPipelined),
                 3);
  }
  const auto sent = [&](const std::string& plan) {
    double bytes = 0;
    for (const auto& rank : account_of("gpt", manifest_of(kStages, pipeline_entry("1f1b") + plan), 4, kPipelined))
      for (const auto& [name, number] : rank)
        if (name.starts_with("sent_bytes.") && name.ends_with(".data")) bytes += number;
    return bytes;
  };
  const double whole = sent(plan_entry("data")),
               own = sent(plan_entry("data") + compress_entry("8bit", "min_elements = 0\n"));
  EXPECT_NEAR(own / whole, 0.25, 0.06) << "small ones have a header each";
}

/// Recomputation in a pipeline keeps less and changes no bit.
TEST(Pipelined, HasTheSameBitsWithRecomputation) {
  if (!has_plugin("strategy", "pipeline")) GTEST_SKIP() << "no strategy `pipeline` in this tree";
  const std::vector<std::string> arguments{"layers=6", "batch=16", "accumulate=4", "dropout=0.2", "tied", "clip=0.5"};
  for (const std::string schedule : {"1f1b", "gpipe", "interleaved", "zero_bubble"}) {
    const std::string stages = pipeline_entry(schedule) + plan_entry("data");
    const Losses kept = losses_of(kStages, stages, arguments);
    EXPECT_EQ(kept.size(), 6u);
    for (const std::string mode : {"full", "selective"}) {
      const std::string plan = stages + plan_entry("recompute", mode_option(mode));
      EXPECT_EQ(losses_of(kStages, plan, arguments), kept) << schedule << " " << mode;
    }
    const auto activations = [&](const std::string& plan) {
      double most = 0;
      for (const auto& rank : account_of("gpt", manifest_of(kStages, plan), 4, arguments))
        most = std::max(most, rank.at("planned_bytes.activations"));
      return most;
    };
    // What gradients of weights read is kept until their own pass.
    const double part = schedule == "zero_bubble" ? 0.95 : 0.7;
    EXPECT_LT(activations(stages + plan_entry("recompute", mode_option("full"))), part * activations(stages))
        << schedule;
    expect_equal(run_parity({"verify", "--steps", "3"}, "gpt",
                            manifest_of(kStages, stages + plan_entry("recompute", mode_option("full"))), arguments),
                 3);
  }
}

}  // namespace
}  // namespace baleen::test
