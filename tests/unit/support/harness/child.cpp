/// \file What the tests of tests/support run: random numbers and promises of a test program that is not theirs.
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
TEST(Promises, OfWhatHangs) {
  expect_kept(1, [] { return 61.0; });
}

}  // namespace
}  // namespace baleen::test
