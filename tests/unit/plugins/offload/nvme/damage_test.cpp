/// \file Real files that are damaged behind the store's back, and a process that is killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <set>

#include "faulty_store.hpp"
#include "support/seed.hpp"

namespace baleen::nvme {
namespace {

namespace fs = std::filesystem;

/// A store as users have it, and the descriptor of its swap file.
class RealStore {
 public:
  explicit RealStore(const std::string& engine) {
    test::TestSettings settings(plugin.descriptor, folder.path());
    settings.set("path", ".").set("engine", engine);
    const baleen_offload_spec_t spec = {sizeof spec, 0, 8, 0, nullptr, {nullptr, 0}};
    if (plugin.table.create(plugin.host->get(), settings.get(), &spec, &store) != BALEEN_OK)
      throw std::runtime_error(plugin.host->failure());
    const baleen_offload_slot_t slots[] = {{sizeof(baleen_offload_slot_t), abi("first"), 3 * kBlock},
                                           {sizeof(baleen_offload_slot_t), abi("second"), kBytes}};
    if (plugin.table.reserve(store, slots, 2) != BALEEN_OK) throw std::runtime_error(plugin.host->failure());
  }
  RealStore(const RealStore&) = delete;
  ~RealStore() { plugin.table.destroy(store); }

  /// The failure, or "".
  std::string run(bool is_put, std::byte* memory) const {
    baleen_event_t done{};
    const baleen_offload_transfer_t transfer = {sizeof transfer, 1, 0, 0, kBytes, memory, nullptr, 0, &done, 1};
    const baleen_status_t started = is_put ? plugin.table.put(store, &transfer) : plugin.table.get(store, &transfer);
    if (started != BALEEN_OK) return "refused";
    if (!event_wait(done, 1, 30)) return "hangs";
    if (event_value(done) == 1) return "";
    (void)plugin.table.check(store, 1);
    return plugin.host->failure();
  }
  /// Opened anew, without O_DIRECT: by its link in /proc, since it has no name.
  int open_swap_file() const {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      if (fs::read_symlink(entry.path(), ignored).string().starts_with(folder.path() + "/"))
        return ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    }
    return -1;
  }

  static constexpr std::uint64_t kBytes = 40 * kBlock + 123;
  test::PluginUnderTest<baleen_offload_t> plugin{test::built_plugin("offload", "nvme")};
  test::TemporaryFolder folder;
  void* store = nullptr;
};

class OffloadDamage : public testing::TestWithParam<std::string> {};

TEST_P(OffloadDamage, OfAnyBitIsFoundAndItsBlockNamed) {
  std::mt19937_64 random(test::seed());
  RealStore store(GetParam());
  std::vector<std::byte> data(RealStore::kBytes), got(RealStore::kBytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  ASSERT_EQ(store.run(true, data.data()), "");
  const int file = store.open_swap_file();
  ASSERT_GE(file, 0);
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t bit = random() % (8 * RealStore::kBytes), byte = bit / 8;
    const auto at = static_cast<off_t>(3 * kBlock + byte);
    std::byte value{};
    const auto flip = [&] {
      ASSERT_EQ(::pread(file, &value, 1, at), 1);
      value ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_EQ(::pwrite(file, &value, 1, at), 1);
      ASSERT_EQ(::fdatasync(file), 0);
    };
    flip();
    // The store tells its first failure again and again; the block of this one shows in a store's first case only.
    const std::string why = store.run(false, got.data());
    EXPECT_NE(why, "") << "bit " << bit;
    if (i == 0) {
      EXPECT_EQ(why,
                store.folder.path() + ", offset " + std::to_string((3 + byte / kBlock) * kBlock) +
                    " of the swap file: get of slot 1 `second`, bytes 0 to " + std::to_string(RealStore::kBytes - 1) +
                    ": block " + std::to_string(byte / kBlock) +
                    " (4096 bytes each) is not what was put there: its checksum differs. A bit was flipped, or the "
                    "file was written by somebody else; the slot is lost: begin again from the last checkpoint, and "
                    "check the disk");
    }
    flip();
    ASSERT_EQ(store.run(false, got.data()), "") << "mended";
    ASSERT_EQ(data, got);
  }
  ::close(file);
}

TEST_P(OffloadDamage, OfItsLengthIsFound) {
  RealStore store(GetParam());
  std::vector<std::byte> data(RealStore::kBytes, std::byte{1});
  ASSERT_EQ(store.run(true, data.data()), "");
  const int file = store.open_swap_file();
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, 9 * kBlock + 1), 0);
  const std::string why = store.run(false, data.data());
  EXPECT_NE(why.find("the swap file ends before "), why.npos) << why;
  EXPECT_NE(why.find(": it has 36865 bytes; somebody has cut it, and what lay in it is lost"), why.npos) << why;
  ::close(file);
}

TEST_P(OffloadDamage, OfItsProcessLeavesNoFile) {
  const test::TemporaryFolder folder;
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    test::PluginUnderTest<baleen_offload_t> plugin(test::built_plugin("offload", "nvme"));
    test::TestSettings settings(plugin.descriptor, folder.path());
    settings.set("path", ".").set("engine", GetParam());
    const baleen_offload_spec_t spec = {sizeof spec, 0, 8, 0, nullptr, {nullptr, 0}};
    void* store = nullptr;
    const baleen_offload_slot_t slot = {sizeof slot, abi("all"), 16u << 20};
    if (plugin.table.create(plugin.host->get(), settings.get(), &spec, &store) != BALEEN_OK ||
        plugin.table.reserve(store, &slot, 1) != BALEEN_OK)
      ::_exit(1);
    static std::byte memory[1u << 20];
    baleen_event_t done{};
    for (std::uint64_t turn = 1;; ++turn) {
      const baleen_offload_transfer_t transfer = {sizeof transfer, 0,       0, turn % 16 << 20, sizeof memory,
                                                  memory,          nullptr, 0, &done,           turn};
      if (plugin.table.put(store, &transfer) != BALEEN_OK) ::_exit(1);
      event_wait(done, turn);
      if (turn == 3 && ::write(pipes[1], "x", 1) != 1) ::_exit(1);
    }
  }
  char byte = 0;
  ::close(pipes[1]);
  ASSERT_EQ(::read(pipes[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::is_empty(folder.path())) << fs::directory_iterator(folder.path())->path();
  ::close(pipes[0]);
}

INSTANTIATE_TEST_SUITE_P(Engines, OffloadDamage, testing::Values("io_uring", "threads"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace baleen::nvme
