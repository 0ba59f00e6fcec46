/// \file The cache of compiled kernels.
#include "compiler.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "support/temporary_folder.hpp"

namespace baleen::cuda {
namespace {

TEST(CodeCache, GivesBackWhatItKept) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder / "deep/er");
  EXPECT_EQ(cache.find("a source"), "");
  const std::string code(
      "\x7f"
      "ELF\0code",
      9);
  cache.keep("a source", code);
  EXPECT_EQ(cache.find("a source"), code);
  EXPECT_EQ(cache.find("another source"), "");
  EXPECT_EQ(CodeCache(folder / "deep/er").find("a source"), code) << "another process";
}
TEST(CodeCache, TrustsNoFileWithAnotherKey) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  cache.keep("a source", "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::string bytes = test::read_file(file.path().string());
    bytes[8] = 'x';  // the key's first letter, as if two sources had one hash
    folder.write(file.path().filename().string(), bytes);
  }
  EXPECT_EQ(cache.find("a source"), "");
}
TEST(CodeCache, TrustsNoFileThatWasCutShort) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  cache.keep("a source", "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    folder.write(file.path().filename().string(), test::read_file(file.path().string()).substr(0, 12));
  EXPECT_EQ(cache.find("a source"), "");
}
TEST(CodeCache, DoesWithoutAFolderThatCannotBeWritten) {
  const CodeCache cache("/proc/no/such/folder");
  cache.keep("a source", "code");
  EXPECT_EQ(cache.find("a source"), "");
}
/// Each turn opens the file itself, so threads stand for processes here.
TEST(CodeCache, LetsOneCompileWhatOthersWaitFor) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder / "deep/er");
  std::optional<CodeCache::Turn> first(std::in_place, cache, "a source");
  std::string found;
  std::thread second([&] {
    const CodeCache::Turn turn(cache, "a source");
    found = cache.find("a source");
  });
  const CodeCache::Turn other(cache, "another source", std::chrono::hours(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  cache.keep("a source", "code");
  first.reset();
  second.join();
  EXPECT_EQ(found, "code");
}
TEST(CodeCache, IsNotWaitedForForEver) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  {
    const CodeCache::Turn stopped(cache, "a source");
    const CodeCache::Turn impatient(cache, "a source", std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "what was locked is left";
  const CodeCache::Turn nowhere(CodeCache("/proc/no/such/folder"), "a source", std::chrono::hours(1));
}
TEST(CodeCache, LiesInTheUsersCacheFolder) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_cache_folder(), "/somewhere/baleen/cuda");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/whale", 1);
  EXPECT_EQ(default_cache_folder(), "/home/whale/.cache/baleen/cuda");
}

}  // namespace
}  // namespace baleen::cuda
