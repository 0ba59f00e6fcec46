/// \file Runs on a device that is not there, too old, too small or broken (tests/support/emulated_cuda).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr int kBadInput = 2, kDoesNotFit = 3;

class Cuda : public testing::Test {
 protected:
  /// `baleen run` of a small job of tests/parity with the compute options, TOML lines.
  ProcessResult run(const std::string& options, const std::vector<std::string>& environment,
                    const std::string& libraries = emulated_folder(), const std::string& script = "mlp",
                    const std::vector<std::string>& arguments = {}) {
    std::string manifest =
        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 1 }]\n[compute]\nplugin = \"cuda\"\n" + options;
    if (!libraries.empty())
      manifest += "libraries = [\"" + libraries + "\"]\ncache = \"" + emulated_folder() + "/cache\"\n";
    return run_manifest(manifest, environment, script, arguments);
  }
  /// The same on two ranks that sum their gradients; `sections` of the manifest.
  ProcessResult run_two(const std::string& sections, const std::vector<std::string>& environment,
                        const std::vector<std::string>& arguments) {
    return run_manifest(
        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 2 }]\n[mesh]\ndata = 2\n[compute]\nplugin = \"cuda\"\n"
        "libraries = [\"" +
            emulated_folder() + "\"]\ncache = \"" + emulated_folder() + "/cache\"\n" + sections,
        environment, "gpt", arguments);
  }
  ProcessResult run_manifest(const std::string& manifest, const std::vector<std::string>& environment,
                             const std::string& script, const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"run",        source_dir() + "/tests/parity/" + script + ".lua",
                                   "--manifest", folder_.write("gpu.toml", manifest),
                                   "--steps",    "2",
                                   "--"};
    if (script == "gpt") words.insert(words.end(), {"--data", source_dir() + "/tests/golden/whales.txt"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    ProcessOptions process;
    process.environment = environment;
    return run_baleen(words, process);
  }
  /// `baleen plan` of an example with the compute options.
  ProcessResult plan(const std::string& example, const std::string& options) {
    const std::string manifest = folder_.write("plan.toml", "[compute]\nplugin = \"cuda\"\n" + options);
    return run_baleen({"plan", source_dir() + "/examples/" + example + "/train.lua", "--manifest", manifest});
  }
  /// One line says it.
  void expect_line(const ProcessResult& result, int exit_code, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    const std::size_t begin = result.err.find("error: ");
    ASSERT_NE(begin, std::string::npos) << result.err;
    const std::string line = result.err.substr(begin, result.err.find('\n', begin) - begin);
    for (const std::string& part : parts)
      EXPECT_NE(line.find(part), std::string::npos) << part << " is not in: " << line;
  }
  const TemporaryFolder folder_;
};

TEST_F(Cuda, SaysInOneLineThatThereIsNoDriver) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "needs a machine without a CUDA driver";
  expect_line(run("", {}, ""), kBadInput, {"there is no CUDA driver on this machine", "libcuda.so.1", "`cpu`"});
}
/// Neither driver nor device nor libraries: what the options describe is planned for.
TEST_F(Cuda, IsPlannedForWithoutADriver) {
  for (const std::string example : {"01_hello", "02_gpt", "03_by_hand"}) {
    SCOPED_TRACE(example);
    const ProcessResult result = plan(example, "architecture = \"9.0\"\nmemory = 81920\n");
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    for (const char* part : {"CUDA device as described, compute capability 9.0, 80.0 GiB", "scratch"})
      EXPECT_NE(result.out.find(part), std::string::npos) << part << " is not in: " << result.out;
  }
  const ProcessResult small = plan("02_gpt", "architecture = \"8.0\"\nmemory = 1\n");
  expect_line(small, kDoesNotFit, {"device `CUDA device as described` has 1.0 MiB: "});
}
TEST_F(Cuda, SaysWhatAPlanWithoutADeviceNeeds) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "needs a machine without a CUDA driver";
  for (const char* options : {"", "memory = 1000\n", "architecture = \"9.0\"\n"})
    expect_line(plan("01_hello", options), kBadInput,
                {"there is no CUDA driver on this machine", "`architecture`, such as \"9.0\"", "`memory`, in MiB"});
  expect_line(plan("01_hello", "architecture = \"7.5\"\n"), kBadInput, {"architecture", "7.5", "8.0", "9.0"});
}
TEST_F(Cuda, SaysThatTheDeviceIsOfAnotherArchitecture) {
  expect_line(run("architecture = \"8.0\"\n", {}), kBadInput,
              {"the option `architecture` is \"8.0\"", "Emulated device has compute capability 9.0"});
  EXPECT_EQ(run("architecture = \"9.0\"\n", {}).exit_code, 0);
}
TEST_F(Cuda, LoadsWithoutADriver) {
  const ProcessResult result = run_baleen({"doctor"});
  EXPECT_NE(result.out.find("cuda"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("baleen_compute_cuda.so"), std::string::npos) << "not usable: " << result.out;
}
/// One for each stream, unless the user wants it otherwise.
TEST_F(Cuda, StartsWithAllHardwareQueues) {
  const std::string manifest =
      folder_.write("gpu.toml", "[compute]\nplugin = \"cuda\"\nlibraries = [\"" + emulated_folder() + "\"]\n");
  const std::string told = "EMULATED_CUDA_INIT=" + folder_.path();
  ProcessOptions process;
  process.environment = {told + "/own"};
  EXPECT_EQ(run_baleen({"doctor", "--manifest", manifest}, process).exit_code, 0);
  process.environment = {told + "/users", "CUDA_DEVICE_MAX_CONNECTIONS=1"};
  EXPECT_EQ(run_baleen({"doctor", "--manifest", manifest}, process).exit_code, 0);
  for (const auto& [name, number] : {std::pair{"own", "32"}, {"users", "1"}}) {
    std::ifstream file(folder_.path() + "/" + name);
    std::string line;
    int count = 0;
    for (; std::getline(file, line); ++count) EXPECT_EQ(line, number) << name;
    EXPECT_GT(count, 0) << name;
  }
}
TEST_F(Cuda, IsSeenByTheDoctor) {
  const std::string manifest =
      folder_.write("gpu.toml", "[compute]\nplugin = \"cuda\"\nlibraries = [\"" + emulated_folder() + "\"]\n");
  ProcessOptions process;
  process.environment = {"EMULATED_CUDA_DEVICES=2", "EMULATED_CUDA_MEMORY=81920"};
  const ProcessResult result = run_baleen({"doctor", "--manifest", manifest}, process);
  for (const std::string number : {"0", "1"})
    EXPECT_NE(result.out.find("cuda " + number +
                              "     Emulated device, compute capability 9.0, 80.0 GiB, 80.0 GiB free, 4.9 TB/s, dense "
                              "TFLOP/s: fp64 33.5, fp32 66.9, tf32 495, bf16 989, fp16 989\n"),
              std::string::npos)
        << result.out;
  EXPECT_EQ(result.out.find("cuda 2"), std::string::npos) << result.out;
}
TEST_F(Cuda, SaysThatTheDriverIsTooOld) {
  expect_line(run("", {"EMULATED_CUDA_VERSION=12040"}), kBadInput,
              {"the CUDA driver is too old", "CUDA 12.4", "13.0 or later"});
}
TEST_F(Cuda, SaysThatThereIsNoDevice) {
  expect_line(run("", {"EMULATED_CUDA_DEVICES=0"}), kBadInput, {"no device", "CUDA_VISIBLE_DEVICES"});
}
TEST_F(Cuda, SaysWhichIndicesThereAre) {
  expect_line(run("index = 3\n", {"EMULATED_CUDA_DEVICES=2"}), kBadInput,
              {"there is no CUDA device 3", "`index` can be 0 to 1"});
}
TEST_F(Cuda, SaysThatTheDeviceIsTooOld) {
  expect_line(run("", {"EMULATED_CUDA_CAPABILITY=75"}), kBadInput, {"compute capability 7.5", "8.0 or later"});
}
TEST_F(Cuda, SaysWhatDoesNotFit) {
  const ProcessResult result = run("memory = 4\n", {}, emulated_folder(), "gpt", {"--dim", "240"});
  expect_line(result, kDoesNotFit, {"4.0 MiB"});
}
TEST_F(Cuda, SaysThatOthersHoldTheMemory) {
  const ProcessResult result =
      run("memory = 512\n", {"EMULATED_CUDA_MEMORY=4"}, emulated_folder(), "gpt", {"--dim", "240"});
  expect_line(result, kDoesNotFit, {"the device refuses", "CUDA_ERROR_OUT_OF_MEMORY", "`fraction`"});
}
TEST_F(Cuda, SaysHowMuchPinnedMemoryIsMissing) {
  const ProcessResult bound = run_two("[memory]\npinned_mb = 0.01\n", {}, {"--layers", "1"});
  expect_line(bound, kDoesNotFit, {"16.0 KiB (16384 bytes) of pinned memory", "the bound is 10.2 KiB", ":10:13"});
  const ProcessResult refused = run_two("", {"EMULATED_CUDA_PINNED=1"}, {"--layers", "1", "--dim", "120"});
  expect_line(refused, kDoesNotFit,
              {"bytes of the host's memory on each rank, which has to be pinned", "CUDA_ERROR_OUT_OF_MEMORY",
               "`memory.pinned_mb`"});
}
/// Two devices for three ranks: the first is shared by two of them, and the plan knows it.
TEST_F(Cuda, IsSharedByRanksInTurn) {
  const std::string manifest =
      "[cluster]\nhosts = [{ name = \"localhost\", ranks = 3 }]\n[mesh]\ndata = 3\n[compute]\nplugin = \"cuda\"\n"
      "libraries = [\"" +
      emulated_folder() + "\"]\ncache = \"" + emulated_folder() + "/cache\"\n";
  const ProcessResult result = run_manifest(manifest, {"EMULATED_CUDA_DEVICES=2", "EMULATED_CUDA_MEMORY=2"}, "gpt",
                                            {"--layers", "1", "--dim", "72", "--batch", "9"});  // as many rows on each
  expect_line(result, kDoesNotFit,
              {"ranks 0, 2: the plan needs", "device `Emulated device` has 921.6 KiB for this rank: "});
}
/// A batch system may show each rank a device of its own; the plugin cannot tell that from one for all.
TEST_F(Cuda, SaysHowRanksDivideTheOneDeviceThatTheySee) {
  const ProcessResult divided = run_manifest(
      "[cluster]\nhosts = [{ name = \"localhost\", ranks = 4 }]\n[mesh]\ndata = 4\n[compute]\nplugin = \"cuda\"\n"
      "libraries = [\"" +
          emulated_folder() + "\"]\ncache = \"" + emulated_folder() + "/cache\"\n",
      {"EMULATED_CUDA_DEVICES=1", "EMULATED_CUDA_MEMORY=20", "CUDA_VISIBLE_DEVICES=0"}, "gpt", {"--dim", "240"});
  expect_line(divided, kDoesNotFit,
              {"has 4.5 MiB for this rank: ", "Ranks that share a device divide its memory; options in [compute]"});
  EXPECT_NE(divided.err.find("4 ranks of this host see one CUDA device and count with a part of its memory each (1/4); "
                             "if each sees a device of its own (CUDA_VISIBLE_DEVICES), say `fraction = 0.9`"),
            std::string::npos)
      << divided.err;
}
TEST_F(Cuda, NamesTheStepAndTheKernelThatFailed) {
  const ProcessResult result = run("checked = true\n", {"EMULATED_CUDA_FAULT=baleen_cross_entropy_grad_f32"});
  EXPECT_NE(result.exit_code, 0);
  for (const char* part : {"CUDA_ERROR_ILLEGAL_ADDRESS", "in step 0", "cross_entropy", "to fp32 ["})
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
}
TEST_F(Cuda, NamesTheLaunchesAmongWhichOneFailed) {
  const ProcessResult result = run("", {"EMULATED_CUDA_FAULT=baleen_cross_entropy_grad_f32"});
  EXPECT_NE(result.exit_code, 0);
  for (const char* part : {"CUDA_ERROR_ILLEGAL_ADDRESS", "in step 0", "launches from", "`checked`"})
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
}
TEST_F(Cuda, TrainsOnTheEmulatedDevice) {
  const ProcessResult result = run("", {});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace baleen::test
