/// \file The tests of a part lie where the part does: folders of tests/unit are those of the sources.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "source_text.hpp"
#include "support/places.hpp"

namespace baleen::structure {
namespace {

namespace fs = std::filesystem;
using test::source_dir;

/// Folders that no folder of sources answers to, and why.
const std::map<std::string, std::string>& own_folders() {
  static const std::map<std::string, std::string> all = {
      {"structure", "of the tree itself"},
      {"support", "of what tests share, in tests/support"},
      {"plugins/monitor/files", "of both monitors that write files"},
  };
  return all;
}

/// The entry of `own_folders` that a folder is, or lies below; or nothing.
std::string own_folder_of(const std::string& folder) {
  for (const auto& [own, reason] : own_folders())
    if (folder == own || folder.starts_with(own + "/")) return own;
  return {};
}

TEST(Folders, OfUnitTestsAreThoseOfTheSources) {
  const fs::path root = source_dir();
  std::set<std::string> seen, excused;
  for (const fs::path& path : sources_below(root / "tests/unit")) {
    if (!path.stem().string().ends_with("_test")) continue;
    const std::string folder = path.parent_path().lexically_relative(root / "tests/unit").generic_string();
    if (!seen.insert(folder).second) continue;
    if (const std::string own = own_folder_of(folder); !own.empty())
      excused.insert(own);
    else
      EXPECT_TRUE(fs::is_directory(root / folder)) << "tests/unit/" << folder << " tests what is not in " << folder;
  }
  EXPECT_GT(seen.size(), 30u) << "the scan found next to nothing under " << root;
  for (const auto& [own, reason] : own_folders()) EXPECT_TRUE(excused.count(own)) << own << " is excused and not there";
}

}  // namespace
}  // namespace baleen::structure
