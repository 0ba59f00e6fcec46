/// \file `baleen tokenizer`: what it makes, and slips.
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

ProcessResult tokenizer(std::vector<std::string> words) {
  words.insert(words.begin(), "tokenizer");
  return run_baleen(words);
}

void expect_slip(const std::vector<std::string>& words, const std::string& message) {
  const ProcessResult result = tokenizer(words);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "error: " + message + "\n");
}

TEST(TokenizerCommand, TrainsEncodesAndDecodes) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the player plays the game\n";
  const std::string file = folder.write("a.txt", text), out = folder / "t.json";
  const ProcessResult trained = tokenizer({"train", "--kind", "bpe", "--vocab", "280", "--out", out, file});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.err.find("wrote " + out), std::string::npos) << trained.err;
  const ProcessResult ids = tokenizer({"encode", "--tokenizer", out, folder.write("b.txt", "the game\n\nplays\n")});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_EQ(std::count(ids.out.begin(), ids.out.end(), '\n'), 3) << ids.out;
  const ProcessResult back = tokenizer({"decode", "--tokenizer", out, ids.out.substr(0, ids.out.find('\n'))});
  EXPECT_EQ(back.out, "the game\n") << back.err;
  const ProcessResult shown = tokenizer({"encode", "--show", "--whole", "--tokenizer", out, folder / "b.txt"});
  EXPECT_NE(shown.out.find("\t\xc4\x8a\n"), std::string::npos) << "a line's end is a token of the whole:\n"
                                                               << shown.out;
}

TEST(TokenizerCommand, ListsWhatItTrains) {
  const ProcessResult result = tokenizer({"kinds"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find(": "), std::string::npos);
}

TEST(TokenizerCommand, SaysWhatIsMissing) {
  expect_slip({"train", "a.txt"},
              "--kind is missing, as in `baleen tokenizer train --kind KIND --vocab N --out FILE FILES` (see `baleen "
              "tokenizer --help`)");
  expect_slip({"train", "--kind", "bpe", "--vocab", "300", "--out", "t.json"},
              "WORDS is missing, as in `baleen tokenizer train --kind KIND --vocab N --out FILE FILES` (see `baleen "
              "tokenizer --help`)");
  expect_slip(
      {"encode"},
      "--tokenizer is missing, as in `baleen tokenizer encode --tokenizer PATH` (see `baleen tokenizer --help`)");
  expect_slip({"decode", "--tokenizer", "x.json", "--show", "1"},
              "--show is for `baleen tokenizer encode` (see `baleen tokenizer --help`)");
  expect_slip({"encode", "--tokenizer", "x.json", "--vocab", "3"},
              "--vocab is for `baleen tokenizer train` (see `baleen tokenizer --help`)");
  expect_slip({"kinds", "--data", "synthetic"}, "data `synthetic` makes no tokenizers (baleen.data.tokenizer/1)");
}

TEST(TokenizerCommand, NamesFileLineAndValue) {
  const TemporaryFolder folder;
  const std::string vocabulary = folder.write("vocab.txt", "[UNK]\na\n");
  const std::string numbers = folder.write("ids.txt", "1\n1 x\n");
  const ProcessResult bad = run_process({"sh", "-c", "exec \"$0\" tokenizer decode --tokenizer \"$1\" < \"$2\"",
                                         build_dir() + "/bin/baleen", vocabulary, numbers});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("error: standard input: line 2: `x` is no number of 32 bits"), std::string::npos) << bad.err;
  const ProcessResult outside = tokenizer({"decode", "--tokenizer", vocabulary, "7"});
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_NE(outside.err.find("no token has the id 7; ids are below 2"), std::string::npos) << outside.err;
  const ProcessResult unread = tokenizer({"encode", "--tokenizer", vocabulary, folder.path()});
  EXPECT_EQ(unread.exit_code, 2) << unread.err;
  EXPECT_NE(unread.err.find("error: " + folder.path() + ": is a folder, where a file is needed"), std::string::npos)
      << unread.err;
  const ProcessResult kind =
      tokenizer({"train", "--kind", "lzw", "--vocab", "9", "--out", folder / "t.json", vocabulary});
  EXPECT_NE(kind.err.find("unknown kind of tokenizer `lzw`; known are bpe, wordpiece and sentencepiece"),
            std::string::npos)
      << kind.err;
}

}  // namespace
}  // namespace baleen::test
