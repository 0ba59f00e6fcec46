/// \file The core names no member of any family: no optimizer, device, format, ... stands in its string literals.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <vector>

#include "source_text.hpp"
#include "support/places.hpp"

namespace baleen::structure {
namespace {

namespace fs = std::filesystem;
using test::source_dir;

/// A member's name that is also a word of the core's own, where, and what it means there.
struct OwnWord {
  std::string name, place, meaning;
};
const std::vector<OwnWord>& own_words() {
  static const std::vector<OwnWord> all = {
      {"data", "", "the kind of plugin, the job's field, a mesh axis"},
      {"host", "", "the place where the program itself runs"},
      {"offload", "", "the kind of plugin, the manifest's section"},
      {"recompute", "compiler/", "a phase of strategies"},
      {"pipeline", "compiler/", "an order of passes of micro-batches, which any strategy may give"},
      {"pipeline", "frontend/lua/bind_job.cpp", "the annotation of scripts"},
      {"local", "", "of one rank, or of one host"},
      {"shm", "frontend/cli/", "the system's folder of shared memory"},
      {"table", "core/plugin/descriptor.cpp", "a type of option"},
      {"table", "frontend/lua/", "a type of Lua's"},
      {"tensor", "", "a value"},
      {"jsonl", "frontend/cli/", "how predictions are written"},
      {"text", "frontend/cli/predictions.cpp", "the name of what a sequence says"},
      {"text", "frontend/lua/bind_data.cpp", "what a method of a data set takes, where its message names it"},
  };
  return all;
}

bool is_own_word(const std::string& name, const std::string& file) {
  return std::ranges::any_of(own_words(),
                             [&](const OwnWord& w) { return w.name == name && file.starts_with(w.place); });
}

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

/// Finds a member's name in literals: the name alone, quoted, or as a part of a path, a key or a file's name; where the
/// name is no English word, as a word anywhere.
class NameFinder {
 public:
  explicit NameFinder(const std::string& name) : name_(name), pattern_(pattern(name)) {}

  bool finds(const std::string& literal) const {
    return literal.find(name_) != std::string::npos && std::regex_search(literal, pattern_);
  }

 private:
  static std::string pattern(const std::string& name) {
    static const std::set<std::string> english = {"console", "host", "table", "text",
                                                  "trace",   "data", "zero",  "tensor"};
    const bool word = english.contains(name);
    const std::string before = word ? "[`'\"/._=-]" : "[^A-Za-z0-9]", after = word ? "[`'\"/._=\\\\-]" : "[^A-Za-z0-9]";
    return "(^|" + before + ")" + name + "(" + after + "|$)";
  }

  std::string name_;
  std::regex pattern_;
};

bool names_member(const std::string& literal, const std::string& name) { return NameFinder(name).finds(literal); }

TEST(FamilyNames, NoMemberIsNamedInTheProgram) {
  const fs::path root = source_dir();
  const std::set<std::string> names = members(root);
  std::map<std::string, NameFinder> finders;
  for (const std::string& name : names) finders.emplace(name, name);
  int seen = 0;
  for (const char* room : {"core", "compiler", "frontend"})
    for (const fs::path& path : sources_below(root / room)) {
      const std::string file = path.lexically_relative(root).generic_string();
      for (const Literal& literal : read_file(path).literals) {
        ++seen;
        for (const auto& [name, finder] : finders)
          EXPECT_TRUE(is_own_word(name, file) || !finder.finds(literal.text))
              << file << ":" << literal.line << ": \"" << literal.text << "\" names the member `" << name
              << "`; let its descriptor say what the program needs to know";
      }
    }
  EXPECT_GT(seen, 100) << "the scan found next to nothing under " << root;
}

TEST(FamilyNames, MembersAreFoundInEveryKindOfFolder) {
  const std::set<std::string> names = members(source_dir());
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
