/// \file A damaged index of shards is refused with its place and its reason; writers' files are ordinary safetensors.
#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdio>
#include <filesystem>

#include "changed_bits.hpp"
#include "support/seed.hpp"
#include "support/shard_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class ShardIndex : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run.write(folder.path(), "a", 0, 2, {{&weight, {{{0, 1}}}}}), "");
    ASSERT_EQ(run.write(folder.path(), "a", 1, 2, {{&weight, {{{1, 2}}}}}), "");
    ASSERT_EQ(run.commit(folder.path(), "a", 2), "");
    json = read_file(index);
    json.erase(2, json.find('\n', 2) - 1);  // the line of its checksum
  }
  /// As somebody would write it who knows how.
  static std::string with_checksum(const std::string& text) {
    char line[64];
    std::snprintf(line, sizeof line, " \"checksum\": \"%016llx\",\n",
                  static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
    return text.starts_with("{\n") ? "{\n" + std::string(line) + text.substr(2) : text;
  }
  /// The refusal of the index with `text` replaced, without its path.
  std::string refusal(const std::string& text, const std::string& by) {
    std::string changed = json;
    const std::size_t at = changed.find(text);
    EXPECT_NE(at, std::string::npos) << text << " in " << json;
    folder.write("index.baleen.json", with_checksum(changed.replace(at, text.size(), by)));
    const std::string failure = run.failure_of_reading(folder.path(), {{&weight}});
    const std::string begin = index + ": the index of shards: ";
    return failure.starts_with(begin) ? failure.substr(begin.size()) : failure;
  }

  ShardRun run{built_plugin("checkpoint", "safetensors")};
  TemporaryFolder folder;
  const std::string index = folder / "index.baleen.json";
  const NamedTensor weight = some_tensor("w", BALEEN_F32, {2, 3});
  std::string json;
};

TEST_F(ShardIndex, LiesBesideOrdinaryFiles) {
  CheckpointRun files(built_plugin("checkpoint", "safetensors"));
  const auto tensors = files.read(folder / "shard-a-00002-of-00002.safetensors");
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0], (NamedTensor{"w", BALEEN_F32, {1, 3}, weight.bytes.substr(12)}));
}

TEST_F(ShardIndex, IsReadWhole) {
  EXPECT_EQ(refusal("\"attempt\"", "\"attempt\""), "");
  EXPECT_EQ(refusal(json, json.substr(0, json.size() / 2)), "it is no JSON object; is it cut short?");
  EXPECT_EQ(refusal(json, "{\n]"), "it is no JSON object; is it cut short?");
  EXPECT_EQ(refusal(json, "{\n\"a\": 1}"), "`format` is missing");
  EXPECT_EQ(refusal(json, "{\n\"a\":" + std::string(100000, '[')), "it is nested too deeply");
  const std::string damaged = "it does not begin with its checksum; it is damaged, or of another version";
  EXPECT_EQ(refusal(json, "[]"), damaged);
  EXPECT_EQ(refusal(json, ""), damaged);
  EXPECT_EQ(refusal("\"attempt\": \"a\"", "\"attempt\": \"a\", \"attempt\": \"b\""), "the key `attempt` occurs twice");
  EXPECT_EQ(refusal("baleen.shards/1", "baleen.shards/9"),
            "its format is `baleen.shards/9`, this reader knows `baleen.shards/1`");
}

TEST_F(ShardIndex, MayBeCutAnywhere) {
  const std::string whole = read_file(index);
  for (std::size_t length = 0; length < 60; ++length) {
    folder.write("index.baleen.json", whole.substr(0, length));
    const std::string failure = run.failure_of_reading(folder.path(), {{&weight}});
    EXPECT_TRUE(failure.starts_with(index + ": the index of shards: it")) << length << " bytes: " << failure;
    EXPECT_NE(failure.find("damaged"), std::string::npos) << length << " bytes: " << failure;
  }
}

TEST_F(ShardIndex, LeadsToNoOtherFile) {
  EXPECT_EQ(refusal("shard-a-00001", "../rd-a-00001"), "a file is not named as its writer's is");
  EXPECT_EQ(refusal("\"attempt\": \"a\"", "\"attempt\": \"../a\""), "`attempt` is no name of an attempt");
  EXPECT_EQ(refusal("\"file\": 1", "\"file\": 2"), "tensor `w` has a piece in no file");
}

TEST_F(ShardIndex, IsNotBelievedAboutPieces) {
  EXPECT_EQ(refusal("\"F32\"", "\"F31\""), "tensor `w` has no known dtype or too many elements");
  EXPECT_EQ(refusal("\"bytes\": ", "\"bytes\": -"), "a number is not what it must be");
  EXPECT_EQ(refusal("\"ranges\"", "\"changes\""), "`ranges` is missing");
  EXPECT_EQ(refusal("\"bytes\": ", "\"bytes\": 11, \"were\": "),
            "tensor `w` has a piece of 12 bytes in shard-a-00001-of-00002.safetensors, which has no room for it");
  // Read as a piece of another shape: neither the index's elements nor the file's.
  const std::size_t rank = json.find("\"shape\"");
  ASSERT_NE(rank, std::string::npos);
  const std::string shape = json.substr(rank, json.find(']', rank) + 1 - rank);
  EXPECT_EQ(refusal(shape, "\"shape\": [4611686018427387904, 4611686018427387904]"),
            "tensor `w` has no known dtype or too many elements");
  EXPECT_NE(refusal(shape, "\"shape\": [1, 3]").find("do not ascend within its 1"), std::string::npos);
  EXPECT_NE(refusal(shape, "\"shape\": [3, 3]").find("is fp32 [3, 3], and was asked for as fp32 [2, 3]"),
            std::string::npos);
}

/// The second piece is said to lie in the first writer's file, which has another one.
TEST_F(ShardIndex, IsComparedWithTheFiles) {
  std::filesystem::copy_file(folder / "shard-a-00001-of-00002.safetensors", folder / "kept");
  const NamedTensor other = some_tensor("v", BALEEN_F32, {2, 3});
  EXPECT_EQ(run.write(folder.path(), "b", 1, 2, {{&other, {{{1, 2}}}}}), "");
  std::filesystem::rename(folder / "shard-b-00002-of-00002.safetensors", folder / "shard-a-00002-of-00002.safetensors");
  const std::string failure = run.failure_of_reading(folder.path(), {{&weight}});
  EXPECT_NE(failure.find("shard-a-00002-of-00002.safetensors"), std::string::npos) << failure;
  EXPECT_NE(failure.find("its header is damaged"), std::string::npos) << failure;
}

/// Other bits each time; all of them are in slow cases (every_bit_test.cpp).
TEST(ShardChecksums, FindBitsThatChange) { expect_changed_bits_to_be_found(seed() % 509, 509); }

TEST(ShardRemoval, TakesItsOwnFilesAlone) {
  ShardRun run{built_plugin("checkpoint", "safetensors")};
  const TemporaryFolder folder;
  const NamedTensor one = some_tensor("one", BALEEN_F32, {3});
  const auto save = [&](const std::string& where) {
    ASSERT_EQ(run.write(where, "a", 0, 1, {{&one}}), "");
    ASSERT_EQ(run.commit(where, "a", 1), "");
  };
  save(folder / "a");
  save(folder / "b");
  folder.write("b/notes.txt", "mine");
  EXPECT_EQ(run.remove(folder / "a"), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  EXPECT_EQ(run.remove(folder / "b"), "");
  EXPECT_EQ(read_file(folder / "b/notes.txt"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "b"), {}), 1);
  EXPECT_EQ(run.remove(folder / "none"), "");
}

}  // namespace
