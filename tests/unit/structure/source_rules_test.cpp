/// \file What every source keeps to: its types have names of their own, its lines an end, and so has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "source_text.hpp"
#include "support/places.hpp"
#include "type_definitions.hpp"

namespace baleen::structure {
namespace {

namespace fs = std::filesystem;
using test::source_dir;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Adds the files of the SDK that a file includes, and those that they include.
void add_sdk(const fs::path& path, std::set<fs::path>& files) {
  for (const Include& include : read_file(path).includes) {
    const fs::path header = fs::path(source_dir()) / "sdk/include" / include.path;
    if (include.path.starts_with("baleen/") && files.insert(header).second) add_sdk(header, files);
  }
}

/// Type by type the file that defines it; a second one is a failure.
std::map<std::string, std::string> expect_own_names(const std::set<fs::path>& files) {
  std::map<std::string, std::string> places;
  for (const fs::path& path : files) {
    const std::string file = path.lexically_relative(source_dir()).generic_string();
    for (const TypeDefinition& type : type_definitions(content(path))) {
      const auto [first, added] = places.emplace(type.name, file);
      EXPECT_TRUE(added || first->second == file)
          << file << ":" << type.line << ": defines " << type.name << ", as does " << first->second
          << "; rename one, or put it into an unnamed namespace";
    }
  }
  return places;
}

/// Two types of one name, even in sources that never meet, are one to the linker: it keeps the functions of either.
TEST(TypeNames, OfTheProgramAreDefinedInOneFile) {
  std::set<fs::path> files;
  for (const char* room : {"core", "compiler", "frontend"})
    for (const fs::path& path : sources_below(fs::path(source_dir()) / room)) {
      files.insert(path);
      add_sdk(path, files);
    }
  auto places = expect_own_names(files);
  EXPECT_GT(places.size(), 200u);
  EXPECT_EQ(places["baleen::Communicator"], "core/execute/communicator.hpp");
  EXPECT_EQ(places["baleen::Error"], "sdk/include/baleen/result.hpp");
}

/// A plugin is a library of its own, and may have what the program has under the same name.
TEST(TypeNames, OfTheSdkAreDefinedInOneFile) {
  const auto headers = sources_below(fs::path(source_dir()) / "sdk/include");
  const auto places = expect_own_names({headers.begin(), headers.end()});
  EXPECT_GT(places.size(), 50u);
}

TEST(TypeNames, AreSeenInNamedNamespacesOnly) {
  const auto types = type_definitions(
      "#define X struct Macro {\n"
      "namespace a {\nnamespace { struct Hidden { int n; }; }\n"
      "/* struct Comment {} */ struct One : Base<int> { struct Inner {}; };  // struct No {\n"
      "template <class T>\nclass Two final {};\nstruct Declared;\n"
      "const char* text = \"struct Text {\";\nauto raw = R\"(struct Raw {)\"; int n = 1'000; char c = '{';\n"
      "void f(struct Argument* x) { struct Local {}; }\n"
      "template <>\nstruct Two<int> {};\n"
      "namespace b::c {\nenum class Three : int { x };\nstruct alignas(8) Four {};\n}\n}\nunion Five {};\n");
  std::vector<std::string> names;
  for (const TypeDefinition& type : types) names.push_back(type.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a::One", "a::Two", "a::b::c::Three", "a::b::c::Four", "Five"}));
  ASSERT_EQ(types.size(), 5u);
  EXPECT_EQ(types[0].line, 4);
}

/// Characters, not bytes.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr const char* kTops[] = {"core",       "compiler",   "frontend",   "sdk",   "plugins",
                                 "strategies", "optimizers", "transports", "tests", "examples"};

TEST(Lines, HaveAtMost120Columns) {
  const fs::path root = source_dir();
  int seen = 0;
  for (const char* top : kTops) {
    for (const fs::path& path : sources_below(root / top)) {
      std::ifstream file(path);
      int number = 0;
      for (std::string line; std::getline(file, line); ++seen)
        if (++number; columns(line) > 120)
          ADD_FAILURE() << path.lexically_relative(root).generic_string() << ":" << number << ": has " << columns(line)
                        << " columns; clang-format wraps it";
    }
  }
  EXPECT_GT(seen, 10'000) << "the scan found next to nothing under " << root;
  EXPECT_EQ(columns("a \xC2\xB7 b"), 5u);
}

/// Longer ones, by how much, and why.
const std::map<std::string, std::ptrdiff_t>& longer_sources() {
  static const std::map<std::string, std::ptrdiff_t> all = {
      // Plugins that `baleen new` copies, each in one file.
      {"sdk/template/pipes.cpp", 640},
      {"sdk/template/loops.cpp", 520},
  };
  return all;
}

TEST(Sources, HaveAtMost500Lines) {
  constexpr std::ptrdiff_t kMost = 500;
  const fs::path root = source_dir();
  std::set<std::string> excused;
  int seen = 0;
  for (const char* top : kTops) {
    for (const fs::path& path : sources_below(root / top)) {
      const std::string name = path.lexically_relative(root).generic_string(), text = content(path);
      const auto named = longer_sources().find(name);
      const std::ptrdiff_t most = named == longer_sources().end() ? kMost : named->second;
      const std::ptrdiff_t lines = std::count(text.begin(), text.end(), '\n');
      EXPECT_LE(lines, most) << name << ": it most likely holds two ideas; give the second a file of its own";
      if (lines > kMost) excused.insert(name);
      ++seen;
    }
  }
  EXPECT_GT(seen, 1'000) << "the scan found next to nothing under " << root;
  for (const auto& [name, most] : longer_sources())
    EXPECT_TRUE(excused.contains(name)) << name << " is excused and has " << kMost << " lines at most";
}

}  // namespace
}  // namespace baleen::structure
