/// \file What the tests of tests/support run: random numbers and promises of a test program that is not theirs.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "support/promise.hpp"
#include "support/seed.hpp"

namespace baleen::test {
namespace {

TEST(Draws, Twice) {
  const std::uint64_t first = seed(), second = seed();
  std::printf("drawn %lu %lu\n", first, second);
}
TEST(Draws, Again) {
  const std::uint64_t first = seed(), second = seed();
  std::printf("drawn %lu %lu\n", first, second);
}

TEST(Promises, KeptAtTheSecondTry) {
  int tries = 0;
  expect_kept(1, [&] { return ++tries == 1 ? 2.5 : 0.5; });
}
TEST(Promises, NeverKept) {
  expect_kept(1, [] { return 2.5; });
}
bool is_stopped(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  return text.find(") T ") != std::string::npos;
}
/// This process stands still in the meantime.
void be_disturbed() {
  const pid_t self = getpid();
  if (fork() == 0) {
    while (getppid() == self && !is_stopped(self)) usleep(1'000);
    usleep(400'000);
    _exit(kill(self, SIGCONT));
  }
  raise(SIGSTOP);
}
TEST(Promises, KeptWhenTheMachineIsFree) {
  int tries = 0;
  expect_kept(1, [&] {
    if (++tries > 3) return 0.5;
    be_disturbed();
    return 2.5;
  });
}
TEST(Promises, NeverKeptOnABusyMachine) {
  expect_kept(1, [] {
    be_disturbed();
    return 2.5;
  });
}
TEST(Promises, OfWhatHangs) {
  expect_kept(1, [] { return 61.0; });
}

}  // namespace
}  // namespace baleen::test
