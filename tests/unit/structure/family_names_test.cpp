/// \file The core names no member of any family: no optimizer, device, format, ... stands in its string literals.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "source_text.hpp"

namespace baleen::structure {
namespace {

namespace fs = std::filesystem;

/// Names of members that are also words of the core's own, with what they mean there.
const std::map<std::string, std::string> kOwnWords = {
    {"data", "the kind of plugin, the job's field and a mesh axis"},
    {"host", "the place where the program itself runs"},
};

/// Folders of one family that hold a member each.
void add_members(const fs::path& family, std::set<std::string>& names) {
  if (!fs::is_directory(family)) return;
  for (const auto& entry : fs::directory_iterator(family))
    if (entry.is_directory() && fs::exists(entry.path() / "CMakeLists.txt"))
      names.insert(entry.path().filename().string());
}

std::set<std::string> members(const fs::path& root) {
  std::set<std::string> names;
  for (const char* family : {"optimizers", "strategies", "transports"}) add_members(root / family, names);
  for (const auto& kind : fs::directory_iterator(root / "plugins"))
    if (kind.is_directory()) add_members(kind.path(), names);
  return names;
}

/// Whether a literal names the member: it is the name, quotes it, has it as a part of a path, a key or a file's name,
/// or, where the name is no English word, has it as a word anywhere.
bool names_member(const std::string& literal, const std::string& name) {
  static const std::set<std::string> english = {"console", "host", "table", "text", "trace", "data", "zero"};
  if (literal == name) return true;
  const std::string edge = english.contains(name) ? "[`'\"/._=\\\\-]" : "[^A-Za-z0-9]|_";
  const std::string before = english.contains(name) ? edge : "^|" + edge, after = "$|" + edge;
  if (english.contains(name) && std::regex_search(literal, std::regex("^" + name + "[`'\"/.=_-]"))) return true;
  return std::regex_search(literal, std::regex("(" + before + ")" + name + "(" + after + ")"));
}

TEST(FamilyNames, NoMemberIsNamedInTheCore) {
  const fs::path root = BALEEN_SOURCE_DIR;
  const std::set<std::string> names = members(root);
  int seen = 0;
  for (const fs::path& path : sources_below(root / "core")) {
    for (const Literal& literal : read_file(path).literals) {
      ++seen;
      for (const std::string& name : names) {
        if (kOwnWords.contains(name)) continue;
        EXPECT_FALSE(names_member(literal.text, name))
            << path.lexically_relative(root).string() << ":" << literal.line << ": \"" << literal.text
            << "\" names the member `" << name << "`; let its descriptor say what the core needs to know";
      }
    }
  }
  EXPECT_GT(seen, 100) << "the scan found next to nothing under " << root / "core";
}

TEST(FamilyNames, MembersAreFoundInEveryKindOfFolder) {
  const std::set<std::string> names = members(BALEEN_SOURCE_DIR);
  EXPECT_TRUE(names.contains("adamw")) << "a member in optimizers/";
  EXPECT_TRUE(names.contains("jsonl") || names.contains("console")) << "a member in plugins/monitor/";
}

TEST(FamilyNames, ALiteralThatNamesAMemberIsSeen) {
  EXPECT_TRUE(names_member("adamw", "adamw"));
  EXPECT_TRUE(names_member("use adamw or another", "adamw"));
  EXPECT_TRUE(names_member("baleen_optimizer_adamw.so", "adamw"));
  EXPECT_TRUE(names_member("text", "text"));
  EXPECT_TRUE(names_member("the plugin `text` reads", "text"));
  EXPECT_TRUE(names_member("plugins/data/text", "text"));
  EXPECT_TRUE(names_member("baleen_data_text.so", "text"));
  EXPECT_FALSE(names_member("the text of line", "text"));
  EXPECT_FALSE(names_member("context", "text"));
  EXPECT_FALSE(names_member("/proc/cpuinfo", "cpu"));
}

}  // namespace
}  // namespace baleen::structure
