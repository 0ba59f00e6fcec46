/// \file Options of offload backends: what the system sees of a run, since no number may change.
#include <fcntl.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "parity/options/experiment.hpp"

namespace baleen::test::options {
namespace {

namespace fs = std::filesystem;

/// Files without a name or with one below `files()`: their folder, bytes, and whether the page cache is passed by.
std::string swap_files(pid_t process) {
  const std::string proc = "/proc/" + std::to_string(process);
  std::multiset<std::string> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(proc + "/fd", none)) {
    const std::string to = fs::read_symlink(entry.path(), none).string();
    if (to == "anon_inode:[io_uring]") all.insert("a ring");
    if (!to.starts_with(files().path())) continue;
    std::istringstream info(read_file(proc + "/fdinfo/" + entry.path().filename().string()));
    long flags = 0;
    for (std::string word; info >> word;)
      if (word == "flags:") info >> std::oct >> flags;
    all.insert(fs::path(to).parent_path().string() + ": " + std::to_string(fs::file_size(entry.path(), none)) +
               " bytes" + (flags & O_DIRECT ? ", direct" : ""));
  }
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

/// Its threads that move data, and whether it asks for huge pages.
std::string means(pid_t process) {
  const std::string proc = "/proc/" + std::to_string(process);
  int threads = 0;
  std::error_code none;
  for (const auto& task : fs::directory_iterator(proc + "/task", none)) {
    const std::string name = read_file(task.path() / "comm");
    threads += name.starts_with("baleen-offload") || name.starts_with("baleen-blocks");
  }
  return std::to_string(threads) + " threads" +
         (read_file(proc + "/smaps").find(" hg") == std::string::npos ? "" : ", huge pages") + "\n";
}

/// Both, of a run that has made some steps.
std::string outside(const Job& job) {
  return seen_of_a_run(
      job, [](const RunningJob& running) { return swap_files(running.leader()) + means(running.leader()); });
}

/// Whether a run bears a write that takes a second.
std::string held_up(Job job) {
  job.environment.push_back(std::string("LD_PRELOAD=") + SLOW_WRITES);
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  return "exit " + std::to_string(result.exit_code) + result.err.substr(0, result.err.find('('));
}

/// Bytes of the largest write.
std::string largest_write(Job job) {
  const TemporaryFolder folder;
  job.environment.push_back(std::string("LD_PRELOAD=") + LARGEST_WRITE);
  job.environment.push_back("LARGEST_WRITE=" + (folder / "largest"));
  const ProcessResult result = run(job, {"run"}, folder.path());
  if (result.exit_code != 0) return "it fails: " + result.err;
  std::istringstream lines(read_file(folder / "largest"));
  long largest = 0;
  for (long bytes = 0; lines >> bytes;) largest = std::max(largest, bytes);
  return std::to_string(largest);
}

Trial of_store(View view, std::vector<std::string> values, Options around = {}) {
  Job job;
  job.script = "gpt";
  job.arguments = {"layers=1", "dim=24", "heads=2", "batch=4", "context=8"};
  job.plan["offload"] = {{"min_elements", "16"}};
  return {job, std::move(view), std::move(values), std::move(around)};
}

Trial of_disks(View view, std::vector<std::string> values, Options around = {}) {
  around.emplace("path", list({files().path()}));
  return of_store(std::move(view), std::move(values), std::move(around));
}

}  // namespace

Experiments offload_experiments() {
  const std::string one = files() / "one", two = files() / "two";
  for (const std::string& folder : {one, two}) fs::create_directories(folder);
  return {
      {"offload.host.threads", {of_store(outside, {"1", "3"})}},
      {"offload.host.huge_pages", {of_store(outside, {})}},
      {"offload.nvme.path", {of_disks(outside, {list({one}), list({two}), list({one, two})})}},
      {"offload.nvme.stripe", {of_disks(outside, {kUnset, "4096"}, {{"path", list({one, two})}})}},
      {"offload.nvme.request", {of_disks(largest_write, {kUnset, "4096"}, {{"engine", text("threads")}})}},
      {"offload.nvme.depth", {of_disks(outside, {kUnset, "2"}, {{"engine", text("threads")}})}},
      {"offload.nvme.timeout", {of_disks(held_up, {kUnset, "0.1"}, {{"engine", text("threads")}})}},
      {"offload.nvme.engine", {of_disks(outside, {kUnset, text("threads")})}},
      {"offload.nvme.direct", {of_disks(outside, {})}},
  };
}

}  // namespace baleen::test::options
