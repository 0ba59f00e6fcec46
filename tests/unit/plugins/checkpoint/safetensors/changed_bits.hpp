/// \file Bits of a checkpoint that change on the disk.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/shard_run.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// 64 KiB of data in two files and the index: whichever bit changes, the file is named, and the tensor where it is in
/// its data. Of each file every `stride`-th bit from `first` on changes, one at a time.
inline void expect_changed_bits_to_be_found(std::size_t first, std::size_t stride) {
  ShardRun run{built_plugin("checkpoint", "safetensors")};
  const TemporaryFolder folder;
  const NamedTensor one = some_tensor("one", BALEEN_F32, {96, 64}), two = some_tensor("two", BALEEN_F64, {80, 64});
  ASSERT_EQ(run.write(folder.path(), "a", 0, 2, {{&one, {{{0, 48}}}}, {&two}}), "");
  ASSERT_EQ(run.write(folder.path(), "a", 1, 2, {{&one, {{{48, 96}}}}}), "");
  ASSERT_EQ(run.commit(folder.path(), "a", 2), "");
  ASSERT_EQ(run.verify(folder.path()), "");
  ASSERT_GE(one.bytes.size() + two.bytes.size(), 64u << 10);
  for (const std::string name :
       {"index.baleen.json", "shard-a-00001-of-00002.safetensors", "shard-a-00002-of-00002.safetensors"}) {
    const std::string bytes = read_file(folder / name);
    const std::size_t data =
        bytes.size() -
        (name.starts_with("index") ? 0 : one.bytes.size() / 2 + (name[11] == '1' ? two.bytes.size() : 0));
    std::fstream file(folder / name, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](std::size_t at, char byte) {
      file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
      ASSERT_TRUE(file.good());
    };
    for (std::size_t bit = first; bit < 8 * bytes.size(); bit += stride) {
      put(bit / 8, static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8));
      const std::string failure = run.verify(folder.path());
      ASSERT_NE(failure.find(name), std::string::npos) << "bit " << bit << " of " << name << ": " << failure;
      if (!name.starts_with("index") && bit / 8 >= data) {
        EXPECT_TRUE(failure.find("tensor `one` is damaged") != std::string::npos ||
                    failure.find("tensor `two` is damaged") != std::string::npos)
            << failure;
      }
      put(bit / 8, bytes[bit / 8]);
    }
  }
  EXPECT_EQ(run.verify(folder.path()), "");
}

}  // namespace baleen::test
