/// \file Jobs beside what the system says of their swap files; on full disks; where the kernel forbids io_uring.
#include <sys/stat.h>

#include <thread>

#include "parity/offload/offload_run.hpp"
#include "support/forbidden_calls.hpp"
#include "support/running_job.hpp"
#include "support/small_disk.hpp"

namespace baleen::test {
namespace {

constexpr int kDoesNotFit = 3;

struct SmallPlace {
  const char* size;
  MeshAxes axes;
  std::string plan;
};

TEST(OffloadDisk, ThatIsFullEndsTheJobBeforeAStep) {
  // States take 8.8 MiB, on two ranks 4.4 of each: the last disk has room for one of them.
  for (const auto& [size, axes, plan] :
       {SmallPlace{"2m", kOne, ""}, SmallPlace{"2m", kTwo, zero(1)}, SmallPlace{"6m", kTwo, zero(1)}}) {
    const TemporaryFolder folder;
    const SmallDisk disk(folder / "small", size);
    if (!disk.possible()) GTEST_SKIP() << "needs the right to mount a file system";
    const ProcessResult run =
        run_parity({"run", "--steps", "2"}, "gpt",
                   manifest_of(axes, plan + offloaded_to("nvme", "path = \"" + (folder / "small") + "\"\n")), kLarge);
    EXPECT_EQ(run.exit_code, kDoesNotFit) << run.err;
    for (const std::string& words :
         {std::string("offload `nvme`"), folder / "small", std::string("make room"), std::string("offload less")})
      EXPECT_NE(run.err.find(words), std::string::npos) << words << ": " << run.err;
    EXPECT_EQ(run.out.find("step 1/"), std::string::npos) << run.out;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "small")) << "no swap file is left";
  }
}

/// Bytes on disks of the files of a process that lie in the folder, which have no names.
std::uint64_t bytes_of_files(pid_t process, const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    struct stat file = {};
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with(folder + "/")) continue;
    if (::stat(entry.path().c_str(), &file) == 0) bytes += static_cast<std::uint64_t>(file.st_blocks) * 512;
  }
  return bytes;
}

TEST(OffloadDisk, HasSwapFilesOfThePlannedBytes) {
  const TemporaryFolder swap;
  for (const std::string& options : {std::string("min_elements = 16\n"), kEverything}) {
    const std::string manifest = manifest_of(kOne, offloaded_to("nvme", on_disk(swap), options));
    const std::uint64_t planned = planned_gpt(manifest, kLarge)["classes"][0]["offload"]["bytes"];
    const TemporaryFolder folder;
    const std::string log = folder / "log.jsonl";
    std::vector<std::string> words{build_dir() + "/bin/baleen", "run", source_dir() + "/tests/parity/gpt.lua"};
    words.insert(words.end(), {"--manifest", folder.write("disk.toml", manifest), "--steps", "1000000", "--log-json"});
    words.insert(words.end(), {log, "--", "--data", source_dir() + "/tests/golden/whales.txt"});
    for (const std::string& argument : kLarge) words.push_back("--" + argument);
    RunningJob job(words);
    const auto has_begun = [&] { return read_file(log).find("\"step\":3") != std::string::npos; };
    ASSERT_TRUE(holds_within(std::chrono::seconds(60), has_begun)) << job.err();
    const std::uint64_t there = bytes_of_files(job.leader(), swap.path());
    EXPECT_GE(there, planned);
    EXPECT_LE(there, planned + planned / 50) << "each slot is whole blocks, and has sums of them";
  }
}

std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + words.size())) ++count;
  return count;
}

TEST(OffloadDisk, WhereIoUringIsForbiddenIsReadByThreadsWithTheSameBits) {
  const TemporaryFolder swap, logs;
  const auto train = [&](const std::string& offload, const std::string& log) {
    return run_parity({"run", "--steps", "4", "--log-json", logs / log}, "gpt", manifest_of(kTwo, zero(2) + offload),
                      {"clip=1.0"});
  };
  const ProcessResult inside = train("", "inside");
  ASSERT_EQ(inside.exit_code, 0) << inside.err;
  ProcessResult outside;
  bool forbidden = false;
  std::thread([&] {
    forbidden = forbid_io_uring();
    if (forbidden) outside = train(offloaded_to("nvme", on_disk(swap)), "outside");
  }).join();
  if (!forbidden) GTEST_SKIP() << "needs filters of system calls";
  ASSERT_EQ(outside.exit_code, 0) << outside.err;
  EXPECT_EQ(losses_in(logs / "outside"), losses_in(logs / "inside"));
  EXPECT_EQ(count_of(outside.out + outside.err, "io_uring cannot be set up: Operation not permitted"), 2u)
      << "once by each rank: " << outside.out << outside.err;
}

}  // namespace
}  // namespace baleen::test
