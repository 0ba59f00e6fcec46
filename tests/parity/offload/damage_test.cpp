/// \file A swap file that changes behind the run ends it, with the state and the reason; the last checkpoint is good.
#include <fcntl.h>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/offload/offload_run.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

/// Turns a bit in each block of all files of a process that lie in the folder.
void turn_bits(pid_t process, const std::string& folder) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    if (!fs::read_symlink(entry.path(), gone).string().starts_with(folder + "/")) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    const off_t end = ::lseek(file, 0, SEEK_END);
    for (off_t at = 100; at < end; at += 4096) {
      unsigned char byte = 0;
      if (::pread(file, &byte, 1, at) != 1) continue;
      byte = static_cast<unsigned char>(byte ^ (1u << (at / 4096 % 8)));
      if (::pwrite(file, &byte, 1, at) != 1) break;
    }
    ::close(file);
  }
}

TEST(OffloadDamage, ATurnedBitEndsTheRunAndTheLastCheckpointIsGood) {
  const TemporaryFolder swap, folder;
  const std::string saved = folder / "saved";
  const std::string manifest = folder.write("disk.toml", "[checkpoint]\n" + in_folder(saved) + "every = 5\n" +
                                                             plan_entry("data") + offloaded_to("nvme", on_disk(swap)));
  RunningJob job({build_dir() + "/bin/baleen", "run", source_dir() + "/tests/parity/checkpoint/model.lua", "--manifest",
                  manifest, "--steps", "1000000", "--", "--data", source_dir() + "/tests/golden/whales.txt"});
  ASSERT_TRUE(job.prints("step 6/")) << job.err();
  std::optional<int> code;
  for (int tries = 0; tries < 2000 && !code; ++tries) {
    turn_bits(job.leader(), swap.path());
    code = job.ends(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(code.has_value());
  EXPECT_NE(*code, 0);
  EXPECT_LT(*code, 70) << job.err();
  EXPECT_NE(job.err().find("offload `nvme`"), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("checksum"), std::string::npos) << job.err();
  EXPECT_EQ(run_baleen({"checkpoint", "verify", saved}).exit_code, 0);
  EXPECT_TRUE(fs::is_empty(swap.path())) << "no swap file is left";
}

}  // namespace
}  // namespace baleen::test
