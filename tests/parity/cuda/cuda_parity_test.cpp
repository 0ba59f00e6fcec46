/// \file Training on the plugin cuda: the same losses as on the processor, step by step.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "cuda_run.hpp"

namespace baleen::test {
namespace {

const std::string kRecompute = "[[plan]]\nstrategy = \"recompute\"\nmode = \"full\"\n";

class CudaParity : public testing::Test {
 protected:
  /// Where `said` is given, it gets what the run wrote to stderr.
  static std::vector<double> losses(const std::string& script, const std::string& compute, const std::string& dtype,
                                    const std::vector<std::string>& arguments, int steps, std::string* said = nullptr) {
    const TemporaryFolder folder;
    const std::string log = folder / "log.jsonl";
    const ProcessResult result = run_parity({"run", "--steps", std::to_string(steps), "--dtype", dtype, "--log-json",
                                             log, "--log-level", said ? "debug" : "info"},
                                            script, manifest_of({{"data", 1}}, compute), arguments);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    if (said) *said = result.err;
    return steps_in(read_file(log), "loss");
  }
  static void expect_same(const std::string& script, const std::string& compute,
                          const std::vector<std::string>& arguments, int steps) {
    for (const auto& [dtype, limit] : {std::pair{"fp64", 1e-10}, {"fp32", 1e-4}}) {
      const std::vector<double> wanted = losses(script, "[compute]\nplugin = \"cpu\"\n", dtype, arguments, steps);
      const std::vector<double> got = losses(script, compute, dtype, arguments, steps);
      ASSERT_EQ(wanted.size(), static_cast<std::size_t>(steps));
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_LE(std::abs(got[i] - wanted[i]), limit * std::abs(wanted[i])) << dtype << ", step " << i;
    }
  }
  static bool has_device() { return std::filesystem::exists("/dev/nvidiactl"); }
};

TEST_F(CudaParity, OfANetworkOnTheEmulatedDevice) { expect_same("mlp", kEmulated, {"clip=0.5", "accumulate=1"}, 20); }
TEST_F(CudaParity, OfATransformerOnTheEmulatedDevice) {
  expect_same("gpt", kEmulated, {"dropout=0.1", "kv_heads=1", "layers=1", "batch=4", "accumulate=2", "documents=true"},
              4);
}
/// Products by cuBLASLt, attention by cuDNN's graphs, fp32 parameters. fp16 has a loss scale besides.
TEST_F(CudaParity, OfATransformerIn16BitsOnTheEmulatedDevice) {
  const std::vector<std::string> arguments{"layers=1", "batch=4", "context=16"};
  for (const auto& [dtype, limit] : {std::pair{"bf16", 2e-3}, {"fp16", 5e-4}}) {
    const std::string plan = std::string("[[plan]]\nstrategy = \"precision\"\ndtype = \"") + dtype + "\"\n";
    const auto wanted = losses("gpt", "[compute]\nplugin = \"cpu\"\n" + plan, "fp32", arguments, 4);
    const auto got = losses("gpt", kEmulated + plan, "fp32", arguments, 4);
    ASSERT_EQ(wanted.size(), 4u);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(std::abs(got[i] - wanted[i]), limit * std::abs(wanted[i])) << dtype << ", step " << i;
  }
}
/// Products that run again end as they did in the forward pass.
TEST_F(CudaParity, IsTheSameInEveryBitWhereBlocksRunAgain) {
  if (!has_plugin("strategy", "recompute")) GTEST_SKIP() << "no strategy `recompute` in this tree";
  const std::vector<std::string> arguments{"layers=2", "batch=4", "context=8", "dropout=0.1"};
  for (const char* dtype : {"fp32", "fp64"}) {
    const auto kept = losses("gpt", kEmulated, dtype, arguments, 6);
    ASSERT_EQ(kept.size(), 6u);
    EXPECT_EQ(losses("gpt", kEmulated + kRecompute, dtype, arguments, 6), kept) << dtype;
  }
}
/// cuBLASLt's numbers: 4 is a bias, 36 GELU behind it, 164 that with its pre-activation kept, 192 GELU's gradient, 256
/// and 512 a bias's gradient beside a weight's.
TEST_F(CudaParity, IsReachedWithEpiloguesOfProducts) {
  const std::string sixteen = "[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n";
  std::vector<std::string> plans{"", sixteen};
  if (has_plugin("strategy", "recompute")) plans.insert(plans.end(), {kRecompute, sixteen + kRecompute});
  for (const std::string& plan : plans) {
    const TemporaryFolder folder;
    const std::string log = folder / "products.txt";
    setenv("EMULATED_CUDA_LOG", log.c_str(), 1);
    losses("gpt", kEmulated + plan, "fp32", {"layers=1", "batch=2", "context=8"}, 1);
    unsetenv("EMULATED_CUDA_LOG");
    const std::string products = read_file(log);
    for (const char* epilogue : {"4", "36", "164", "192", "256"}) {
      // What the plugin only tries is on the first stream.
      const std::regex launched("product with epilogue " + std::string(epilogue) + "\\n.*\\n.*\\non stream (?!1\\n)");
      EXPECT_TRUE(std::regex_search(products, launched)) << plan << epilogue << products;
    }
  }
}
/// Biases (4) and GELU's gradients (192), which cuBLASLt's heuristics promise, in two steps from the first launch on;
/// so the graph of the second step has them.
TEST_F(CudaParity, IsReachedWhereEpiloguesAreRefused) {
  const std::vector<std::string> arguments{"layers=1", "batch=2", "context=8"};
  const std::vector<double> wanted = losses("gpt", kEmulated, "fp32", arguments, 4);
  for (const char* epilogue : {"4", "192"}) {
    std::string said;
    setenv("EMULATED_CUDA_BLAS_REFUSES", epilogue, 1);
    const std::vector<double> got = losses("gpt", kEmulated, "fp32", arguments, 4, &said);
    unsetenv("EMULATED_CUDA_BLAS_REFUSES");
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(std::abs(got[i] - wanted[i]), 1e-5 * std::abs(wanted[i])) << epilogue << ", step " << i;
    EXPECT_NE(said.find("at its launch; from now on it is computed in two steps"), said.npos) << said;
    const std::size_t line = said.find("products: ");
    ASSERT_NE(line, said.npos) << said;
    EXPECT_EQ(said.find("products: ", line + 1), said.npos) << "once: " << said;
    EXPECT_EQ(said.find("products: 0 fused"), said.npos) << said;
  }
}
TEST_F(CudaParity, OfANetworkOnADevice) {
  if (!has_device()) GTEST_SKIP() << "there is no /dev/nvidiactl";
  expect_same("mlp", "[compute]\nplugin = \"cuda\"\n", {"clip=0.5"}, 20);
}
TEST_F(CudaParity, OfATransformerOnADevice) {
  if (!has_device()) GTEST_SKIP() << "there is no /dev/nvidiactl";
  expect_same("gpt", "[compute]\nplugin = \"cuda\"\n", {"dropout=0.1", "kv_heads=1", "accumulate=2"}, 20);
}

}  // namespace
}  // namespace baleen::test
