/// \file Links to files that are there, that are not, and to what has no path.
#include "core/input/links.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "baleen/file_handle.hpp"
#include "support/temporary_folder.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

TEST(Links, LeadToTheLastPath) {
  const test::TemporaryFolder folder;
  const fs::path at = folder.path();
  fs::create_directory(at / "disk");
  fs::create_symlink("disk/real", at / "second");
  fs::create_symlink(at / "second", at / "first");
  EXPECT_EQ(behind_links(at / "first"), at / "disk/real") << "nothing is there yet";
  EXPECT_EQ(behind_links(at / "plain"), at / "plain");
  fs::create_symlink("b", at / "a");
  fs::create_symlink("a", at / "b");
  EXPECT_EQ(behind_links(at / "a"), at / "a") << "round in a circle";
}

TEST(Links, StopAtOpenFiles) {
  const test::TemporaryFolder folder;
  const FileHandle file(::open((folder / "real").c_str(), O_WRONLY | O_CREAT, 0666));
  const fs::path of_process = fs::path("/proc/self/fd") / std::to_string(file.get());
  fs::create_symlink(of_process, fs::path(folder / "out"));
  EXPECT_EQ(behind_links(fs::path(folder / "out")), of_process);
  EXPECT_TRUE(is_open_file(of_process));
  EXPECT_FALSE(is_open_file(folder / "real"));
  EXPECT_FALSE(is_open_file("real"));
}

}  // namespace
}  // namespace baleen
