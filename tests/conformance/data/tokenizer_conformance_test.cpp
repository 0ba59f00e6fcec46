/// \file What every data plugin with "baleen.data.tokenizer/1" must do.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sample.hpp"

namespace {

using namespace baleen::test;
using Plugin = PluginUnderTest<baleen_data_t>;

const baleen_data_tokenizer_t* tokenizers_of(const Plugin& plugin) {
  if (!plugin.table.query) return nullptr;
  return static_cast<const baleen_data_tokenizer_t*>(plugin.table.query(nullptr, baleen::abi(BALEEN_DATA_TOKENIZER)));
}

/// Each member that makes tokenizers with each of its kinds: "text bpe".
std::vector<std::string> members_and_kinds() {
  std::vector<std::string> names;
  for (const std::string& member : built_members("data")) {
    const Plugin plugin{built_plugin("data", member)};
    const auto* table = tokenizers_of(plugin);
    std::string_view rest = table ? baleen::view(table->kinds()) : std::string_view();
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      names.push_back(member + " " + std::string(line.substr(0, line.find(':'))));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
  }
  return names;
}

TEST(TokenizersOf, AnswersForThePluginAlone) {
  for (const std::string& member : built_members("data")) {
    const Plugin plugin{built_plugin("data", member)};
    if (!plugin.table.query) continue;
    for (const char* name : {BALEEN_DATA_TOKENS, BALEEN_DATA_RAGGED, "baleen.data.nothing/1"})
      EXPECT_EQ(plugin.table.query(nullptr, baleen::abi(name)), nullptr) << member << " has no data set here";
  }
}

class Tokenizers : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->size, sizeof(*table));
    std::string text;
    for (int i = 0; i < 400; ++i) text += "some words, " + std::to_string(i * 7919 % 1000) + " of them stand again\n";
    path = folder.write("text.txt", text);
  }
  baleen_status_t train(const std::string& out, std::int64_t vocabulary, const std::string& more = "") {
    baleen_tokenizer_training_t training{};
    training.size = sizeof(training);
    training.kind = baleen::abi(kind);
    training.vocabulary = vocabulary;
    training.files = baleen::abi(path);
    training.out = baleen::abi(out);
    training.folder = baleen::abi(base);
    training.options = baleen::abi(more);
    return table->train(plugin.host->get(), &training);
  }
  /// Trains with the ending that the member asks for.
  std::string trained() {
    for (const char* name : {"made.json", "made.model"})
      if (train(name, 300) == BALEEN_OK) return folder / name;
    return "";
  }

  std::string member = GetParam().substr(0, GetParam().find(' ')), kind = GetParam().substr(GetParam().find(' ') + 1);
  Plugin plugin{built_plugin("data", member)};
  const baleen_data_tokenizer_t* table = tokenizers_of(plugin);
  TemporaryFolder folder;
  const std::string base = folder.path();
  std::string path;
};

TEST_P(Tokenizers, TrainsWhatItOpens) {
  const std::string made = trained();
  ASSERT_NE(made, "") << plugin.host->failure();
  void* handle = nullptr;
  ASSERT_EQ(table->open(plugin.host->get(), baleen::abi(made), &handle), BALEEN_OK) << plugin.host->failure();
  const std::int64_t vocabulary = table->vocabulary(handle);
  EXPECT_GT(vocabulary, 10);
  EXPECT_LE(vocabulary, 300);
  const std::string text = "some words stand again";
  const auto count = table->encode(handle, baleen::abi(text), 0, nullptr, 0);
  ASSERT_GT(count, 0);
  EXPECT_LT(count, std::ssize(text));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count), -7);
  EXPECT_EQ(table->encode(handle, baleen::abi(text), 0, ids.data(), count - 1), count) << "the count needed";
  EXPECT_EQ(ids.back(), -7) << "nothing past the capacity";
  EXPECT_EQ(table->encode(handle, baleen::abi(text), 0, ids.data(), count), count);
  EXPECT_GE(table->encode(handle, baleen::abi(text), 1, nullptr, 0), count) << "with what frames it";
  std::string back(64, '?');
  back.resize(
      static_cast<std::size_t>(std::max<std::int64_t>(table->decode(handle, ids.data(), count, back.data(), 64), 0)));
  EXPECT_EQ(back, text);
  for (const std::int32_t id : ids) EXPECT_GT(table->token(handle, id, nullptr, 0), 0);
  const auto outside = static_cast<std::int32_t>(vocabulary);
  EXPECT_EQ(table->decode(handle, &outside, 1, nullptr, 0), -1);
  EXPECT_EQ(table->token(handle, outside, nullptr, 0), -1);
  EXPECT_NE(plugin.host->failure(), "");
  table->close(handle);
}

TEST_P(Tokenizers, TrainsTheSameAgain) {
  const auto bytes = [](const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string first = bytes(trained());
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(bytes(trained()) == first);
}

TEST_P(Tokenizers, RefusesWhatItDoesNotKnow) {
  const std::string made = trained();
  const std::string out = std::filesystem::path(made).filename().string();
  const auto before = std::filesystem::last_write_time(made);
  EXPECT_NE(train(out, 300, "no_such_option=1\n"), BALEEN_OK);
  EXPECT_NE(plugin.host->failure().find("no_such_option"), std::string::npos) << plugin.host->failure();
  EXPECT_NE(train(out, 0), BALEEN_OK);
  kind = "no_such_kind";
  EXPECT_NE(train(out, 300), BALEEN_OK);
  EXPECT_EQ(std::filesystem::last_write_time(made), before) << "the old file stays";
  void* handle = nullptr;
  EXPECT_NE(table->open(plugin.host->get(), baleen::abi(folder / "absent"), &handle), BALEEN_OK);
  EXPECT_EQ(handle, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Members, Tokenizers, testing::ValuesIn(members_and_kinds()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Tokenizers);

}  // namespace
