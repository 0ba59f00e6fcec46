/// \file Configs and indices of strangers: whatever stands in them, there is an answer or an error.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "compiler/ops/ops.hpp"
#include "frontend/lua/script.hpp"
#include "support/exchange_model.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

namespace baleen::test {
namespace {

class Hostile : public testing::Test {
 protected:
  Hostile() {
    EXPECT_TRUE(register_builtin_ops(ops_));
    ScriptOptions options;
    options.ops = &ops_;
    options.library = source_dir() + "/scripts/lua";
    auto library = Script::library(std::move(options));
    EXPECT_TRUE(library) << library.error().text();
    if (library) library_ = *std::move(library);
  }

  /// Bytes of `text` changed, doubled, cut out, or taken from what JSON is made of.
  static std::string mutated(std::string text, std::mt19937_64& random) {
    static const std::vector<std::string> words = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"",
                                                   ",",
                                                   ":",
                                                   "null",
                                                   "-1",
                                                   "1e99",
                                                   "0.5",
                                                   "true",
                                                   "{}",
                                                   "[[[[[[",
                                                   "\\u0000",
                                                   "../",
                                                   "\xff",
                                                   "99999999999999999999",
                                                   "9223372036854775807"};
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % (text.size() + 1), count = random() % 12;
      switch (random() % 4) {
        case 0: text.insert(at, words[random() % words.size()]); break;
        case 1: text.erase(at, count); break;
        case 2: text.insert(at, text.substr(random() % (text.size() + 1), count)); break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    return text;
  }

  const TemporaryFolder folder_;
  OpRegistry ops_;
  std::unique_ptr<Script> library_;
};

TEST_F(Hostile, ConfigsHaveAnAnswerOrAnError) {
  ASSERT_TRUE(library_);
  std::mt19937_64 random(test::seed());
  const std::vector<std::string> configs = {
      gpt2_config(), llama_config("\"rope_parameters\": {\"rope_type\": \"linear\"}"), mixtral_config()};
  MapRequest request;
  request.path = folder_.path();
  int answered = 0;
  for (int i = 0; i < 400; ++i) {
    folder_.write("config.json", mutated(configs[random() % configs.size()], random));
    const auto map = library_->model_map(request);
    if (map)
      ++answered;
    else
      EXPECT_NE(map.error().text().find("config.json"), std::string::npos) << map.error().text();
  }
  EXPECT_GT(answered, 4) << "the changes leave nothing whole";
  EXPECT_LT(answered, 396) << "the changes break nothing";
}

TEST_F(Hostile, IndicesNameFilesOfTheirFolderOrAreRefused) {
  ASSERT_TRUE(library_);
  std::mt19937_64 random(test::seed());
  const std::string index =
      "{\"metadata\": {\"total_size\": 3}, \"weight_map\": {\"a.weight\": "
      "\"model-00001-of-00002.safetensors\", \"b.weight\": \"model-00002-of-00002.safetensors\"}}";
  int answered = 0;
  for (int i = 0; i < 400; ++i) {
    folder_.write("model.safetensors.index.json", mutated(index, random));
    const auto files = library_->model_files(folder_.path());
    if (!files) {
      EXPECT_NE(files.error().text().find("index.json"), std::string::npos) << files.error().text();
      continue;
    }
    ++answered;
    for (const std::string& file : files->files)
      EXPECT_EQ(std::filesystem::path(file).parent_path(), folder_.path()) << file;
    for (const auto& [name, number] : files->file_of) EXPECT_LT(number, files->files.size());
  }
  EXPECT_GT(answered, 4);
  EXPECT_LT(answered, 396);
}

}  // namespace
}  // namespace baleen::test
