/// \file The data plugin `text` with a tokenizer from a file: rows, documents, and the cache of ids.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

/// Words of a list, and [UNK]: ids that are easy to foresee.
constexpr const char* kJson = R"({"version": "1.0", "added_tokens": [{"id": 5, "content": "<end>", "special": true}],
  "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": false},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4}}})";

class TrainedText : public testing::Test {
 protected:
  void SetUp() override {
    settings.set("tokenizer", folder.write("t/tokenizer.json", kJson)).set("held_out", 0.0).set("shuffle", "false");
    settings.set("context", 4);
  }
  std::vector<std::int32_t> row(const DatasetRun& data, std::size_t field = 0) {
    return data.numbers<std::int32_t>(field, BALEEN_TRAIN, 0, 1);
  }
  std::vector<std::filesystem::path> caches(const std::string& of) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(of))
      if (entry.path().extension() == ".tokens") found.push_back(entry.path());
    return found;
  }
  bool logged(const std::string& part) const {
    const auto lines = plugin.host->logged();
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(part) != line.npos; });
  }
  std::string failure() const { return failure_of(plugin, settings); }
  using Row = std::vector<std::int32_t>;

  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "text")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};
};

TEST_F(TrainedText, GivesTheTokenizersIds) {
  settings.set("path", folder.write("a.txt", "a b c d a q\n"));
  const DatasetRun data(plugin, settings);
  EXPECT_EQ(row(data), (Row{1, 2, 3, 4}));
  EXPECT_EQ(row(data, 1), (Row{2, 3, 4, 1}));
  EXPECT_EQ(data.info().classes, 6);
  EXPECT_NE(std::string(data.info().summary).find("WordPiece: 6 train"), std::string::npos) << data.info().summary;
  const auto* tokens =
      static_cast<const baleen_data_tokens_t*>(plugin.table.query(data.handle(), baleen::abi(BALEEN_DATA_TOKENS)));
  std::int32_t ids[8];
  ASSERT_EQ(tokens->encode(data.handle(), baleen::abi("d <end> a"), ids, 8), 3);
  EXPECT_EQ(Row(ids, ids + 3), (Row{4, 5, 1}));
  char text[32];
  ASSERT_EQ(tokens->decode(data.handle(), ids, 3, text, 32), 9);
  EXPECT_EQ(std::string(text, 9), "d <end> a");
}

TEST_F(TrainedText, TakesAFolderAndPadsTheVocabulary) {
  settings.set("tokenizer", "t/").set("vocab", 64).set("path", folder.write("a.txt", "a b c d a"));
  EXPECT_EQ(DatasetRun(plugin, settings).info().classes, 64);
  settings.set("vocab", 3);
  EXPECT_EQ(failure(), "`vocab` = 3 is too small for 6 tokens");
}

TEST_F(TrainedText, EndsFilesWithASeparator) {
  folder.write("x/1.txt", "a b");
  folder.write("x/2.txt", "c d a");
  settings.set("path", folder / "x").set("documents", "files").set("separator", "<end>").set("context", 6);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(row(data), (Row{1, 2, 5, 3, 4, 1}));
  EXPECT_EQ(row(data, 1), (Row{2, 5, 3, 4, 1, 5}));
  EXPECT_EQ(row(data, 2), (Row{0, 0, 0, 1, 1, 1}));
}

TEST_F(TrainedText, MasksTargetsOfOtherDocuments) {
  settings.set("path", folder.write("a.txt", "a b\n\nc d a\nb c\n"))
      .set("documents", "lines")
      .set("separator_token", 5);
  settings.set("mask_boundaries", "true").set("context", 7);
  DatasetRun data(plugin, settings);
  EXPECT_EQ(row(data), (Row{1, 2, 5, 3, 4, 1, 5}));
  EXPECT_EQ(row(data, 1), (Row{2, 5, -1, 4, 1, 5, -1}));
  EXPECT_EQ(row(data, 2), (Row{0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(TrainedText, ReadsTextsInLinesOfJson) {
  const std::string path =
      folder.write("a.jsonl", "{\"text\": \"a\\nb\", \"id\": 1}\n\n{\"id\": 2, \"text\": \"c\"}\r\n{\"text\": \"\"}\n");
  settings.set("path", path).set("documents", "jsonl").set("separator", "<end>").set("context", 5);
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{1, 2, 5, 3, 5}));
  folder.write("a.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n");
  EXPECT_EQ(failure(), path + ":2: the object has no `text`; name the one with the text by `json_field`");
  settings.set("json_field", "txt");
  folder.write("a.jsonl", "{\"txt\": 1}\n");
  EXPECT_EQ(failure(), path + ":1: `txt` is a number; it must be a string");
  folder.write("a.jsonl", "[1]\n");
  EXPECT_EQ(failure(), path + ":1: the line is an array; with documents = \"jsonl\" it must be an object");
  folder.write("a.jsonl", "{\"txt\": \"a\n");
  EXPECT_NE(failure().find(":1: no JSON"), std::string::npos) << failure();
}

TEST_F(TrainedText, KeepsItsIdsBesideTheText) {
  const std::string path = folder.write("x/a.txt", "a b c d a b c");
  settings.set("path", folder / "x");
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{1, 2, 3, 4}));
  ASSERT_EQ(caches(folder / "x/.baleen").size(), 1u);
  EXPECT_TRUE(logged("tokenizing 1 file, 0 kB, by WordPiece on ")) << plugin.host->logged().front();
  const std::size_t before = plugin.host->logged().size();
  const DatasetRun again(plugin, settings);
  EXPECT_EQ(plugin.host->logged().size(), before) << "it was made again";
  EXPECT_EQ(row(again), (Row{1, 2, 3, 4}));
}

TEST_F(TrainedText, NoticesAStaleCacheAndADamagedOne) {
  folder.write("x/a.txt", "a b c d a b c");
  settings.set("path", folder / "x").set("cache", folder / "kept");
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{1, 2, 3, 4}));
  folder.write("x/a.txt", "d c b a a b c");
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{4, 3, 2, 1}));
  EXPECT_TRUE(logged(" is of another text, tokenizer or other options; it is made anew"));
  ASSERT_EQ(caches(folder / "kept").size(), 1u) << "the new one replaces the old one";
  const auto cache = caches(folder / "kept").front();
  std::fstream(cache, std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('\x7f');
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{4, 3, 2, 1}));
  EXPECT_TRUE(logged(" is damaged: its ids have another hash; it is made anew"));
  std::filesystem::resize_file(cache, 70);
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{4, 3, 2, 1}));
  folder.write("t/tokenizer.json",
               std::string(kJson).replace(std::string(kJson).find("\"a\": 1, \"b\": 2"), 14, "\"a\": 2, \"b\": 1"));
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{4, 3, 1, 2})) << "another tokenizer has other ids";
}

TEST_F(TrainedText, HoldsItsIdsInMemoryWhereNoneAreKept) {
  folder.write("x/a.txt", "a b c d a b c");
  settings.set("path", folder / "x").set("cache", "none");
  EXPECT_EQ(row(DatasetRun(plugin, settings)), (Row{1, 2, 3, 4}));
  EXPECT_FALSE(std::filesystem::exists(folder / "x/.baleen"));
}

TEST_F(TrainedText, IsTokenizedOnceByManyRanksOfAHost) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 3 ? "a b " : "c d\n";
  settings.set("path", folder.write("x/a.txt", text));
  std::vector<pid_t> ranks;
  for (int i = 0; i < 4; ++i) {
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    int status = 1;
    try {
      const DatasetRun data(plugin, settings);
      status = row(data) != (Row{3, 4, 1, 2}) ? 2 : logged("tokenizing") ? 10 : 0;
    } catch (...) {
    }
    _exit(status);
  }
  int makers = 0;
  for (const pid_t rank : ranks) {
    int status = 0;
    ASSERT_EQ(waitpid(rank, &status, 0), rank);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 10) << WEXITSTATUS(status);
    makers += WEXITSTATUS(status) == 10;
  }
  EXPECT_EQ(makers, 1);
}

TEST_F(TrainedText, GivesTheSameIdsInParts) {
  std::string text;
  for (int i = 0; text.size() < 3 << 20; ++i) text += i % 7 == 0 ? "a b c d\n" : "d a c q ";
  settings.set("path", folder.write("a.txt", text)).set("context", 1 << 20);
  const auto ids = row(DatasetRun(plugin, settings));
  std::vector<std::int32_t> expected;
  for (std::size_t i = 0; expected.size() < ids.size(); ++i)
    if (text[i] != ' ' && text[i] != '\n') expected.push_back(text[i] == 'q' ? 0 : text[i] - 'a' + 1);
  EXPECT_EQ(ids, expected);
}

TEST_F(TrainedText, SaysWhatIsWrong) {
  const std::string path = folder.write("a.txt", "a b c d a b c\n\xff");
  settings.set("path", path);
  EXPECT_EQ(failure(), path + ": not UTF-8 at byte 14; use tokenizer = \"bytes\", or convert the file");
  folder.write("a.txt", "a b c d a b c\n");
  settings.set("documents", "lines");
  EXPECT_EQ(failure(),
            "`documents` = \"lines\" needs what stands behind each document: `separator`, as in "
            "\"<|endoftext|>\", or `separator_token`");
  settings.set("separator", "<end>").set("separator_token", 5);
  EXPECT_EQ(failure(), "give `separator` or `separator_token`, not both");
  settings.set("separator", "").set("separator_token", 6);
  EXPECT_EQ(failure(), "`separator_token` is 6, which no token has");
  settings.set("separator_token", -1).set("documents", "none").set("mask_boundaries", "true");
  EXPECT_EQ(failure(), "`mask_boundaries` needs what ends a document: `separator` or `separator_token`");
  settings.set("mask_boundaries", "false").set("cache", "/proc/none");
  EXPECT_EQ(failure(),
            "/proc/none: cannot make the folder of the token cache: No such file or directory; give another folder "
            "as `cache`, or \"none\"");
  settings.set("cache", "none").set("tokenizer", "t/absent.json");
  EXPECT_EQ(failure(), (folder / "t/absent.json") + ": cannot open: No such file or directory");
  settings.set("tokenizer", "bytes").set("documents", "files");
  EXPECT_EQ(failure(),
            "`documents` = \"files\" needs a tokenizer from a file; with bytes give the text that ends a document as "
            "`separator`");
  settings.set("documents", "none").set("cache", "kept");
  EXPECT_EQ(failure(), "`cache` is for the tokens that a tokenizer from a file makes; with bytes nothing is kept");
  settings.set("cache", "beside").set("json_field", "body");
  EXPECT_EQ(failure(), "`json_field` is for `documents` = \"jsonl\"");
}

}  // namespace
