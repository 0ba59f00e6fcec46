/// \file What tokenizers make of texts. Ids by hand; those of other programs stand in
/// tests/interop/python/token_ids.py.
#include <gtest/gtest.h>

#include <thread>

#include "sample_tokenizers.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::text;
using namespace baleen::test;
using Ids = std::vector<std::uint32_t>;

Ids encode(const TrainedTokenizer& tokenizer, const std::string& text) {
  Ids ids;
  const auto status = tokenizer.encode(text, ids);
  EXPECT_TRUE(status) << status.error().text();
  return ids;
}

std::string decode(const TrainedTokenizer& tokenizer, const Ids& ids) {
  const std::vector<std::int32_t> given(ids.begin(), ids.end());
  const auto text = tokenizer.decode(given);
  return text ? *text : "failed: " + text.error().text();
}

std::unique_ptr<TrainedTokenizer> read(const std::string& json) {
  auto made = read_tokenizer_json(json, "t.json");
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

std::unique_ptr<TrainedTokenizer> opened(const std::string& path) {
  auto made = TrainedTokenizer::open(path);
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

TEST(Tokenizer, MergesThePairOfTheLowestRankFirst) {
  const auto tokenizer = read(small_json());
  EXPECT_EQ(encode(*tokenizer, "the"), (Ids{258}));
  EXPECT_EQ(encode(*tokenizer, "hthe"), (Ids{'h', 258})) << "`t h` ranks before `h e`";
  EXPECT_EQ(encode(*tokenizer, "she the"), (Ids{'s', 257, 259}));
  EXPECT_EQ(encode(*tokenizer, "the\n the"), (Ids{258, '\n', 259}));
  EXPECT_EQ(tokenizer->vocabulary(), 261);
  EXPECT_EQ(tokenizer->token(259), "Ġthe");
  EXPECT_EQ(tokenizer->token(261), "");
}

TEST(Tokenizer, FindsAddedTokensInTheText) {
  const auto tokenizer = read(small_json());
  EXPECT_EQ(encode(*tokenizer, "a<|end|><|end|>the"), (Ids{'a', 260, 260, 258}));
  EXPECT_EQ(encode(*tokenizer, "<|end"), (Ids{'<', '|', 'e', 'n', 'd'}));
  EXPECT_EQ(decode(*tokenizer, {260, 'a'}), "<|end|>a");
}

TEST(Tokenizer, GivesBackEveryText) {
  const auto tokenizer = read(small_json());
  const std::string text = "the naïve 日本語 \t\r\n  \x01🙂 e\u0301 «x» don't  ";
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, text)), text);
  EXPECT_EQ(decode(*tokenizer, {0xe6, 0x97}), "\xe6\x97") << "half a character";
}

TEST(Tokenizer, RefusesWhatIsNotUtf8) {
  Ids ids;
  EXPECT_EQ(read(small_json())->encode("ab\xff", ids).error().message, "not UTF-8 at byte 2");
}

TEST(Tokenizer, RefusesIdsWithoutToken) {
  const auto tokenizer = read(small_json());
  EXPECT_EQ(decode(*tokenizer, {261}), "failed: no token has the id 261; ids are below 261");
  const std::vector<std::int32_t> negative = {-1};
  EXPECT_FALSE(tokenizer->decode(negative));
}

TEST(Tokenizer, FramesATextAsTheTemplateSays) {
  const auto tokenizer = read(small_json("\"post_processor\": null", R"("post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [7, 8], "tokens": ["x", "y"]},
                                   "</s>": {"id": "</s>", "ids": [260], "tokens": ["<|end|>"]}}})"));
  EXPECT_EQ(tokenizer->before(), (Ids{7, 8}));
  EXPECT_EQ(tokenizer->after(), (Ids{260}));
}

TEST(Tokenizer, ReadsGpt2sPairOfFiles) {
  const TemporaryFolder folder;
  folder.write("vocab.json",
               "{" + byte_vocabulary() + R"(, "th": 256, "he": 257, "the": 258, "Ġthe": 259, "<|end|>": 260})");
  folder.write("merges.txt", "#version: 0.2\nt h\nh e\r\nth e\nĠ the\n");
  const auto pair = opened(folder.path()), file = opened(folder / "vocab.json"), json = read(small_json());
  for (const std::string text : {"the <|end|> hthe", "a\n\nthe", ""}) {
    EXPECT_EQ(encode(*pair, text), encode(*json, text));
    EXPECT_EQ(encode(*file, text), encode(*json, text));
  }
}

TEST(Tokenizer, ReadsBertsList) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nun##\ncafe\n,\nCafe\n");
  const auto tokenizer = opened(folder.path());
  EXPECT_EQ(encode(*tokenizer, "Unaffable, CAFÉ [MASK]xyz"), (Ids{5, 6, 7, 10, 9, 4, 1}));
  EXPECT_EQ(decode(*tokenizer, {5, 6, 7, 10, 9}), "unaffable, cafe");
  EXPECT_EQ(tokenizer->before(), (Ids{2}));
  EXPECT_EQ(tokenizer->after(), (Ids{3}));
  EXPECT_EQ(tokenizer->notes().size(), 1u) << "nothing says whether case counts";
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "other": [1]})");
  const auto cased = opened(folder / "vocab.txt");
  EXPECT_EQ(encode(*cased, "Cafe Unaffable"), (Ids{11, 1}));
  EXPECT_TRUE(cased->notes().empty());
  EXPECT_FALSE(cased->digest() == tokenizer->digest());
}

TEST(Tokenizer, TakesWhiteSpaceAndWholeWordsAsAddedTokensSay) {
  const auto tokenizer = read(small_json(R"("lstrip": false, "rstrip": false)", R"("lstrip": true, "rstrip": true)"));
  EXPECT_EQ(encode(*tokenizer, "a \t<|end|>\n b"), (Ids{'a', 260, 'b'}));
  const auto words =
      read(small_json(R"("content": "<|end|>", "single_word": false)", R"("content": "ab", "single_word": true)"));
  EXPECT_EQ(encode(*words, "ab abc-ab"), (Ids{260, ' ', 'a', 'b', 'c', '-', 260}));
}

TEST(Tokenizer, FallsBackToBytes) {
  const std::string json =
      R"({"version": "1.0", "model": {"type": "BPE", "unk_token": "?", "byte_fallback": true, "vocab":
    {"?": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3}, "merges": []}, "decoder": {"type": "ByteFallback"}})";
  const auto tokenizer = read(json);
  EXPECT_EQ(encode(*tokenizer, "aéè"), (Ids{1, 2, 3, 0})) << "é has its bytes, è lacks one";
  EXPECT_EQ(decode(*tokenizer, {1, 2, 3}), "aé");
  EXPECT_EQ(decode(*tokenizer, {2, 1}),
            "\xef\xbf\xbd"
            "a");
}

TEST(Tokenizer, ServesManyThreads) {
  const auto tokenizer = read(small_json());
  std::string text;
  for (int i = 0; i < 500; ++i) text += "the " + std::to_string(i) + " they<|end|>\n";
  const Ids expected = encode(*tokenizer, text);
  std::vector<Ids> found(4);
  std::vector<std::thread> threads;
  for (Ids& ids : found) threads.emplace_back([&] { (void)tokenizer->encode(text, ids); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : found) EXPECT_EQ(ids, expected);
}

}  // namespace
