/// \file The Lua library as a whole: its files keep to their sizes, and editors are told of all that scripts can use.
#include <fstream>
#include <iterator>
#include <sstream>

#include "frontend/lua/kind_stub.hpp"
#include "script_fixture.hpp"
#include "support/places.hpp"

namespace baleen::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Library : public ScriptTest {
 protected:
  /// What editors are told of a table of the library; of ops in two files.
  std::string meta(const std::string& file) const {
    const fs::path folder = options_.library / "meta";
    return read(folder / (file + ".lua")) + (file == "ops" ? read(folder / "kinds.lua") : "");
  }
  /// The names in a table of the library, one print each.
  std::vector<std::string> names_in(const std::string& table) {
    error_of("local baleen = require 'baleen'\nfor name in pairs(" + table + ") do print(name) end return 1");
    std::vector<std::string> names;
    std::istringstream lines(printed_);
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    printed_.clear();
    return names;
  }
};

TEST_F(Library, IsDescribedToEditors) {
  const std::map<std::string, std::string> tables = {{"baleen", "baleen"}, {"baleen.nn", "nn"}, {"baleen.ops", "ops"}};
  for (const auto& [table, file] : tables) {
    const std::string text = meta(file);
    const std::vector<std::string> names = names_in(table);
    EXPECT_GT(names.size(), 9u) << table;
    for (const std::string& name : names) {
      const bool described = text.find("function " + file + "." + name + "(") != std::string::npos ||
                             text.find("---@field " + name + " ") != std::string::npos;
      EXPECT_TRUE(described) << "scripts/lua/meta/" << file << ".lua lacks " << table << "." << name;
    }
  }
}

TEST_F(Library, OpsOfPluginsAreDescribedToEditorsByTheirSchemas) {
  EXPECT_EQ(read(options_.library / "meta" / "kinds.lua"), editor_stub(*options_.ops))
      << "write it again: baleen plugins --stub > scripts/lua/meta/kinds.lua";
}

TEST_F(Library, LayoutsByHandAreDescribedToEditors) {
  const std::string text = read(options_.library / "meta" / "baleen.lua");
  const std::vector<std::string> names = names_in("baleen.parallel");
  EXPECT_EQ(names.size(), 5u);
  for (const std::string& name : names)
    EXPECT_NE(text.find("function parallel." + name + "("), std::string::npos) << name;
}

TEST_F(Library, DescribesToEditorsNothingElse) {
  const std::map<std::string, std::string> tables = {{"baleen", "baleen"}, {"baleen.nn", "nn"}, {"baleen.ops", "ops"}};
  for (const auto& [table, file] : tables) {
    const std::vector<std::string> names = names_in(table);
    std::istringstream lines(meta(file));
    const std::string prefix = "function " + file + ".";
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(prefix)) continue;
      const std::string name = line.substr(prefix.size(), line.find('(') - prefix.size());
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << table << " has no " << name;
    }
  }
}

TEST_F(Library, ModulesLoadAlone) {
  for (const auto& entry : fs::recursive_directory_iterator(options_.library / "baleen")) {
    if (entry.path().extension() != ".lua" || entry.path().filename() == "sandbox.lua") continue;
    std::string name = fs::relative(entry.path(), options_.library).replace_extension().generic_string();
    for (char& c : name)
      if (c == '/') c = '.';
    EXPECT_EQ(error_of("require '" + name + "' return 1"),
              "train.lua: the script returns the number 1; its last line must be `return baleen.job { ... }`");
  }
}

TEST_F(Library, ExamplesDescribeTheirJobs) {
  options_.data = [](const MemberSpec& spec, std::uint64_t seed) {
    MemberSpec fake;
    fake.name = "fake";
    fake.options["fields"] = UserValue{std::string(spec.options.contains("rows") ? "features" : "tokens"), ""};
    if (spec.options.contains("context")) fake.options["context"] = spec.options.at("context");
    return FakeData::create(fake, seed);
  };
  const fs::path examples = fs::path(test::source_dir()) / "examples";
  auto hello = Script::load(examples / "01_hello" / "train.lua", options_);
  ASSERT_TRUE(hello) << hello.error().text();
  auto gpt = Script::load(examples / "02_gpt" / "train.lua", options_);
  ASSERT_TRUE(gpt) << gpt.error().text();
  const std::int64_t d = 128, vocabulary = 16, context = 128, layers = 4;
  EXPECT_EQ(parameter_count(**gpt), 2 * vocabulary * d + context * d + layers * (12 * d * d + 13 * d) + 2 * d);
  EXPECT_EQ((*gpt)->steps(), 1000);
  EXPECT_EQ((*gpt)->job().batch, 16);
  EXPECT_TRUE((*gpt)->job().graphs.contains("generate"));
}

}  // namespace
}  // namespace baleen::testing
