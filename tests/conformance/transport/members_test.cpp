/// \file What the suite runs on, and that a transport which cannot start is a failure of it.
#include "suite.hpp"
#include "support/process.hpp"

namespace baleen::conformance {
namespace {

TEST(Members, AreAllTransportsOfTheTree) {
  std::vector<std::string> expected;
  std::istringstream targets(BALEEN_TRANSPORTS);
  for (std::string name; targets >> name;) expected.push_back(name);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(test::built_members("transport"), expected);
}

// What has no cases with processes has none because it refuses them, not because it fails.
TEST(Members, OfThreadsAloneRefuseProcesses) {
  for (const std::string name : kThreadsOnly) {
    const test::TransportPlugin plugin(test::built_plugin("transport", name));
    const std::string refused = test::run_ranks(plugin, As::kProcesses, 2, [](Rank&) {});
    EXPECT_NE(refused.find("rank 1: the " + name + " joins threads of one process, but rank 0 is process "),
              std::string::npos)
        << refused;
  }
}

std::string last_line_with(const std::string& text, const std::string& mark) {
  const std::size_t at = text.rfind(mark);
  return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
}

class BrokenMembers : public testing::TestWithParam<Member> {};

// The suite itself, on this member with a `create` that fails: no case passes, none is skipped. Those whose ranks may
// fail to start have nothing to do with it.
TEST_P(BrokenMembers, FailTheSuite) {
  const auto ran =
      test::run_process({test::built("tests/test_conformance.transport"),
                         "--gtest_filter=Members/*/" + GetParam().text() + "-*BrokenMembers*:*EndsCreate*"},
                        {{}, std::chrono::seconds(60), {"BALEEN_TEST_BROKEN_CREATE=1"}});
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_NE(ran.out.find("a broken create"), std::string::npos) << ran.out;
  EXPECT_EQ(last_line_with(ran.out, "[  PASSED  ]"), "[  PASSED  ] 0 tests.") << ran.out;
  EXPECT_EQ(ran.out.find("[  SKIPPED ]"), std::string::npos) << ran.out;
}

BALEEN_TRANSPORT_SUITE(BrokenMembers);

}  // namespace
}  // namespace baleen::conformance
