/// \file A damaged index of shards is refused with its place and its reason; writers' files are ordinary safetensors.
#include <gtest/gtest.h>

#include <filesystem>

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
  }
  /// The refusal of the index with `text` replaced, without its path.
  std::string refusal(const std::string& text, const std::string& by) {
    std::string changed = json;
    const std::size_t at = changed.find(text);
    EXPECT_NE(at, std::string::npos) << text << " in " << json;
    folder.write("index.baleen.json", changed.replace(at, text.size(), by));
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
  EXPECT_EQ(refusal(json, "[]"), "it is no JSON object; is it cut short?");
  EXPECT_EQ(refusal(json, "{}"), "`format` is missing");
  EXPECT_EQ(refusal(json, "{\"a\":" + std::string(100000, '[')), "it is nested too deeply");
  EXPECT_EQ(refusal("\"attempt\": \"a\"", "\"attempt\": \"a\", \"attempt\": \"b\""), "the key `attempt` occurs twice");
  EXPECT_EQ(refusal("baleen.shards/1", "baleen.shards/9"),
            "its format is `baleen.shards/9`, this reader knows `baleen.shards/1`");
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
  EXPECT_NE(failure.find("`w`: the file has not the piece"), std::string::npos) << failure;
}

}  // namespace
