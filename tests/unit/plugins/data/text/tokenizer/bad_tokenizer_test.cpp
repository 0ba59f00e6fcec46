/// \file Files of tokenizers that are damaged, hostile, or ask for what there is not.
#include <gtest/gtest.h>

#include "sample_tokenizers.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::text;
using namespace baleen::test;

std::string failure(const std::string& json) {
  const auto made = read_tokenizer_json(json, "t.json");
  return made ? "" : made.error().text();
}

std::string failure_of_pair(const std::string& vocabulary, const std::string& merges) {
  const auto made = read_vocab_and_merges(vocabulary, merges, "vocab.json", "merges.txt");
  return made ? "" : made.error().text();
}

void expect(const std::string& from, const std::string& to, const std::string& message) {
  ASSERT_NE(small_json().find(from), std::string::npos) << from;
  EXPECT_EQ(failure(small_json(from, to)), message);
}

TEST(BadTokenizer, NamesWhatIsUnknown) {
  expect(
      "\"normalizer\": null", R"("normalizer": {"type": "Nmt"})",
      "t.json.normalizer: the normalizer `Nmt` is not supported; known are BertNormalizer, Lowercase, NFC, NFD, NFKC, "
      "NFKD, Prepend, Replace, Sequence, Strip and StripAccents");
  expect("\"type\": \"ByteLevel\", \"add_prefix_space\"", "\"type\": \"UnicodeScripts\", \"add_prefix_space\"",
         "t.json.pre_tokenizer: the pre-tokenizer `UnicodeScripts` is not supported; known are BertPreTokenizer, "
         "ByteLevel, "
         "Digits, Metaspace, Punctuation, Sequence, Split, Whitespace and WhitespaceSplit");
  expect(
      "\"type\": \"BPE\"", "\"type\": \"Unigram\"",
      "t.json.model.type: the model `Unigram` is not supported in a tokenizer.json; known are BPE and WordPiece. Where "
      "SentencePiece made it, give its file (`spiece.model`, `tokenizer.model`)");
  expect("\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"CTC\"}",
         "t.json.decoder: the decoder `CTC` is not supported; known are BPEDecoder, ByteFallback, ByteLevel, Fuse, "
         "Metaspace, "
         "Replace, Sequence, Strip and WordPiece");
  expect("\"dropout\": null", "\"dropout\": 0.1",
         "t.json.model.dropout: is set: random merges are not supported; set it to null");
  expect("\"fuse_unk\": false", "\"fuse_unk\": false, \"shuffles\": true",
         "t.json.model: the key `shuffles` is unknown here; what it asks for would be left out");
  expect("\"normalizer\": null", "\"normaliser\": null",
         "t.json: the key `normaliser` is unknown here; what it asks for would be left out");
  expect("\"version\": \"1.0\"", "\"version\": \"2.0\"", "t.json.version: is `2.0`; known is `1.0`");
}

TEST(BadTokenizer, RefusesIdsThatCannotBe) {
  expect("\"the\": 258", "\"the\": 257", "t.json.model.vocab: the id 257 belongs to `he` and to `the`");
  expect("\"the\": 258", "\"the\": -1",
         "t.json.model.vocab: the id of `the` is -1; for 260 tokens it must be a number from 0 to 4615");
  expect("\"the\": 258", "\"the\": 4000000000",
         "t.json.model.vocab: the id of `the` is 4000000000; for 260 tokens it must be a number from 0 to 4615");
  expect("\"the\": 258", "\"the\": 1.5",
         "t.json.model.vocab: the id of `the` is a number; for 260 tokens it must be a number from 0 to 4615");
  expect("\"the\": 258", "\"th\": 258", "t.json: the key `th` stands twice in an object");
  expect("\"id\": 260", "\"id\": 258",
         "t.json.added_tokens: the added token `<|end|>` has the id 258, which is that of `the`");
  expect("\"content\": \"<|end|>\"", "\"content\": \"the\"",
         "t.json.added_tokens: the added token `the` has the id 260, but 258 in the vocabulary");
  expect("\"id\": 260", "\"id\": 1000000000",
         "t.json.added_tokens: the added token `<|end|>` has the id 1000000000; here it must be below 2097672");
}

TEST(BadTokenizer, RefusesMergesThatCannotBe) {
  expect("\"h e\"", "\"h q\"",
         "t.json.model.merges: merge 1 is of `h` and `q`, but the vocabulary lacks one of them or `hq`");
  expect("\"h e\"", "\"t h\"", "t.json.model.merges: merge 1, of `t` and `h`, stands twice");
  expect("\"h e\"", "\"h e e\"",
         "t.json.model.merges: has an entry that is neither \"left right\" nor [\"left\", \"right\"]: `h e e`");
  expect("\"h e\"", "[\"h\"]",
         "t.json.model.merges: has an entry that is neither \"left right\" nor [\"left\", \"right\"]");
}

/// small_json with a cut at a regular expression in place of GPT-2's.
std::string with_pattern(const std::string& pattern) {
  return small_json(
      R"("type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true)",
      R"("type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": ")" + pattern + R"("})");
}

TEST(BadTokenizer, RefusesPatternsThatCannotBe) {
  const auto with = [](const std::string& pattern) { return failure(with_pattern(pattern)); };
  EXPECT_EQ(with("(a"),
            "t.json.pre_tokenizer.pattern: its pattern `(a` is no regular expression: "
            "U_REGEX_MISMATCHED_PAREN at character 2");
  EXPECT_EQ(with("\\\\h+"), "t.json.pre_tokenizer.pattern: its pattern uses \\h, which is not supported: `\\h+`");
  EXPECT_EQ(with("(?m:.)"),
            "t.json.pre_tokenizer.pattern: its pattern uses the flag m, which is not supported: `(?m:.)`");
  EXPECT_EQ(with("x+"), "");
}

TEST(BadTokenizer, EndsASearchThatTriesExponentiallyMany) {
  const auto made = read_tokenizer_json(with_pattern("(x+x+)+y"), "t.json");
  ASSERT_TRUE(made) << made.error().text();
  std::vector<std::uint32_t> ids;
  const auto status = (*made)->encode(std::string(64, 'x'), ids);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("takes too long"), std::string::npos) << status.error().text();
}

TEST(BadTokenizer, RefusesWhatIsNoJsonOrTooDeep) {
  EXPECT_EQ(failure("{\"a\": }").substr(0, 16), "t.json: no JSON,");
  EXPECT_EQ(failure(""),
            "t.json: no JSON, byte 1: parse error at line 1, column 1: syntax error while parsing value - "
            "unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(failure(std::string(100'000, '[')), "t.json: more than 24 levels deep");
  EXPECT_NE(failure("{\"version\": \"\xff\"}").find("no JSON"), std::string::npos);
  EXPECT_EQ(failure("[]"), "t.json: is an array, not an object");
  EXPECT_EQ(failure("{\"version\": \"1.0\"}"), "t.json.model: is missing; it must be an object");
}

TEST(BadTokenizer, RefusesEveryCutOfAFile) {
  const std::string json = small_json();
  for (std::size_t size = 0; size + 1 < json.size(); size += 7) EXPECT_NE(failure(json.substr(0, size)), "") << size;
}

TEST(BadTokenizer, RefusesFramesOfUnknownTokens) {
  expect("\"post_processor\": null",
         R"("post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 900], "cls": ["[CLS]", 1]})",
         "t.json.post_processor: has the id 900, which no token has");
}

TEST(BadTokenizer, SaysWhatAPairLacks) {
  EXPECT_EQ(
      failure_of_pair("{\"a\": 0}", "#version: 0.2\n"),
      "vocab.json: has no token for byte 0, `Ā`, so it is no byte-level vocabulary; give the model's tokenizer.json");
  EXPECT_EQ(failure_of_pair("{" + byte_vocabulary() + "}", "a b\n"),
            "merges.txt:1: merge 0 is of `a` and `b`, but the vocabulary lacks one of them or `ab`");
  EXPECT_EQ(failure_of_pair("{" + byte_vocabulary() + "}", "#version: 0.2\nab\n"),
            "merges.txt:2: `ab` is no merge; a line has two tokens and a space");
  EXPECT_EQ(
      failure_of_pair("{" + byte_vocabulary() + ", \"a</w>\": 256}", ""),
      "vocab.json: has the token `a</w>`, whose `</w>` marks a word's end; byte-level vocabularies have none. Give the "
      "model's tokenizer.json");
}

TEST(BadTokenizer, SaysWhichFilesThereMayBe) {
  const TemporaryFolder folder;
  const auto failed = [](const std::string& path) {
    const auto made = TrainedTokenizer::open(path);
    return made ? "" : made.error().text();
  };
  EXPECT_EQ(failed(folder.path()),
            folder.path() +
                ": the folder has no tokenizer: none of tokenizer.json, vocab.json, vocab.txt, tokenizer.model, "
                "spiece.model and sentencepiece.bpe.model");
  EXPECT_EQ(failed(folder / "absent.json"), (folder / "absent.json") + ": cannot open: No such file or directory");
  EXPECT_EQ(failed(folder.write("vocab.json", "{}")),
            (folder / "vocab.json") + ": beside it is no merges.txt, which it needs");
  EXPECT_EQ(failed(folder.write("empty.json", "")), (folder / "empty.json") + ": the file is empty");
  EXPECT_EQ(
      failed(folder.write("a.bin", "x")).substr((folder / "a.bin").size()),
      ": is no tokenizer's file by its name: it must end in .json (a tokenizer.json, or vocab.json beside merges.txt), "
      ".txt (WordPiece's vocabulary) or .model (SentencePiece)");
  EXPECT_EQ(failed(folder.write("vocab.txt", "a\nb\na\n")), (folder / "vocab.txt") + ": the token `a` stands twice");
}

}  // namespace
