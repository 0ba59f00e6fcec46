/// \file A quarter of the main job with compressed gradients ends where fp32 ends: the mean of three seeds.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

/// Held-out losses, in nats per byte, at half the steps and at the end.
struct HeldOut {
  double half = 0, end = 0;
};

HeldOut train(const std::string& entry, int seed) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  ProcessOptions options;
  options.limit = std::chrono::minutes(30);
  const ProcessResult result =
      run_baleen({"run", source_dir() + "/tests/parity/compress/quarter.lua", "--manifest",
                  folder.write("ranks.toml", manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"data\"\n" + entry)),
                  "--seed", std::to_string(seed), "--log-json", log},
                 options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  HeldOut found;
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("held_out_loss") || json.value("kind", "") != "evaluate") continue;
    (json.at("step") == 500 ? found.half : found.end) = json.at("held_out_loss");
  }
  EXPECT_GT(found.half, 0);
  EXPECT_GT(found.end, 0);
  return found;
}

HeldOut mean(const std::string& entry) {
  HeldOut sum;
  for (int seed = 0; seed < 3; ++seed) {
    const HeldOut one = train(entry, seed);
    sum.half += one.half / 3;
    sum.end += one.end / 3;
  }
  return sum;
}

std::string compress_entry(const std::string& options) { return "[[plan]]\nstrategy = \"compress\"\n" + options; }

TEST(Convergence, IsThatOfFp32) {
  if (!std::filesystem::is_directory("/usr/include/c++")) GTEST_SKIP() << "needs the C++ headers";
  const HeldOut exact = mean("");
  std::cout << "fp32: " << exact.half << " at half the steps, " << exact.end << " at the end\n";
  const auto ends_near = [&](const std::string& name, const std::string& options, double tolerance) {
    const HeldOut own = mean(compress_entry(options));
    std::cout << name << ": " << own.half << ", " << own.end << "\n";
    EXPECT_LT(own.end, exact.end + tolerance) << name;
    EXPECT_LT(own.end, exact.half) << name << " is better than half the steps of fp32";
  };
  ends_near("fp16", "method = \"fp16\"\n", 0.02);
  ends_near("8bit", "method = \"8bit\"\n", 0.02);
  ends_near("powersgd", "method = \"powersgd\"\nrank = 4\n", 0.02);
  ends_near("1bit", "method = \"1bit\"\nwarmup_steps = 100\n", 0.05);
}

}  // namespace
}  // namespace baleen::test
