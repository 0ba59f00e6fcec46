/// \file What options become: members of NCCL's configuration, and variables where it knows no other way.
#include "options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/temporary_folder.hpp"

namespace baleen::nccl {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Options options_of(const std::string& algorithm, const std::string& protocol) {
  Options options;
  options.algorithm = algorithm;
  options.protocol = protocol;
  options.debug = "off";
  return options;
}

TEST(NcclOptions, BecomeVariables) {
  EXPECT_EQ(options_of("auto", "auto").environment(22809, 0), (Variables{{"NCCL_RUNTIME_CONNECT", "0"}}));
  Options options = options_of("ring", "ll128");
  options.interface = "eth0";
  options.debug = "warn";
  EXPECT_EQ(options.environment(22809, 0), (Variables{{"NCCL_RUNTIME_CONNECT", "0"},
                                                      {"NCCL_SOCKET_IFNAME", "=eth0"},
                                                      {"NCCL_ALGO", "Ring"},
                                                      {"NCCL_PROTO", "LL128"},
                                                      {"NCCL_DEBUG", "WARN"}}));
}

TEST(NcclOptions, MakeRanksOfOneGpuHostsOfTheirOwn) {
  Options options = options_of("auto", "auto");
  options.shares_gpu = true;
  EXPECT_EQ(options.environment(22809, 3)[1], (std::pair<std::string, std::string>{"NCCL_HOSTID", "baleen rank 3"}));
}

/// From 2.24 on NCCL fails where the named algorithm does not exist for an operation.
TEST(NcclOptions, NameAlgorithmsByOperationWhereNcclCan) {
  EXPECT_EQ(options_of("tree", "auto").environment(22300, 0)[1].second, "Tree");
  EXPECT_EQ(options_of("tree", "auto").environment(22400, 0)[1].second, "allreduce:Tree");
  EXPECT_EQ(options_of("nvls", "auto").environment(22809, 0)[1].second, "allreduce:NVLS");
}

TEST(NcclOptions, BecomeMembersOfTheConfiguration) {
  Options options = options_of("auto", "auto");
  EXPECT_EQ(options.config().blocking, 0) << "nothing blocks";
  EXPECT_EQ(options.config().min_ctas, INT_MIN) << "NCCL chooses";
  options.min_channels = 2;
  options.max_channels = 8;
  EXPECT_EQ(options.config().min_ctas, 2);
  EXPECT_EQ(options.config().max_ctas, 8);
}

/// The user's variables: those of the environment as a test says, and a configuration file of its own.
class NcclEffective : public testing::Test {
 protected:
  NcclEffective() {
    for (const char* name : {"NCCL_ALGO", "NCCL_DEBUG", "NCCL_PROTO", "NCCL_SOCKET_IFNAME"}) unsetenv(name);
    set("NCCL_CONF_FILE", folder_.write("nccl.conf", "# a comment\nNCCL_ALGO=Tree\nNCCL_ALGO=Ring\n"));
  }
  ~NcclEffective() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  /// What NCCL of a version has.
  static Functions nccl_of(int version) {
    Functions nccl;
    nccl.version = version;
    if (version >= kMemorySince) {
      nccl.ncclCommRegister = [](Comm, void*, std::size_t, void**) { return kSuccess; };
      nccl.ncclCommDeregister = [](Comm, void*) { return kSuccess; };
      nccl.ncclMemAlloc = [](void**, std::size_t) { return kSuccess; };
      nccl.ncclMemFree = [](void*) { return kSuccess; };
    }
    if (version >= kWindowsSince) {
      nccl.ncclCommWindowRegister = [](Comm, void*, std::size_t, Window*, int) { return kSuccess; };
      nccl.ncclCommWindowDeregister = [](Comm, Window) { return kSuccess; };
    }
    if (version >= kCopyEnginesSince)
      nccl.ncclAlltoAll = [](const void*, void*, std::size_t, DataType, Comm, StreamHandle) { return kSuccess; };
    return nccl;
  }
  static void expect_in(const Options& options, const std::string& part, int version = 22809) {
    const std::string all = options.effective(nccl_of(version));
    EXPECT_NE(all.find(part), std::string::npos) << part << "\nis not in\n" << all;
  }
  std::string in_file(const std::string& variable) const { return variable + " in " + folder_ / "nccl.conf"; }

  Options options_ = options_of("auto", "auto");

 private:
  const test::TemporaryFolder folder_;
  std::vector<std::string> names_;
};

TEST_F(NcclEffective, SaysWhoHasSetIt) {
  set("NCCL_PROTO", "LL");
  options_.default_interface = "eth0";
  expect_in(options_,
            "interface =eth0 (default), algorithm Tree (" + in_file("NCCL_ALGO") +
                "), protocol LL (NCCL_PROTO in the environment), channels NCCL's (default) to NCCL's "
                "(default), register true (default), memory nccl (default), windows false (default), "
                "copy_engine false (default), graphs false (default), debug off (default), timeout 300 s (default), "
                "scratch_mb 64 (default), share_gpu false (default)");
  options_.protocol = "simple";
  options_.debug = "info";
  options_.timeout = 20;
  expect_in(options_, "protocol Simple (option; not NCCL_PROTO=LL in the environment)");
  expect_in(options_, "debug INFO (option), timeout 20 s (option)");
  options_.algorithm = "tree";
  expect_in(options_, "algorithm allreduce:Tree (option; not NCCL_ALGO=Tree in ");
}

TEST_F(NcclEffective, LeavesAnInterfaceThatTheUserHasSet) {
  options_.default_interface = "eth0";
  set("NCCL_SOCKET_IFNAME", "");
  expect_in(options_, "interface =eth0 (default)");
  set("NCCL_SOCKET_IFNAME", "ib0");
  expect_in(options_, "interface ib0 (NCCL_SOCKET_IFNAME in the environment)");
  EXPECT_EQ(options_.environment(22809, 0).size(), 1u) << "and does not set another";
  options_.interface = "eth1";
  expect_in(options_, "interface =eth1 (option; not NCCL_SOCKET_IFNAME=ib0 in the environment)");
}

TEST_F(NcclEffective, CountsChannelsAsNcclDoes) {
  options_.min_channels = 2;
  options_.max_channels = 8;
  set("NCCL_MIN_NCHANNELS", "1");
  set("NCCL_MAX_NCHANNELS", "16");
  expect_in(options_, "channels 2 (option) to 8 (option)");
  set("NCCL_MIN_NCHANNELS", "4");
  set("NCCL_MAX_CTAS", "32");
  expect_in(options_,
            "channels 4 (NCCL_MIN_NCHANNELS in the environment) to 16 (NCCL_MAX_NCHANNELS in the environment)");
  set("NCCL_MAX_NCHANNELS", "64");
  expect_in(options_, "to 32 (NCCL_MAX_CTAS in the environment)");
}

TEST_F(NcclEffective, SaysWhyArenasAreNotRegistered) {
  expect_in(options_, "register false (this NCCL has no ncclCommRegister)", 21800);
  set("NCCL_LOCAL_REGISTER", "0");
  expect_in(options_, "register false (NCCL_LOCAL_REGISTER in the environment)");
  options_.registers = false;
  expect_in(options_, "register false (option)");
}

/// Without a file that names an algorithm.
class NcclMemory : public NcclEffective {
 protected:
  NcclMemory() { set("NCCL_CONF_FILE", "/nowhere/nccl.conf"); }
};

TEST_F(NcclMemory, SaysWhoseItIs) {
  expect_in(options_, "memory nccl (default), windows false (default), copy_engine false (default)");
  expect_in(options_, "memory device (this NCCL has no ncclMemAlloc), windows false (default)", 21800);
  options_.shares_windows = true;
  expect_in(options_, "memory nccl (default), windows true (option), copy_engine false (default)");
  EXPECT_TRUE(options_.suit(nccl_of(22707)));
  EXPECT_FALSE(options_.suit(nccl_of(22605)));
  set("NCCL_WIN_ENABLE", "0");
  expect_in(options_, "memory nccl (default), windows false (NCCL_WIN_ENABLE in the environment)");
  set("NCCL_CUMEM_ENABLE", "0");
  expect_in(options_, "memory device (NCCL_CUMEM_ENABLE in the environment), windows false (memory device)");
  options_.memory = "nccl";
  expect_in(options_, "memory nccl (option)");
  options_.memory = "device";
  expect_in(options_, "memory device (option), windows false (memory device)");
  EXPECT_NE(options_.facts(22809).find("\nmemory=device\nwindows=true\n"), std::string::npos);
}

/// An algorithm or protocol fixes the order of sums, and NCCL does not heed it in windows.
TEST_F(NcclMemory, IsNoWindowWhereAnAlgorithmIsGiven) {
  options_.shares_windows = true;
  set("NCCL_PROTO", "Simple");
  expect_in(options_, "windows false (NCCL_PROTO in the environment)");
}

TEST_F(NcclMemory, IsMovedByCopyEnginesOnRequest) {
  EXPECT_EQ(options_.config().size, Config::kSizeIn218) << "members of later versions are not there";
  options_.copy_engine = true;
  EXPECT_EQ(options_.config().cta_policy, kPolicyZero);
  EXPECT_EQ(options_.config().version, 22800u);
  EXPECT_EQ(options_.config().size, sizeof(Config));
  expect_in(options_, "copy_engine true (option)");
  EXPECT_TRUE(options_.suit(nccl_of(22809)));
  EXPECT_FALSE(options_.suit(nccl_of(22707)));
  set("NCCL_CTA_POLICY", "0");
  expect_in(options_, "copy_engine false (NCCL_CTA_POLICY in the environment)");
}

TEST_F(NcclEffective, ComparesWhatHolds) {
  EXPECT_NE(options_.facts(22809).find("\nalgorithm=Tree\nprotocol=auto\n"), std::string::npos)
      << options_.facts(22809);
  options_.algorithm = "ring";
  EXPECT_NE(options_.facts(22809).find("\nalgorithm=ring\n"), std::string::npos);
}

/// NCCL_COMM_BLOCKING takes the place of what the configuration says.
TEST_F(NcclEffective, KeepsCommunicatorsFromBlocking) {
  set("NCCL_COMM_BLOCKING", "1");
  EXPECT_EQ(options_.environment(22809, 0), (Variables{{"NCCL_RUNTIME_CONNECT", "0"}, {"NCCL_COMM_BLOCKING", "0"}}));
}

}  // namespace
}  // namespace baleen::nccl
