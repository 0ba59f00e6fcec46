/// \file What options become: members of NCCL's configuration, and variables where it knows no other way.
#include "options.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace baleen::nccl
