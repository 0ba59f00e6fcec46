/// \file Bad input of the data plugin `text`: each mistake's message.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/dataset_run.hpp"
#include "support/ordinary_user.hpp"
#include "support/temporary_folder.hpp"
#include "token_files.hpp"

namespace {

using namespace baleen::test;

class BadText : public testing::Test {
 protected:
  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "text")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path()};
  std::string failure() { return failure_of(plugin, settings); }
};

TEST_F(BadText, NamesAMissingFile) {
  settings.set("path", "nowhere.txt");
  EXPECT_EQ(failure(), folder / "nowhere.txt" + ": no such file or folder");
}

TEST_F(BadText, NamesAPatternThatMatchesNothing) {
  settings.set("path", "*.text");
  EXPECT_EQ(failure(), folder / "*.text" + ": no file found");
}

TEST_F(BadText, NamesAFolderWithoutMatchingExtension) {
  folder.write("t/a.md", "text");
  settings.set("path", "t").set("extensions", "txt\nrst");
  EXPECT_EQ(failure(), folder / "t" + ": no file found that ends in .txt .rst");
}

TEST_F(BadText, NamesAnEmptyFile) {
  settings.set("path", folder.write("empty.txt", ""));
  EXPECT_EQ(failure(), folder / "empty.txt" + ": the file is empty");
}

TEST_F(BadText, RefusesAFolderOfEmptyAndBinaryFiles) {
  folder.write("t/empty", "");
  folder.write("t/binary", std::string(10, '\0'));
  settings.set("path", "t");
  EXPECT_EQ(failure(), "t: none of the 2 files found is usable: they are empty, binary or held out");
}

TEST_F(BadText, RefusesACompressedFileAndPassesOneInAFolderBy) {
  const std::string packed = std::string("\x1f\x8b\x08") + std::string(300, 'x'), path = folder.write("t/a.gz", packed);
  for (const char* tokenizer : {"auto", "bytes", "chars"}) {
    settings.set("path", path).set("tokenizer", tokenizer);
    EXPECT_EQ(failure(), path + ": is compressed by gzip; unpack it first") << tokenizer;
  }
  settings.set("path", "t");
  EXPECT_EQ(failure(), "t: none of the 1 files found is usable: they are empty, binary or held out");
  // Tokens may have any bytes.
  settings.set("path", path).set("tokenizer", "u16").set("context", 8);
  folder.write("t/a.gz", packed + "x");
  EXPECT_EQ(failure(), "");
}

TEST_F(BadText, SaysHowLongATextMustBe) {
  settings.set("path", folder.write("short.txt", "0123456789")).set("context", 10).set("held_out", 0.0);
  EXPECT_EQ(failure(),
            "the training text has 10 tokens, but one row needs 11 (`context` + 1); give more text, a smaller "
            "`context`");
  settings.set("context", 9);
  EXPECT_EQ(failure(), "");
}

TEST_F(BadText, SaysHowLongTheHeldOutTextMustBe) {
  settings.set("path", folder.write("t.txt", std::string(100, 'x'))).set("context", 20).set("held_out", 0.1);
  EXPECT_EQ(failure(),
            "the held-out text has 10 tokens, but one row needs 21 (`context` + 1); give more text, a smaller "
            "`context`, or `held_out` = 0");
}

TEST_F(BadText, RefusesWideCharacters) {
  for (const std::string mark : {"\xff\xfe", "\xfe\xff"}) {
    settings.set("path", folder.write("wide.txt", mark + std::string(400, 'x')));
    EXPECT_EQ(failure(), folder / "wide.txt" + ": is text in UTF-16; save it in UTF-8");
  }
}

TEST_F(BadText, NamesExtensionsWithOneDot) {
  folder.write("t/a.md", "text");
  settings.set("path", "t").set("extensions", ".txt\nrst");
  EXPECT_EQ(failure(), folder / "t" + ": no file found that ends in .txt .rst");
}

TEST_F(BadText, WaitsForNoPipe) {
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  settings.set("path", path);
  EXPECT_EQ(failure(), path + ": is a pipe; text is read from files, by each rank");
}

TEST_F(BadText, NamesAnUnreadableFile) {
  const std::string path = folder.write("t/secret.txt", "text");
  ::chmod(folder.path().c_str(), 0755);
  ::chmod(path.c_str(), 0);
  const OrdinaryUser user;
  if (!user.possible()) GTEST_SKIP() << "needs to run as an ordinary user";
  for (const char* named : {"t/secret.txt", "t"}) {
    settings.set("path", named);
    EXPECT_EQ(failure(), path + ": cannot open: Permission denied");
  }
}

TEST_F(BadText, RefusesAnOddNumberOfBytesAsTokens) {
  settings.set("path", folder.write("odd.bin", "12345"));
  EXPECT_EQ(failure(), folder / "odd.bin" +
                           ": has 5 bytes; 16-bit tokens need an even number (for text, use tokenizer = "
                           "\"bytes\")");
}

TEST_F(BadText, RefusesBadHeaders) {
  settings.set("tokenizer", "llmc");
  settings.set("path", folder.write("a.bin", "short"));
  EXPECT_EQ(failure(), folder / "a.bin" + ": has 5 bytes, less than the 1024 of an llm.c header");
  settings.set("path", folder.write("b.bin", llmc_header(20240520, 2, 0)));
  EXPECT_EQ(failure(), folder / "b.bin" +
                           ": not an llm.c token file: the header says magic 20240520, version 2; known are "
                           "20240520, 1 and 20240801, 7");
  for (const std::int32_t count : {-1, 4, 6, 0x7fffffff}) {
    settings.set("path", folder.write("c.bin", llmc_header(20240520, 1, count) + raw_ids<std::uint16_t>(5)));
    EXPECT_EQ(failure(), folder / "c.bin" + ": the header says " + std::to_string(count) +
                             " tokens of 2 bytes, but 10 bytes follow it; the file is damaged or cut short");
  }
}

TEST_F(BadText, RefusesTextThatIsNotUtf8AsCharacters) {
  settings.set("tokenizer", "chars");
  for (const char* bad :
       {"ab\xff", "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xe2\x82", "ab\xf5\x80\x80\x80", "ab\xe0\x80\x80"}) {
    settings.set("path", folder.write("bad.txt", bad));
    EXPECT_EQ(failure(), folder / "bad.txt" + ": not UTF-8 at byte 2; use tokenizer = \"bytes\"");
  }
}

TEST_F(BadText, RefusesAVocabularyThatIsTooSmall) {
  settings.set("path", folder.write("t.txt", std::string(100, 'x'))).set("context", 8).set("vocab", 100);
  EXPECT_EQ(failure(), "`vocab` = 100 is too small for 256 bytes");
}

TEST_F(BadText, FindsATokenBeyondTheVocabularyWhenItIsRead) {
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(50))).set("context", 8).set("vocab", 30);
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_NO_THROW(data.read(BALEEN_TRAIN, 0, 3));
  try {
    data.read(BALEEN_TRAIN, 0, 4);
    FAIL() << "accepted";
  } catch (const std::runtime_error& problem) {
    EXPECT_STREQ(problem.what(), "the text holds token 30, but `vocab` is 30");
  }
}

TEST_F(BadText, NeedsTheSeparatorOfItsTokenizer) {
  settings.set("path", folder.write("t.txt", std::string(1000, 'x'))).set("separator_token", 3);
  EXPECT_EQ(failure(), "`separator_token` is for token files; give the text that ends a document as `separator`");
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(900))).set("separator_token", 900);
  EXPECT_EQ(failure(), "`separator_token` is 900, but there are 900 tokens, numbered from 0");
  settings.set("separator_token", -1.0).set("separator", "x");
  EXPECT_EQ(failure(),
            "token files have no text; give the token that ends a document by its number, `separator_token`");
}

TEST_F(BadText, RefusesTwoWaysOfHoldingOut) {
  settings.set("path", folder.write("t.txt", "text")).set("held_out_every", 2).set("held_out_path", "t.txt");
  EXPECT_EQ(failure(), "give `held_out_every` or `held_out_path`, not both");
}

TEST_F(BadText, NeedsAsManyFilesAsHeldOutEverySays) {
  settings.set("path", folder.write("t.txt", "text")).set("held_out_every", 20);
  EXPECT_EQ(failure(),
            "`held_out_every` = 20 needs as many files; there are 1. `held_out` = 0.1 keeps back a part of the "
            "text instead");
}

TEST_F(BadText, RefusesToReadAHeldOutPartThatIsNotThere) {
  settings.set("path", folder.write("t.txt", std::string(100, 'x'))).set("context", 8).set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().rows[BALEEN_HELD_OUT], 0);
  EXPECT_THROW(data.read(BALEEN_HELD_OUT, 0, 1), std::runtime_error);
  EXPECT_EQ(plugin.host->failure(), "there is no held-out text; set `held_out` above 0");
}

}  // namespace
