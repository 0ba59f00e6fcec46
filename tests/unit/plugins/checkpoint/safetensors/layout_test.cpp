/// \file The bytes that safetensors files consist of, written and read.
#include <gtest/gtest.h>

#include "raw_file.hpp"
#include "support/checkpoint_run.hpp"
#include "support/forbidden_calls.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class SafetensorsLayout : public testing::Test {
 protected:
  CheckpointRun run{built_plugin("checkpoint", "safetensors")};
  TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
};

TEST_F(SafetensorsLayout, OrdersByAlignmentThenNameAndPadsTheHeader) {
  ASSERT_EQ(run.write(path,
                      {{"b", BALEEN_U8, {1}, "x"},
                       {"z", BALEEN_F32, {1}, "zzzz"},
                       {"c", BALEEN_F32, {}, "cccc"},
                       {"d", BALEEN_I64, {1}, "dddddddd"},
                       {"h", BALEEN_BF16, {1}, "hh"}},
                      {{"step", "3"}}),
            BALEEN_OK);
  std::string header = R"({"__metadata__":{"format":"pt","step":"3"},)"
                       R"("d":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                       R"("c":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                       R"("z":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},)"
                       R"("h":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]},)"
                       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[18,19]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(path), raw_file(header, "ddddddddcccczzzzhhx"));
}

TEST_F(SafetensorsLayout, ReadsAnyOrderOfKeysAndTensorsWithTrailingSpaces) {
  folder.write("model.safetensors", raw_file(R"({"late":{"data_offsets":[4,6],"shape":[2],"dtype":"U8"},)"
                                             R"("early":{"shape":[1],"dtype":"F32","data_offsets":[0,4]}}   )",
                                             "wwwwab"));
  const auto tensors = run.read(path);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0], (NamedTensor{"early", BALEEN_F32, {1}, "wwww"}));
  EXPECT_EQ(tensors[1], (NamedTensor{"late", BALEEN_U8, {2}, "ab"}));
}

TEST_F(SafetensorsLayout, TakesScalarsAndEmptyTensorsAnywhere) {
  folder.write("model.safetensors", raw_file(R"({"e0":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                                             R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                             R"("e1":{"dtype":"F64","shape":[3,0],"data_offsets":[4,4]}})",
                                             "ssss"));
  EXPECT_EQ(run.read(path).size(), 3u);
}

TEST_F(SafetensorsLayout, LeavesOutWhatHasNoDtypeHereWithAWarning) {
  folder.write("model.safetensors", raw_file(R"({"mask":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},)"
                                             R"("w":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                                             "\1\1w"));
  const auto tensors = run.read(path);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0], (NamedTensor{"w", BALEEN_U8, {1}, "w"}));
  ASSERT_EQ(run.plugin.host->logged().size(), 1u);
  EXPECT_NE(run.plugin.host->logged()[0].find("`mask` is left out: its dtype BOOL"), std::string::npos);
}

/// Of which the disk ends some before the rest is written.
TEST_F(SafetensorsLayout, WritesLongFiles) {
  constexpr std::int64_t kBytes = 200 << 20;
  std::string bytes(kBytes, 'a');
  for (std::size_t i = 0; i < bytes.size(); i += 4093) bytes[i] = static_cast<char>(i / 4093);
  ASSERT_EQ(run.write(path, {{"w", BALEEN_U8, {kBytes}, bytes}}), BALEEN_OK);
  const auto tensors = run.read(path);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_TRUE(tensors[0].bytes == bytes);
}

/// The disk may say what is wrong with a file while others of its bytes are written, and says it once.
TEST_F(SafetensorsLayout, HearsOfTheDiskBeforeTheEnd) {
  const auto writes = [&](unsigned reason) {
    if (!forbid_calls({SYS_sync_file_range}, reason)) _exit(77);
    constexpr std::int64_t kBytes = 20 << 20;
    _exit(run.write(path, {{"w", BALEEN_U8, {kBytes}, std::string(kBytes, 'a')}}));
  };
  ASSERT_EQ(run.write(path, {{"w", BALEEN_U8, {1}, "x"}}), BALEEN_OK);
  EXPECT_EXIT(writes(EIO), testing::ExitedWithCode(BALEEN_IO), "");
  EXPECT_EQ(run.read(path)[0].bytes, "x") << "the file that was there";
  EXPECT_EXIT(writes(EINVAL), testing::ExitedWithCode(BALEEN_OK), "") << "a file system that does not know it";
  EXPECT_EQ(run.read(path)[0].bytes.size(), std::size_t{20} << 20);
}

TEST_F(SafetensorsLayout, RefusesToWriteWhatTheFormatCannotHold) {
  EXPECT_EQ(run.write(path, {{"__metadata__", BALEEN_U8, {1}, "x"}}), BALEEN_INVALID);
  EXPECT_EQ(run.write(path, {{"bad \xff name", BALEEN_U8, {1}, "x"}}), BALEEN_INVALID);
  EXPECT_EQ(run.write(path, {{std::string(5000, 'n'), BALEEN_U8, {1}, "x"}}), BALEEN_INVALID);
  EXPECT_EQ(run.write(path, {{"short", BALEEN_F32, {2}, "xxxx"}}), BALEEN_INTERNAL);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
