/// \file The data plugin `text`: what rows hold, how files are taken and split, tokens and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"
#include "token_files.hpp"

namespace {

using namespace baleen::test;

class Text : public testing::Test {
 protected:
  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "text")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};

  std::string encode_decode(const DatasetRun& data, const std::string& text) {
    const auto* tokens =
        static_cast<const baleen_data_tokens_t*>(plugin.table.query(data.handle(), baleen::abi(BALEEN_DATA_TOKENS)));
    std::vector<std::int32_t> ids(text.size());
    const auto count = tokens->encode(data.handle(), baleen::abi(text), ids.data(), std::ssize(ids));
    if (count < 0) return "failed: " + plugin.host->failure();
    std::string back(text.size(), '?');
    const auto size = tokens->decode(data.handle(), ids.data(), count, back.data(), std::ssize(back));
    return size < 0 ? "failed: " + plugin.host->failure() : back.substr(0, static_cast<std::size_t>(size));
  }
};

TEST_F(Text, TargetsAreTheNextTokens) {
  settings.set("path", folder.write("a.txt", "hello, world, how are you?")).set("context", 4).set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  const auto tokens = data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 20);
  const auto targets = data.numbers<std::int32_t>(1, BALEEN_TRAIN, 0, 20);
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t i = 0; i + 1 < 4; ++i) EXPECT_EQ(targets[4 * row + i], tokens[4 * row + i + 1]);
  EXPECT_EQ(data.info().classes, 256);
  EXPECT_STREQ(data.info().unit, "tokens");
  EXPECT_EQ(data.info().units_per_row, 4);
}

TEST_F(Text, ReadsInOrderWithoutShuffle) {
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(21))).set("context", 5);
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().rows[BALEEN_TRAIN], 4);
  std::vector<std::int32_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 4), expected);
  EXPECT_EQ(data.numbers<std::int32_t>(1, BALEEN_TRAIN, 3, 1), (std::vector<std::int32_t>{16, 17, 18, 19, 20}));
  EXPECT_EQ(data.info().classes, 21);
}

/// Every id of the file is different, so rows of one epoch may share none.
TEST_F(Text, CutsAnEpochIntoDisjointWindowsAtAnotherOffsetEachTime) {
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(1000))).set("context", 7).set("held_out", 0.1);
  DatasetRun data(plugin, settings);
  const std::int64_t rows = data.info().rows[BALEEN_TRAIN];
  EXPECT_EQ(rows, 899 / 7 - 1);
  std::set<std::int32_t> offsets;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const auto tokens = data.numbers<std::int32_t>(0, BALEEN_TRAIN, epoch * rows, rows);
    const std::set<std::int32_t> distinct(tokens.begin(), tokens.end());
    EXPECT_EQ(std::ssize(distinct), rows * 7);
    EXPECT_LT(*distinct.rbegin(), 900) << "a held-out token";
    offsets.insert(*distinct.begin());
  }
  EXPECT_GT(offsets.size(), 1u);
  EXPECT_EQ(data.numbers<std::int32_t>(0, BALEEN_HELD_OUT, 0, 1).front(), 900);
}

TEST_F(Text, JoinsTheFilesOfAFolderInSortedOrderAndSkipsWhatIsNoText) {
  folder.write("docs/b.txt", "BBBB");
  folder.write("docs/a.h", "AAAA");
  folder.write("docs/sub/c", "CCCC");
  folder.write("docs/.hidden", "hhhh");
  folder.write("docs/.git/config", "gggg");
  folder.write("docs/empty.txt", "");
  folder.write("docs/program", std::string("\x7f"
                                           "ELF\0\0",
                                           6));
  settings.set("path", "docs").set("context", 11).set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  const auto ids = data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1);
  EXPECT_EQ(std::string(ids.begin(), ids.end()), "AAAABBBBCCC");
}

TEST_F(Text, TakesPatternsListsAndExtensions) {
  folder.write("a1.txt", "1111");
  folder.write("a2.txt", "2222");
  folder.write("b/c.md", "3333");
  folder.write("b/d.txt", "4444");
  settings.set("context", 7).set("held_out", 0.0).set("shuffle", "false");
  const auto text_of = [&] {
    DatasetRun data(plugin, settings);
    const auto ids = data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1);
    return std::string(ids.begin(), ids.end());
  };
  settings.set("path", "a*.txt");
  EXPECT_EQ(text_of(), "1111222");
  settings.set("path", "b/d.txt\na[12].txt");
  EXPECT_EQ(text_of(), "4444111");
  settings.set("path", ".").set("extensions", "md\n.txt");
  EXPECT_EQ(text_of(), "1111222");
  settings.set("extensions", "md").set("context", 3);
  EXPECT_EQ(text_of(), "333");
}

TEST_F(Text, HoldsOutEveryNthFile) {
  for (const char* name : {"a", "b", "c", "d", "e"}) folder.write(std::string("t/") + name, std::string(4, name[0]));
  settings.set("path", "t").set("context", 3).set("held_out_every", 2).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  const auto held_out = data.numbers<std::int32_t>(0, BALEEN_HELD_OUT, 0, 2);
  EXPECT_EQ(std::string(held_out.begin(), held_out.end()), "bbbbdd");
  const auto train = data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 3);
  EXPECT_EQ(std::string(train.begin(), train.end()), "aaaacccce");
}

TEST_F(Text, DoesNotTrainOnHeldOutPaths) {
  folder.write("t/a", "aaaaa");
  folder.write("t/val", "vvvvv");
  settings.set("path", "t").set("held_out_path", "t/val").set("context", 4).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().rows[BALEEN_TRAIN], 1);
  EXPECT_EQ(data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1), std::vector<std::int32_t>(4, 'a'));
  EXPECT_EQ(data.numbers<std::int32_t>(0, BALEEN_HELD_OUT, 0, 1), std::vector<std::int32_t>(4, 'v'));
}

TEST_F(Text, ReadsBothHeadersOfTokenFiles) {
  settings.set("held_out", 0.0).set("shuffle", "false").set("context", 4);
  settings.set("path", folder.write("narrow.bin", llmc_header(20240520, 1, 5) + raw_ids<std::uint16_t>(5, 60000)));
  DatasetRun narrow(plugin, settings);
  EXPECT_EQ(narrow.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1),
            (std::vector<std::int32_t>{60000, 60001, 60002, 60003}));
  settings.set("path", folder.write("wide.bin", llmc_header(20240801, 7, 5) + raw_ids<std::uint32_t>(5, 100000)));
  DatasetRun wide(plugin, settings);
  EXPECT_EQ(wide.numbers<std::int32_t>(1, BALEEN_TRAIN, 0, 1),
            (std::vector<std::int32_t>{100001, 100002, 100003, 100004}));
  EXPECT_EQ(wide.info().classes, 100005);
}

TEST_F(Text, NumbersCharactersInTheirOrder) {
  settings.set("path", folder.write("c.txt", "bä€b𝄞aä")).set("tokenizer", "chars").set("context", 6);
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.info().classes, 5);
  EXPECT_EQ(data.numbers<std::int32_t>(0, BALEEN_TRAIN, 0, 1), (std::vector<std::int32_t>{1, 2, 3, 1, 4, 0}));
  EXPECT_EQ(encode_decode(data, "𝄞€a"), "𝄞€a");
  EXPECT_EQ(encode_decode(data, "bx"), "failed: the character `x` does not occur in the training text");
  EXPECT_EQ(encode_decode(data, "\xff"), "failed: not UTF-8 at byte 0; use tokenizer = \"bytes\"");
}

TEST_F(Text, GivesBytesBack) {
  settings.set("path", folder.write("b.txt", "some text that is long enough")).set("context", 8).set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(encode_decode(data, std::string("a\0\xff z", 5)), std::string("a\0\xff z", 5));
}

TEST_F(Text, ReportsTheCountNeededAndWritesNoMore) {
  settings.set("path", folder.write("b.txt", "some text that is long enough")).set("context", 8).set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  const auto* tokens =
      static_cast<const baleen_data_tokens_t*>(plugin.table.query(data.handle(), baleen::abi(BALEEN_DATA_TOKENS)));
  std::int32_t ids[4] = {-7, -7, -7, -7};
  EXPECT_EQ(tokens->encode(data.handle(), baleen::abi("abcdef"), ids, 3), 6);
  EXPECT_EQ(ids[2], 'c');
  EXPECT_EQ(ids[3], -7);
}

TEST_F(Text, CannotTurnTokenFilesIntoText) {
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(50))).set("context", 8).set("held_out", 0.0);
  DatasetRun data(plugin, settings);
  EXPECT_TRUE(encode_decode(data, "a").starts_with("failed: token files hold numbers"));
}

/// A separator of two bytes may begin in the row before; it is the end of its document. Three in a row are one and a
/// half.
TEST_F(Text, NumbersTheDocumentsOfARow) {
  using Ints = std::vector<std::int32_t>;
  settings.set("path", folder.write("a.txt", "ab||c|||defg|h|||x")).set("context", 4).set("separator", "||");
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  ASSERT_EQ(data.info().field_count, 3u);
  EXPECT_STREQ(data.info().fields[2].name, "documents");
  EXPECT_STREQ(data.info().fields[2].axes[0], "seq");
  const auto row = [&](std::int64_t number) { return data.numbers<std::int32_t>(2, BALEEN_TRAIN, number, 1); };
  EXPECT_EQ(row(0), (Ints{0, 0, 0, 0})) << "ab||";
  EXPECT_EQ(row(1), (Ints{0, 0, 0, 1})) << "c|||";
  EXPECT_EQ(row(2), (Ints{0, 0, 0, 0})) << "defg";
  EXPECT_EQ(row(3), (Ints{0, 0, 0, 0})) << "|h||";
  EXPECT_EQ(data.numbers<std::int32_t>(2, BALEEN_TRAIN, 1, 2), (Ints{0, 0, 0, 1, 0, 0, 0, 0})) << "two rows at once";
}

TEST_F(Text, SeesASeparatorThatBeginsBeforeTheRow) {
  settings.set("path", folder.write("a.txt", "abc<>defg<>ij")).set("context", 4).set("separator", "<>");
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.numbers<std::int32_t>(2, BALEEN_TRAIN, 1, 1), (std::vector<std::int32_t>{0, 1, 1, 1})) << ">def";
}

TEST_F(Text, NumbersDocumentsOfTokenFiles) {
  settings.set("path", folder.write("ids.bin", raw_ids<std::uint16_t>(9))).set("context", 4).set("separator_token", 5);
  settings.set("held_out", 0.0).set("shuffle", "false");
  DatasetRun data(plugin, settings);
  EXPECT_EQ(data.numbers<std::int32_t>(2, BALEEN_TRAIN, 0, 2), (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST_F(Text, HasNoDocumentsWithoutASeparator) {
  settings.set("path", folder.write("a.txt", "hello, world, how are you?")).set("context", 4).set("held_out", 0.0);
  EXPECT_EQ(DatasetRun(plugin, settings).info().field_count, 2u);
}

TEST_F(Text, PadsTheVocabularyOnRequest) {
  settings.set("path", folder.write("b.txt", "some text that is long enough")).set("context", 8).set("held_out", 0.0);
  settings.set("vocab", 320);
  EXPECT_EQ(DatasetRun(plugin, settings).info().classes, 320);
}

}  // namespace
