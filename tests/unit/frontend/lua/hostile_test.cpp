/// \file Scripts that mean ill, or run away: each ends within its limits, is refused as the user's, and takes no more
/// than a gibibyte.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "support/hostile_scripts.hpp"
#include "support/temporary_folder.hpp"
#include "unit/frontend/lua/script_fixture.hpp"

namespace baleen::testing {
namespace {

using test::Hostile;
using test::kEndless;
using test::kStuck;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

long resident_kib() {
  std::ifstream pages("/proc/self/statm");
  long all = 0, resident = 0;
  pages >> all >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

class HostileScript : public ScriptTest, public ::testing::WithParamInterface<Hostile> {};
INSTANTIATE_TEST_SUITE_P(Of, HostileScript, ::testing::ValuesIn(test::kHostileScripts),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(HostileScript, EndsWithinItsLimits) {
  // What is to end for another reason has the time that it takes on a busy machine.
  const std::string says = GetParam().says;
  const bool is_endless = says.empty() || says == kEndless || says == kStuck;
  // A gibibyte of small pieces takes AddressSanitizer 15 s on the slowest machine met, beside another test.
  const std::chrono::milliseconds limit(is_endless ? 300 : 45'000);
  constexpr double kMostSeconds = kIsSanitized ? 55 : 25;  // a machine may be busy
  constexpr long kMostKiB = 1200 * 1024L;
  for (const auto& [name, text] : test::kHostileModules) write(name, text);
  options_.time_limit = limit;
  options_.stuck = [](const Error& why) {
    std::fputs(why.text().c_str(), stderr);
    std::fflush(stderr);
    std::_Exit(2);
  };
  const std::string said = (folder_ / "said").string();
  const auto begin = std::chrono::steady_clock::now();
  const long before = resident_kib();  // which the child begins with
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen(said.c_str(), "w", stderr)) std::_Exit(99);
    const auto script = load(GetParam().code);
    if (script) std::_Exit(98);
    std::fputs(script.error().text().c_str(), stderr);
    std::fflush(stderr);
    std::_Exit(script.error().code == BALEEN_INVALID ? 2 : 70);
  }
  int status = 0;
  rusage used{};
  ASSERT_EQ(wait4(child, &status, 0, &used), child);
  const std::string text = test::read_file(said);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << "status " << status << ": " << text.substr(0, 1000);
  EXPECT_NE(text.find(says), std::string::npos) << text.substr(0, 1000);
  EXPECT_FALSE(text.empty());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), kMostSeconds);
  if (!kIsSanitized) {  // sanitizers keep what is freed
    EXPECT_LT(used.ru_maxrss - before, kMostKiB);
  }
}

}  // namespace
}  // namespace baleen::testing
