/// \file Swap files: names, what dead processes leave, room, stripes.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "faulty_store.hpp"
#include "support/small_disk.hpp"
#include "swap_files.hpp"

namespace baleen::nvme {
namespace {

namespace fs = std::filesystem;

class OffloadSwapFiles : public testing::Test {
 protected:
  Result<SwapFiles> open(const std::vector<std::string>& folders, SwapName first = SwapName::kNone,
                         std::uint64_t stripe = 2 * kBlock) const {
    return SwapFiles::open(Host(host.get()), folders, stripe, true, first);
  }
  std::string only_name() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(folder.path())) found += entry.path().filename().string();
    return found;
  }
  test::TemporaryFolder folder;
  test::TestHost host;
};

TEST_F(OffloadSwapFiles, HaveNoNameWhichEverWayTheyLoseIt) {
  for (const SwapName first : {SwapName::kNone, SwapName::kUnlinked}) {
    auto files = open({folder.path()}, first);
    ASSERT_TRUE(files) << files.error().text();
    ASSERT_TRUE((*files).grow(10 * kBlock));
    EXPECT_EQ(only_name(), "");
    EXPECT_EQ(::lseek((*files).file(0), 0, SEEK_END), 10 * static_cast<off_t>(kBlock));
  }
}

TEST_F(OffloadSwapFiles, ThatKeepANameLoseItAtTheirEnd) {
  {
    auto files = open({folder.path()}, SwapName::kKept);
    ASSERT_TRUE(files);
    EXPECT_EQ(only_name(), swap_name(0));
    EXPECT_EQ((*files).path(0), folder / swap_name(0));
    auto second = open({folder.path()}, SwapName::kKept);  // another store of this process
    ASSERT_TRUE(second);
    EXPECT_EQ((*second).path(0), folder / swap_name(1));
  }
  EXPECT_EQ(only_name(), "");
}

TEST_F(OffloadSwapFiles, OfDeadProcessesAreRemovedAtTheNextStart) {
  const pid_t child = ::fork();
  if (child == 0) {
    folder.write(swap_name(0), "left behind");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string left = only_name();
  ASSERT_TRUE(left.starts_with("baleen-swap."));
  EXPECT_TRUE(is_left_behind(left));
  EXPECT_FALSE(is_left_behind(swap_name(0))) << "its process is alive";
  // The number of a living process that began at another time.
  std::string reused = swap_name(0);
  reused.insert(reused.rfind('.'), "1");
  EXPECT_TRUE(is_left_behind(reused));
  for (const char* name :
       {"baleen-swap", "baleen-swap.elsewhere.1.999999.5.0", "weights.safetensors", "baleen-swap.x.1.1.y.0"}) {
    EXPECT_FALSE(is_left_behind(name)) << name;
    folder.write(name, "others'");
  }
  folder.write(reused, "left behind");
  auto files = open({folder.path()});
  ASSERT_TRUE(files);
  EXPECT_FALSE(fs::exists(folder / left));
  EXPECT_FALSE(fs::exists(folder / reused));
  EXPECT_TRUE(fs::exists(folder / "weights.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "baleen-swap.elsewhere.1.999999.5.0"));
  const std::vector<std::string> said = host.logged();
  EXPECT_NE(std::find(said.begin(), said.end(), folder / left + ": removed this swap file of a process that is dead"),
            said.end());
}

TEST_F(OffloadSwapFiles, NeedFoldersThatAreThere) {
  auto absent = open({folder / "absent"});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().text(), folder / "absent" + ": cannot keep swap files there: No such file or directory");
  auto file = open({folder.write("file", "x")});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().text(), folder / "file" + ": is no folder; option `path` names folders for swap files");
}

TEST_F(OffloadSwapFiles, AreStripedEvenlyAndEachByteHasOnePlace) {
  std::vector<std::string> folders;
  for (int i = 0; i < 3; ++i)
    folders.push_back(fs::path(folder.write("disk" + std::to_string(i) + "/x", "")).parent_path());
  auto files = open(folders);
  ASSERT_TRUE(files);
  ASSERT_TRUE((*files).grow(20 * kBlock));
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> taken;
  for (std::uint64_t at = 0; at < 20 * kBlock; at += kBlock) {
    const SwapPlace place = (*files).place(at);
    EXPECT_EQ(place.number, at / (2 * kBlock) % 3);
    EXPECT_EQ(place.bytes, at % (2 * kBlock) ? kBlock : 2 * kBlock);
    EXPECT_TRUE(taken.emplace(std::pair(place.number, place.offset), at).second) << at;
    EXPECT_LE(static_cast<off_t>(place.offset + kBlock), ::lseek((*files).file(place.number), 0, SEEK_END));
  }
  (*files).shrink(3 * kBlock);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(::lseek((*files).file(i), 0, SEEK_END), 2 * static_cast<off_t>(kBlock));
}

TEST_F(OffloadSwapFiles, TellWhatAFullDiskLacksAndTakeNothing) {
  const test::SmallDisk disk(folder / "small", "4m");
  if (!disk.possible()) GTEST_SKIP() << "this user mounts no file system";
  auto files = open({folder / "small"});
  ASSERT_TRUE(files);
  EXPECT_LE((*files).room(), 4u << 20);
  ASSERT_TRUE((*files).grow(1u << 20));
  const Status full = (*files).grow(8u << 20);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, BALEEN_NO_MEMORY);
  EXPECT_EQ(full.error().text(),
            folder / "small" + ": the swap file of 8388608 bytes needs 7340032 bytes more here, where " +
                "3145728 are free: No space left on device; make room, name another folder in `path`, "
                "or offload less");
  EXPECT_EQ(::lseek((*files).file(0), 0, SEEK_END), 1 << 20);
  ASSERT_TRUE((*files).grow(4u << 20)) << "what failed has taken nothing";
}

}  // namespace
}  // namespace baleen::nvme
