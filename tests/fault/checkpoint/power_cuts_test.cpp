/// \file The same on a disk of which the power is really cut: an ext4 in a file, shut down by EXT4_IOC_SHUTDOWN, so
/// that what is read afterwards is what its journal and its blocks hold.
#include <sched.h>
#include <sys/mount.h>

#include "fault/checkpoint/interrupted_saves.hpp"

namespace baleen::test {
namespace {

struct PowerCuts : InterruptedSaves {
  PowerCuts() { parts = 24; }
  /// False where this machine does not let us mount.
  bool make_disk() {
    // Seen by this process and its children alone, and gone with them.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    std::ofstream(image_).put(0);
    fs::resize_file(image_, 32 << 20);
    if (run_tool({"mkfs.ext4", "-q", "-F", image_}).exit_code != 0) return false;
    return mount_disk();
  }
  ~PowerCuts() override { unmount_disk(); }

  /// So that what was there before is not brought back by a cut.
  void settle() const {
    const int folder = ::open(disk_.c_str(), O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(::syncfs(folder), 0);
    ::close(folder);
  }
  /// What a machine does when it has power again.
  void boot() {
    unmount_disk();
    ASSERT_TRUE(mount_disk()) << "after a power cut the disk cannot be mounted";
  }

 private:
  static ProcessResult run_tool(const std::vector<std::string>& words) {
    ProcessOptions options;
    options.environment = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin"};
    return run_process(words, options);
  }
  bool mount_disk() {
    // auto_da_alloc would have the kernel mend programs that rename what they have not synced.
    is_mounted_ = run_tool({"mount", "-t", "ext4", "-o", "loop,noauto_da_alloc", image_, disk_}).exit_code == 0;
    return is_mounted_;
  }
  void unmount_disk() {
    if (is_mounted_) {
      EXPECT_EQ(run_tool({"umount", disk_}).exit_code, 0);
    }
    is_mounted_ = false;
  }

  const std::string image_ = folder / "image", disk_ = folder / "disk";
  bool is_mounted_ = false;
};

TEST_P(PowerCuts, LoseNothing) {
  if (!make_disk()) GTEST_SKIP() << "needs the right to mount an ext4 from a file (root, loop devices, mkfs.ext4)";
  const long calls = calls_of_a_run();
  ASSERT_GT(calls, 30);
  for (const long n : ours(calls, 1))
    for (const std::string how : {"shutdown", "shutdown-log"}) {
      const std::string trace = how + " at call " + std::to_string(n) + " of " + std::to_string(calls) + ": ";
      settle();
      const ProcessResult cut = train(at(how, n));
      EXPECT_NE(cut.exit_code, 0) << trace;
      EXPECT_NE(cut.exit_code, 98) << trace << "the file system was not shut down";
      boot();
      if (HasFatalFailure()) return;
      expect_to_go_on(trace);
    }
}
INSTANTIATE_TEST_SUITE_P(Of, PowerCuts, testing::Combine(testing::Values(1, 2), testing::Range(0, 24)), part_name);

}  // namespace
}  // namespace baleen::test
