/// \file A quarter of the main job with compressed gradients beside fp32: held-out losses, the mean of three seeds.
#include <filesystem>
#include <iostream>
#include <map>

#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {
namespace {

/// Held-out losses, in nats per byte, at half the steps and at the end.
struct HeldOut {
  double half = 0, end = 0;
};

HeldOut train(const std::string& entry, const std::string& beta1, int seed) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  ProcessOptions options;
  options.limit = std::chrono::minutes(30);
  const ProcessResult result =
      run_baleen({"run", source_dir() + "/tests/parity/quarter_gpt.lua", "--manifest",
                  folder.write("ranks.toml", manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"data\"\n" + entry)),
                  "--seed", std::to_string(seed), "--log-json", log, "--", "--data", "/usr/include/c++", "--heads", "4",
                  "--every", "500", "--beta1", beta1},
                 options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  HeldOut found;
  for (const auto& [step, loss] : by_step(read_file(log), "evaluate", "held_out_loss"))
    (step == 500 ? found.half : found.end) = loss;
  EXPECT_GT(found.half, 0);
  EXPECT_GT(found.end, 0);
  return found;
}

HeldOut mean(const std::string& entry, const std::string& beta1) {
  HeldOut sum;
  for (int seed = 0; seed < 3; ++seed) {
    const HeldOut one = train(entry, beta1, seed);
    sum.half += one.half / 3;
    sum.end += one.end / 3;
  }
  return sum;
}

std::string compress_entry(const std::string& options) { return "[[plan]]\nstrategy = \"compress\"\n" + options; }

// What the job has, and what suits errors that are fed back (strategies/compress/README.md).
constexpr const char* kBeta1 = "0.9";
constexpr const char* kBeta1OfFeedback = "0.3";

/// Three trainings of fp32 are done once per process and beta1.
const HeldOut& fp32(const std::string& beta1) {
  static std::map<std::string, HeldOut> found;
  if (const auto known = found.find(beta1); known != found.end()) return known->second;
  const HeldOut made = mean("", beta1);
  std::cout << "fp32, beta1 " << beta1 << ": " << made.half << " at half the steps, " << made.end << " at the end\n";
  return found[beta1] = made;
}

/// `bound` is in nats above fp32 with the same optimizer.
void ends_near_fp32(const std::string& name, const std::string& options, const std::string& beta1, double bound) {
  const HeldOut own = mean(compress_entry(options), beta1), same = fp32(beta1), job = fp32(kBeta1);
  std::cout << name << ": " << own.half << ", " << own.end << ", fp32 of the same beta1 + " << own.end - same.end
            << ", of the job's + " << own.end - job.end << "\n";
  EXPECT_LT(own.end, same.end + bound) << name;
  EXPECT_LT(own.end, job.end + bound) << name;
  EXPECT_LT(own.end, same.half) << name;
}

TEST(Convergence, OfWholeElementsIsThatOfFp32) {
  if (!std::filesystem::is_directory("/usr/include/c++")) GTEST_SKIP() << "needs the C++ headers";
  ends_near_fp32("fp16", "method = \"fp16\"\n", kBeta1, 0.02);
  ends_near_fp32("8bit", "method = \"8bit\"\n", kBeta1, 0.02);
}

/// With lookups and head in fp32, whose gradients are sparse, and after warm-ups.
TEST(Convergence, OfOneBitAndOfLowRankIsThatOfFp32WhereMomentumIsShort) {
  if (!std::filesystem::is_directory("/usr/include/c++")) GTEST_SKIP() << "needs the C++ headers";
  const std::string rest = "warmup_steps = 200\nskip = [\"embedding.*\", \"head.*\"]\n";
  ends_near_fp32("powersgd", "method = \"powersgd\"\nrank = 4\n" + rest, kBeta1OfFeedback, 0.02);
  ends_near_fp32("1bit", "method = \"1bit\"\nblock = 128\n" + rest, kBeta1OfFeedback, 0.05);
}

}  // namespace
}  // namespace baleen::test
