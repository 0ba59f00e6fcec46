/// \file `baleen run` through ucx on a machine without the device that is named, or that forbids reading the memory of
/// other processes.
#include <gtest/gtest.h>

#include <thread>

#include "support/forbidden_calls.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class MachineOfUcx : public testing::Test {
 protected:
  ProcessResult train(const std::string& options) const {
    const std::string manifest =
        folder.write("two.toml",
                     "[cluster]\nhosts = [{ name = \"localhost\", ranks = 2 }]\n[mesh]\ndata = 2\n[[plan]]\n"
                     "strategy = \"data\"\n[transport]\nplugin = \"ucx\"\n" +
                         options);
    return run_baleen({"run", source_dir() + "/examples/01_hello/train.lua", "--manifest", manifest, "--steps", "2"});
  }
  static void expect_line(const ProcessResult& result, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "more than a line: " << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
  }
  const TemporaryFolder folder;
};

TEST_F(MachineOfUcx, WithoutTheDeviceSaysWhatThereIsInstead) {
  const ProcessResult result = train("tls = [\"tcp\"]\ndevices = [\"eth_nowhere\"]\n");
  EXPECT_EQ(result.exit_code, 2);
  expect_line(result, {"error: ", "ucx: no usable device with tls = \"tcp\", devices = \"eth_nowhere\"",
                       "'eth_nowhere' is not available", "; this machine has ", "tcp (",
                       "name some of these in [transport] tls and devices, or leave both out and let UCX choose"});
}

TEST_F(MachineOfUcx, WithoutTheTransportSaysWhichItHas) {
  const ProcessResult result = train("tls = [\"rc_nowhere\"]\n");
  EXPECT_EQ(result.exit_code, 2);
  expect_line(result, {"error: ", "ucx: no usable device with tls = \"rc_nowhere\", devices = any",
                       "; this machine has ", "tcp ("});
}

TEST_F(MachineOfUcx, WithoutCmaIsTrainedOnAndSaysSo) {
  ProcessResult result;
  bool forbidden = false;
  std::thread([&] {
    forbidden = forbid_cma();
    if (forbidden) result = train("tls = [\"posix\", \"cma\"]\n");
  }).join();
  if (!forbidden) GTEST_SKIP() << "needs filters of system calls";
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("finished 2/2 steps"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("warning: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("ucx: cma is forbidden here (reading memory of rank "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("allow ptrace among the ranks' processes"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
