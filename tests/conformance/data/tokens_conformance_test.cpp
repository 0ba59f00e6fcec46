/// \file What every data plugin with "baleen.data.tokens/1" must do.
#include <gtest/gtest.h>

#include <algorithm>

#include "sample.hpp"

namespace {

using namespace baleen::test;

const baleen_data_tokens_t* tokens_of(const PluginUnderTest<baleen_data_t>& plugin, const DatasetRun& data) {
  if (!plugin.table.query) return nullptr;
  return static_cast<const baleen_data_tokens_t*>(plugin.table.query(data.handle(), baleen::abi(BALEEN_DATA_TOKENS)));
}

/// The members whose rows are text. A new one is named here.
std::vector<std::string> members_of_text() {
  std::vector<std::string> names;
  for (const std::string& name : built_members("data"))
    if (name == "text") names.push_back(name);
  return names;
}

TEST(TokensOf, NoOtherMember) {
  const std::vector<std::string> texts = members_of_text();
  for (const std::string& name : built_members("data")) {
    if (std::find(texts.begin(), texts.end(), name) != texts.end()) continue;
    ASSERT_TRUE(samples().contains(name));
    const PluginUnderTest<baleen_data_t> plugin{built_plugin("data", name)};
    const TemporaryFolder folder;
    TestSettings settings{plugin.descriptor, folder.path(), 3};
    samples().at(name)(folder, settings);
    EXPECT_EQ(tokens_of(plugin, DatasetRun(plugin, settings)), nullptr) << name << " is missing in members_of_text";
  }
}

class Tokens : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(samples().contains(GetParam()));
    samples().at(GetParam())(folder, settings);
    data = std::make_unique<DatasetRun>(plugin, settings);
    tokens = tokens_of(plugin, *data);
    ASSERT_NE(tokens, nullptr) << "no " BALEEN_DATA_TOKENS;
  }
  std::string decode(const std::vector<std::int32_t>& ids) const {
    const auto size = tokens->decode(data->handle(), ids.data(), std::ssize(ids), nullptr, 0);
    if (size < 0) return "failed: " + plugin.host->failure();
    std::string text(static_cast<std::size_t>(size), '?');
    tokens->decode(data->handle(), ids.data(), std::ssize(ids), text.data(), size);
    return text;
  }
  std::vector<std::int32_t> encode(const std::string& text) const {
    const auto size = tokens->encode(data->handle(), baleen::abi(text), nullptr, 0);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
    tokens->encode(data->handle(), baleen::abi(text), ids.data(), std::ssize(ids));
    return ids;
  }

  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", member_of(GetParam()))};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 3};
  std::unique_ptr<DatasetRun> data;
  const baleen_data_tokens_t* tokens = nullptr;
};

TEST_P(Tokens, DecodesARowToTextThatEncodesToTheRow) {
  const auto row = data->numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1);
  const std::string text = decode(row);
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(encode(text), row);
}

TEST_P(Tokens, TakesEmptyTexts) {
  EXPECT_TRUE(encode("").empty());
  EXPECT_EQ(decode({}), "");
}

TEST_P(Tokens, RefusesIdsOutsideTheVocabulary) {
  const auto outside = static_cast<std::int32_t>(data->info().classes);
  EXPECT_TRUE(decode({outside}).starts_with("failed: ")) << decode({outside});
  EXPECT_TRUE(decode({-1}).starts_with("failed: "));
  EXPECT_NE(plugin.host->failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Members, Tokens, testing::ValuesIn(samples_of(members_of_text())),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
