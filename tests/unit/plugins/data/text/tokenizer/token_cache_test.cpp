/// \file The file of token ids: written whole or not at all, and no damage overlooked.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temporary_folder.hpp"
#include "token_cache.hpp"

namespace {

using namespace baleen;
using namespace baleen::text;
using namespace baleen::test;

constexpr Digest kKey = {1, 2};
const std::vector<std::uint32_t> kIds = {5, 6, 7, 70'000, 9};

void write(const std::string& path, int width, bool commits = true) {
  auto writer = TokenCacheWriter::create(path, kKey, 3, width);
  ASSERT_TRUE(writer) << writer.error().text();
  ASSERT_TRUE(writer->append(0, std::span(kIds).first(2)));
  ASSERT_TRUE(writer->append(2, std::span(kIds).subspan(2, 1)));
  ASSERT_TRUE(writer->append(2, std::span(kIds).subspan(3)));
  if (!commits) return;
  ASSERT_TRUE(writer->commit());
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string failure(const std::string& bytes, const Digest& key = kKey, std::size_t runs = 3) {
  const auto read = TokenCache::read(std::as_bytes(std::span(bytes)), key, runs, "c");
  return read ? "" : read.error().text();
}

TEST(TokenCache, HoldsTheIdsOfEveryRun) {
  const TemporaryFolder folder;
  for (const int width : {2, 4}) {
    write(folder / "c", width);
    const auto cache = TokenCache::open(folder / "c", kKey, 3);
    ASSERT_TRUE(cache) << cache.error().text();
    ASSERT_EQ(cache->runs().size(), 3u);
    EXPECT_EQ(cache->runs()[1].tokens, 0);
    EXPECT_EQ(cache->runs()[2].tokens, 3);
    Stream stream;
    for (const baleen::text::Run& run : cache->runs()) stream.append(run);
    std::vector<std::int32_t> ids(5);
    stream.read(0, ids);
    const std::int32_t large = width == 4 ? 70'000 : 70'000 - 65'536;
    EXPECT_EQ(ids, (std::vector<std::int32_t>{5, 6, 7, large, 9}));
  }
}

TEST(TokenCache, LeavesNothingBehindWithoutCommit) {
  const TemporaryFolder folder;
  write(folder / "c", 4, false);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write(folder / "c", 4);
  const std::string before = bytes_of(folder / "c");
  write(folder / "c", 2, false);
  EXPECT_EQ(bytes_of(folder / "c"), before) << "the old one stays until the new one is whole";
}

TEST(TokenCache, NoticesEveryFlippedBit) {
  const TemporaryFolder folder;
  write(folder / "c", 4);
  const std::string good = bytes_of(folder / "c");
  ASSERT_EQ(failure(good), "");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(failure(bad), "") << "bit " << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(failure(good.substr(0, size)), "") << size;
  EXPECT_NE(failure(good + "x"), "");
}

TEST(TokenCache, TellsAnotherKeyFromDamage) {
  const TemporaryFolder folder;
  write(folder / "c", 4);
  const std::string good = bytes_of(folder / "c");
  EXPECT_EQ(failure(good, {1, 3}), "c: is of another text, tokenizer or other options");
  EXPECT_EQ(failure(good, kKey, 4), "c: has 3 runs for 4 files");
  EXPECT_EQ(failure("short"), "c: is cut short: 5 bytes");
  EXPECT_EQ(TokenCache::open(folder / "absent", kKey, 1).error().code, BALEEN_NOT_FOUND);
}

/// Sizes that overflow when they are multiplied or added.
TEST(TokenCache, BelievesNoSizes) {
  TokenCacheHeader header{{'B', 'A', 'L', 'E', 'E', 'N', 'T', 'K'}, 1, 4, kKey, 0, 0, 0, 0};
  for (const std::uint64_t huge : {std::uint64_t{1} << 61, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    std::string bytes(sizeof(header) + 64, '\0');
    header.runs = huge;
    header.ids = 0;
    std::memcpy(bytes.data(), &header, sizeof(header));
    EXPECT_NE(failure(bytes, kKey, huge), "");
    header.runs = 0;
    header.ids = huge;
    std::memcpy(bytes.data(), &header, sizeof(header));
    EXPECT_NE(failure(bytes, kKey, 0), "");
  }
}

TEST(TokenCache, SaysWhereItCannotBeWritten) {
  const auto writer = TokenCacheWriter::create("/proc/none/c", kKey, 1, 2);
  ASSERT_FALSE(writer);
  EXPECT_EQ(
      writer.error().text(),
      "/proc/none/c.tmp: cannot make the token cache: No such file or directory; give another folder as `cache`, or "
      "\"none\"");
}

TEST(TokenCache, IsMadeByOneAtATime) {
  const TemporaryFolder folder;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto lock = MakerLock::take(folder / "c", {});
      ASSERT_TRUE(lock) << lock.error().text();
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      --inside;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

}  // namespace
