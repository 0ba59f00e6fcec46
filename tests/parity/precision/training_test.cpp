/// \file What 16 bits cost in training: a quarter of the main job, three seeds, against the same in fp32. Prints its
/// numbers.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "parity/precision/precision_run.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr const char* kText = "/usr/include/c++";

/// The held-out loss at the end.
double end_of(const std::string& plan, int seed, const std::string& steps) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  ProcessOptions options;
  options.limit = std::chrono::minutes(10);
  const ProcessResult result =
      run_baleen({"run", source_dir() + "/tests/parity/quarter_gpt.lua", "--manifest",
                  folder.write("ranks.toml", manifest_of({{"data", 1}}, plan)), "--seed", std::to_string(seed),
                  "--steps", steps, "--log-json", log, "--", "--data", kText},
                 options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string text = read_file(log), key = "\"held_out_loss\":";
  const std::size_t at = text.rfind(key);
  return at == std::string::npos ? NAN : std::stod(text.substr(at + key.size()));
}

TEST(PrecisionTraining, EndsWithinTwoHundredthsOfANatOfFp32) {
  if (!std::filesystem::exists(kText)) GTEST_SKIP() << "no " << kText << " to learn";
  const std::vector<std::pair<std::string, std::string>> plans{
      {"fp32", ""}, {"bf16", precision("bf16")}, {"fp16", precision("fp16")}};
  std::map<std::string, double> means;
  for (const auto& [name, plan] : plans) {
    double sum = 0;
    std::printf("%s:", name.c_str());
    for (int seed = 1; seed <= 3; ++seed) {
      const double loss = end_of(plan, seed, "1000");
      std::printf(" %.4f", loss);
      sum += loss;
    }
    means[name] = sum / 3;
    std::printf(", mean %.4f, %+.4f nats\n", means[name], means[name] - means["fp32"]);
    std::fflush(stdout);
  }
  for (const char* dtype : {"bf16", "fp16"}) EXPECT_NEAR(means[dtype], means["fp32"], 0.02) << dtype;
  EXPECT_LT(means["fp32"], 2.5) << "it learns";
}

}  // namespace
}  // namespace baleen::test
