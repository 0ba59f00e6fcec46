/// \file What is said of a host that strangers may reach.
#include <gtest/gtest.h>

#include "support/places.hpp"
#include "support/two_networks.hpp"

namespace baleen::test {
namespace {

TEST(OpenNetwork, IsWarnedOfByTheDoctor) {
  const TwoNetworks networks;
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  const std::vector<std::string> doctor = {build_dir() + "/bin/baleen", "doctor"};
  EXPECT_EQ(run_process(networks.on(0, doctor)).out.find("strangers may reach"), std::string::npos);
  ASSERT_EQ(run_process({"ip", "-n", networks.name(0), "addr", "add", "203.0.113.5/32", "dev", TwoNetworks::kDevice})
                .exit_code,
            0);
  const std::string said = run_process(networks.on(0, doctor)).out;
  EXPECT_NE(said.find("advice: strangers may reach 203.0.113.5. "), std::string::npos) << said;
}

}  // namespace
}  // namespace baleen::test
