/// \file The cache of compiled kernels.
#include "compiler.hpp"

#include <gtest/gtest.h>

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
TEST(CodeCache, LiesInTheUsersCacheFolder) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_cache_folder(), "/somewhere/baleen/cuda");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/whale", 1);
  EXPECT_EQ(default_cache_folder(), "/home/whale/.cache/baleen/cuda");
}

}  // namespace
}  // namespace baleen::cuda
