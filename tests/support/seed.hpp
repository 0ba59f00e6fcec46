/// \file Where random tests begin: anywhere, or where they began when they failed.
#pragma once
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

namespace baleen::test {
namespace detail {

/// The seed of this process: the environment variable BALEEN_TEST_SEED, or a random one.
inline std::uint64_t base_seed() {
  static const std::uint64_t base = []() -> std::uint64_t {
    const char* text = std::getenv("BALEEN_TEST_SEED");
    if (!text || !*text) return std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
    char* end = nullptr;
    errno = 0;
    const std::uint64_t given = std::strtoull(text, &end, 10);
    if (*end || errno || *text == '-') throw std::runtime_error("BALEEN_TEST_SEED is no seed: " + std::string(text));
    return given;
  }();
  return base;
}

/// "Suite.Case" of the test that runs; empty outside of one.
inline std::string running_test() {
  const testing::TestInfo* running = testing::UnitTest::GetInstance()->current_test_info();
  return running ? std::string(running->test_suite_name()) + "." + running->name() : std::string();
}

}  // namespace detail

/// A mixture of a seed and a name's bytes (FNV-1a, then the finalizer of SplitMix64): other tests, other numbers.
inline std::uint64_t mixed_seed(std::uint64_t base, const std::string& name, std::uint64_t call) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : name) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  hash = (hash ^ base) + (call + 1) * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

/// A seed for the test that runs, another one at every call of it. Prints what makes the same test begin there again.
/// [the test's own thread; before it forks]
inline std::uint64_t seed() {
  static std::map<std::string, std::uint64_t> calls;
  const std::string name = detail::running_test();
  const std::uint64_t call = calls[name]++;
  if (call == 0) {
    const std::string base = std::to_string(detail::base_seed());
    std::printf("seed: BALEEN_TEST_SEED=%s %s --gtest_filter='%s'\n", base.c_str(), program_invocation_name,
                name.c_str());
    std::fflush(stdout);
    if (!name.empty()) testing::Test::RecordProperty("seed", base);
  }
  return mixed_seed(detail::base_seed(), name, call);
}

}  // namespace baleen::test
