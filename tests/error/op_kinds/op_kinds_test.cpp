/// \file What a user reads of a kind of op from a plugin whose kernel is wrong.
#include <gtest/gtest.h>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class OpKinds : public testing::Test {
 protected:
  /// `baleen COMMAND` of a small job with an op of this kind.
  ProcessResult command(const std::string& command, const std::string& kind, const std::string& manifest) {
    const std::string script = folder_.write("job.lua", R"(
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local rows = {}
local attributes = )" + std::string(kind == "cumsum" ? "{ dim = -1 }" : "nil") +
                                                            R"(
for i = 1, 64 do rows[i] = { math.random(), math.random(), i % 2 } end
return baleen.job {
  model = nn.sequential { nn.linear { out = 3 }, function(x) return ops.)" +
                                                            kind +
                                                            R"((x, attributes) end, nn.linear { out = 2 } },
  loss = nn.cross_entropy {}, data = baleen.data.table { rows = rows },
  batch = 8, steps = 2, seed = 1, optimizer = baleen.optimizer("sgd"),
}
)");
    return run_baleen({command, script, "--plugin-path", CARELESS_FOLDER, "-m", folder_.write("ranks.toml", manifest)});
  }
  static void expect_said(const ProcessResult& result, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
  }
  const TemporaryFolder folder_;
  const std::string cpu_ = "[compute]\nplugin = \"cpu\"\n", cuda_ = "[compute]\nplugin = \"cuda\"\nlibraries = [\"" +
                                                                    emulated_folder() + "\"]\ncache = \"" +
                                                                    emulated_folder() + "/cache\"\n";
};

TEST_F(OpKinds, ThatWriteBehindAResultAreNamed) {
  expect_said(command("verify", "behind", cpu_), {"behind of the plugin `careless`: its kernel for the device",
                                                  "wrote byte 0 behind result 1, fp64 [8, 3]"});
}
TEST_F(OpKinds, ThatWriteIntoAnOperandAreNamed) {
  expect_said(command("verify", "into", cpu_),
              {"into of the plugin `careless`", "wrote into operand 1, fp64 [8, 3], at its byte 2"});
}
#ifdef BALEEN_EMULATES_CUDA
TEST_F(OpKinds, ThatWriteOutsideByCudaTextAreNamed) {
  expect_said(
      command("verify", "behind", cuda_),
      {"behind of the plugin `careless`: its kernel for the device `Emulated device`", "behind result 1, fp64 [8, 3]"});
}
TEST_F(OpKinds, WhoseCudaTextDoesNotCompileAreNamedWithTheLine) {
  expect_said(command("verify", "nonsense", cuda_),
              {"nonsense of the plugin `careless`", "compiling the CUDA text of op kind `nonsense` failed",
               "nonsense.cu:2", "no_such_name"});
}
/// Before there is a device: texts are compiled where NVRTC is.
TEST_F(OpKinds, WhoseCudaTextDoesNotCompileAreNamedByAPlan) {
  expect_said(command("plan", "nonsense", cuda_ + "architecture = \"8.0\"\nmemory = 100\n"),
              {"nonsense of the plugin `careless`", "nonsense.cu:2", "no_such_name"});
}
/// The real NVRTC, which needs no device.
TEST_F(OpKinds, AreCompiledByNvrtcInAPlan) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "needs the plugin cuda";
  for (const std::string architecture : {"8.0", "9.0"}) {
    const std::string manifest = "[compute]\nplugin = \"cuda\"\nmemory = 100\narchitecture = \"" + architecture +
                                 "\"\ncache = \"" + folder_ / "cache" + "\"\n";
    const ProcessResult wrong = command("plan", "nonsense", manifest);
    if (wrong.exit_code == 0) GTEST_SKIP() << "needs NVRTC";
    expect_said(wrong, {"nonsense of the plugin `careless`", "nonsense.cu(2)", "no_such_name"});
    const ProcessResult right = command("plan", "cumsum", manifest);
    EXPECT_EQ(right.exit_code, 0) << right.err;
  }
}
#endif

}  // namespace
}  // namespace baleen::test
