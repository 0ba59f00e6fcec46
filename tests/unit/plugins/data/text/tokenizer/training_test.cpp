/// \file Training: which merges are learned, and that the file is read again as it was meant. Their equality with those
/// of another trainer is shown in tests/interop/python/token_ids.py.
#include <gtest/gtest.h>

#include "tokenizer/pair_trainer.hpp"
#include "tokenizer/trained_tokenizer.hpp"
#include "tokenizer/trainer.hpp"

namespace {

using namespace baleen::text;

std::string failure(const std::string& kind, std::int64_t vocabulary, const std::vector<std::string>& options,
                    const std::string& text = "some text to train on") {
  const auto made = train_tokenizer({kind, vocabulary, options}, {{"a.txt", text}}, [](const std::string&) {});
  return made ? "" : made.error().text();
}

/// The example of arXiv 1508.07909, section 3.2: low 5, lower 2, newest 6, widest 3; e s, es t and l o come first.
TEST(Training, LearnsThePairsThatStandMostOften) {
  PairTraining training;
  training.tokens = {"d", "e", "i", "l", "n", "o", "r", "s", "t", "w"};
  const auto word = [&](const std::string& text, std::int64_t count) {
    CountedWord made{{}, count};
    for (const char c : text)
      for (std::uint32_t id = 0; id < training.tokens.size(); ++id)
        if (training.tokens[id] == std::string(1, c)) made.ids.push_back(id);
    return made;
  };
  learn_pairs({word("low", 5), word("lower", 2), word("newest", 6), word("widest", 3)}, 13, 2, "", training);
  EXPECT_EQ(std::vector<std::string>(training.tokens.begin() + 10, training.tokens.end()),
            (std::vector<std::string>{"es", "est", "lo"}));
}

TEST(Training, CountsOverlappingPairsOnceAMerge) {
  PairTraining training;
  training.tokens = {"a"};
  learn_pairs({{{0, 0, 0, 0, 0}, 2}}, 10, 1, "", training);
  EXPECT_EQ(training.tokens, (std::vector<std::string>{"a", "aa", "aaa", "aaaaa"}))
      << "aa a stands as often as aa aa, and has the smaller ids";
}

TEST(Training, MakesAFileThatEncodesItsText) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "The lower, the wider: naïve 日本 " + std::to_string(i) + "\n";
  for (const char* pattern : {"pattern=gpt2", "pattern=llama3"}) {
    const auto json = train_tokenizer({"bpe", 400, {pattern, "special=<a>", "special=<b>"}}, {{"a.txt", text}},
                                      [](const std::string&) {});
    ASSERT_TRUE(json) << json.error().text();
    const auto tokenizer = read_tokenizer_json(*json, "made");
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    std::vector<std::uint32_t> ids;
    ASSERT_TRUE((*tokenizer)->encode(text + "<a><b>", ids));
    EXPECT_LT(ids.size(), text.size() / 3);
    EXPECT_EQ((std::vector<std::uint32_t>{ids.end() - 2, ids.end()}), (std::vector<std::uint32_t>{0, 1}));
    const auto back = (*tokenizer)->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, text + "<a><b>");
    const auto again = train_tokenizer({"bpe", 400, {pattern, "special=<a>", "special=<b>"}}, {{"a.txt", text}},
                                       [](const std::string&) {});
    EXPECT_EQ(*again, *json);
  }
}

TEST(Training, MakesAWordPieceFile) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "Playing played player, naïve players\n";
  const auto json = train_tokenizer({"wordpiece", 60, {}}, {{"a.txt", text}}, [](const std::string&) {});
  ASSERT_TRUE(json) << json.error().text();
  const auto tokenizer = read_tokenizer_json(*json, "made");
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  std::vector<std::uint32_t> ids;
  ASSERT_TRUE((*tokenizer)->encode("PLAYERS naive", ids));
  const auto back = (*tokenizer)->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
  EXPECT_EQ(*back, "players naive");
  EXPECT_EQ((*tokenizer)->before(), (std::vector<std::uint32_t>{2}));
}

TEST(Training, MakesASentencePieceModel) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the player number " + std::to_string(i * 7919 % 1000) + " played well\n";
  for (const char* model : {"model=unigram", "model=bpe"}) {
    const auto bytes =
        train_tokenizer({"sentencepiece", 60, {model, "special=<end>"}}, {{"a.txt", text}}, [](const std::string&) {});
    ASSERT_TRUE(bytes) << bytes.error().text();
    const auto tokenizer = read_sentencepiece(*bytes, "made.model");
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    std::vector<std::uint32_t> ids;
    ASSERT_TRUE((*tokenizer)->encode("the player<end> played 77", ids));
    const auto back = (*tokenizer)->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, "the player<end> played 77");
  }
}

TEST(Training, SaysWhatIsWrong) {
  EXPECT_EQ(failure("lzw", 300, {}), "unknown kind of tokenizer `lzw`; known are bpe, wordpiece and sentencepiece");
  EXPECT_EQ(failure("bpe", 0, {}), "a vocabulary of 0 is not from 1 to 16777216");
  EXPECT_EQ(failure("bpe", 257, {}),
            "a vocabulary of 257 is too small: 257 tokens are bytes and special ones, so it must be larger");
  EXPECT_EQ(failure("bpe", 300, {"pattern=gpt5"}),
            "option `pattern` is `gpt5`; it must be one of `gpt2`, `llama3`, once");
  EXPECT_EQ(failure("bpe", 300, {"min_frequency=x"}),
            "option `min_frequency` is `x`; it must be a whole number from 1 to 1073741824, once");
  EXPECT_EQ(failure("bpe", 300, {"alphabet=3"}),
            "a tokenizer of kind `bpe` has no option `alphabet`; it has pattern, min_frequency, special");
  EXPECT_EQ(failure("bpe", 300, {"novalue"}), "the option `novalue` is not of the form name=value");
  EXPECT_EQ(failure("bpe", 300, {"special=a", "special=a"}), "the special token `a` is given twice");
  EXPECT_EQ(failure("bpe", 300, {}, "ab\xff"), "a.txt: not UTF-8 at byte 2");
  EXPECT_NE(failure("sentencepiece", 100'000'0, {"special=a,b"}), "");
}

}  // namespace
