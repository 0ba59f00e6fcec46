/// \file Maps of the user's own: what is wrong in them is told with their line.
#include "support/exchange_model.hpp"

namespace baleen::test {
namespace {

class Maps : public testing::Test {
 protected:
  /// What the import of a folder with a tensor `a.weight` [2, 3] says to a map whose rules are these lines, the first
  /// of them on line 5.
  std::string error_of(const std::string& lines, const std::string& head = {}) {
    folder_.write("theirs/config.json", "{\"model_type\": \"mine\", \"size\": 3}");
    folder_.write("theirs/model.safetensors", tensors());
    folder_.write("map.lua",
                  "local baleen = require 'baleen'\nreturn baleen.models.map {\n"
                  "  name = 'mine', types = { 'mine' }, heads = { all = 'Mine' }, default = 'all',\n"
                  "  tensors = function(config, given, add)\n" +
                      lines + "\n  end,\n}\n");
    std::vector<std::string> words{"checkpoint", "import",           folder_ / "theirs", folder_ / "x.safetensors",
                                   "--map",      folder_ / "map.lua"};
    if (!head.empty()) words.insert(words.end(), {"--head", head});
    const ProcessResult result = run_baleen(words);
    EXPECT_EQ(result.exit_code == 0, result.err.empty()) << result.err;
    return result.err;
  }
  void expect_error(const std::string& lines, const std::string& part) {
    const std::string error = error_of(lines);
    EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part;
  }
  static std::string tensors() {
    std::string header = R"({"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string file(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(file.data(), &size, sizeof size);
    return file + header + std::string(24, 'x');
  }

  const TemporaryFolder folder_;
};

TEST_F(Maps, OfAUserReadAFolder) {
  EXPECT_EQ(error_of("    add { ours = 'w', theirs = 'a.weight', form = 'a b -> b a',\n"
                     "      sizes = { a = 2, b = config:integer('size') } }"),
            "");
  EXPECT_EQ(read_file(folder_ / "x.safetensors").size() - 24,
            read_file(folder_ / "x.safetensors").find(std::string(24, 'x')));
}

TEST_F(Maps, SayWhichLineIsWrong) {
  expect_error("    add { ours = 'w', theirs = 'a.weight', form = 'a b' }",
               "map.lua:5: map `mine`: `w`: option `sizes`");
  expect_error("    add { ours = 'w', theirs = 'a.weight', forms = 'a b' }", "did you mean `form`?");
  expect_error("    add { ours = 'w', theirs = {}, form = 'a', sizes = {} }",
               "map.lua:5: map `mine`: `w`: `theirs` is empty");
  expect_error("    add { ours = 'w', theirs = 'a', form = 'a', sizes = { a = 0 } }", "map.lua:5: ");
  expect_error("    add { ours = 'w', theirs = 'a', form = 'a', sizes = { ab = 1 } }", "letters are a to z");
  expect_error(
      "    local s = { a = 2, b = 3 }\n"
      "    add { ours = 'w', theirs = 'a.weight', form = 'a b', sizes = s }\n"
      "    add { ours = 'w', theirs = 'b.weight', form = 'a b', sizes = s }",
      "map.lua:7: map `mine`: `w`: a second rule for this parameter");
  expect_error("    add { ours = 'w', theirs = 'a.weight', form = 'a b -> b', sizes = { a = 2, b = 3 } }",
               "map.lua:5: map: `w`: form \"a b -> b\": both sides must have the same letters");
  expect_error("    add { ours = 'w', theirs = 'a.weight', form = 'a b', sizes = { a = 3, b = 3 } }",
               "`a.weight` is [2, 3]; the map `mine` expects [3, 3] (for `w`)");
  expect_error("    add { ours = 'w', theirs = 'a.wait', form = 'a b', sizes = { a = 2, b = 3 } }",
               "there is no tensor `a.wait` [2, 3] (for `w`), which the map `mine` reads for the head `all` (");
  expect_error("    add { ours = 'w', theirs = 'a.wait', form = 'a b', sizes = { a = 2, b = 3 } }",
               "map.lua:5); the nearest name is `a.weight`");
  expect_error("    error('oh')", "map.lua:5: oh");
  expect_error("", "gives no tensors");
  EXPECT_NE(error_of("    add { ours = 'w' }", "none").find("unknown head `none`"), std::string::npos);
}

TEST_F(Maps, ThatAreNoneAreRefused) {
  folder_.write("theirs/config.json", "{}");
  for (const char* text : {"", "return 3", "return { name = 'mine' }", "return {"}) {
    folder_.write("map.lua", text);
    const ProcessResult result = run_baleen(
        {"checkpoint", "import", folder_ / "theirs", folder_ / "x.safetensors", "--map", folder_ / "map.lua"});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_NE(result.err.find("map"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace baleen::test
