/// \file Each option does something that can be seen: in the process's files and threads, and in its requests.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <set>

#include "faulty_store.hpp"
#include "support/forbidden_calls.hpp"

namespace baleen::nvme {
namespace {

namespace fs = std::filesystem;

class OffloadOption : public testing::Test {
 protected:
  OffloadOption() { settings.set("path", "."); }
  void make() {
    const baleen_offload_spec_t spec = {sizeof spec, 0, 8, 0, nullptr, {nullptr, 0}};
    ASSERT_EQ(plugin.table.create(plugin.host->get(), settings.get(), &spec, &store), BALEEN_OK)
        << plugin.host->failure();
  }
  std::string refusal() {
    const baleen_offload_spec_t spec = {sizeof spec, 0, 8, 0, nullptr, {nullptr, 0}};
    return plugin.table.create(plugin.host->get(), settings.get(), &spec, &store) == BALEEN_OK ? ""
                                                                                               : plugin.host->failure();
  }
  ~OffloadOption() override {
    if (store) plugin.table.destroy(store);
  }
  /// What the process's descriptors are, below the test's folder or by that word.
  static std::vector<std::string> descriptors(const std::string& word) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(entry.path(), ignored).string();
      if (target.find(word) != target.npos) found.push_back(entry.path());
    }
    return found;
  }
  static int threads(const std::string& name) {
    int count = 0;
    for (const auto& task : fs::directory_iterator("/proc/self/task"))
      count += test::read_file(task.path() / "comm") == name + "\n";
    return count;
  }
  test::TemporaryFolder folder;
  test::PluginUnderTest<baleen_offload_t> plugin{test::built_plugin("offload", "nvme")};
  test::TestSettings settings{plugin.descriptor, folder.path()};
  void* store = nullptr;
};

TEST_F(OffloadOption, PathPutsAFileIntoEachFolder) {
  for (const char* name : {"a/x", "b/x"}) folder.write(name, "");
  settings.set("path", "a\nb");
  make();
  EXPECT_EQ(descriptors(folder / "a/").size(), 1u);
  EXPECT_EQ(descriptors(folder / "b/").size(), 1u);
}

TEST_F(OffloadOption, PathIsNeeded) {
  settings.set("path", "");
  EXPECT_EQ(refusal(), "option `path` names no folder for swap files");
}

TEST_F(OffloadOption, EngineIsIoUringOrThreads) {
  settings.set("engine", "threads").set("depth", "5");
  make();
  EXPECT_EQ(threads("baleen-blocks"), 5);
  EXPECT_TRUE(descriptors("[io_uring]").empty());
  plugin.table.destroy(std::exchange(store, nullptr));
  settings.set("engine", "io_uring");
  make();
  EXPECT_EQ(threads("baleen-blocks"), 0);
  EXPECT_EQ(descriptors("[io_uring]").size(), 1u);
}

TEST_F(OffloadOption, EngineFallsToThreadsWhereIoUringIsForbidden) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!test::forbid_io_uring()) ::_exit(2);
    make();
    const std::vector<std::string> said = plugin.host->logged();
    const bool once = said.size() == 1 && said[0] ==
                                              "io_uring cannot be set up: Operation not permitted; threads read "
                                              "and write instead, with more load on the processor";
    const bool works = threads("baleen-blocks") == 16;
    settings.set("engine", "io_uring");
    store = nullptr;
    const bool refused = refusal() == "io_uring cannot be set up: Operation not permitted; take `engine` = \"threads\"";
    ::_exit(once && works && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "2: no filter can be set here";
}

TEST_F(OffloadOption, DirectGoesPastThePageCache) {
  for (const bool direct : {true, false}) {
    settings.set("direct", direct ? "true" : "false");
    make();
    const std::vector<std::string> files = descriptors(folder.path() + "/");
    ASSERT_EQ(files.size(), 1u);
    const int flags = ::fcntl(std::stoi(fs::path(files[0]).filename()), F_GETFL);
    const std::vector<std::string> said = plugin.host->logged();
    const bool said_no = !said.empty() && said.back().find("takes no O_DIRECT") != std::string::npos;
    EXPECT_EQ((flags & O_DIRECT) != 0 || said_no, direct);
    plugin.table.destroy(std::exchange(store, nullptr));
  }
}

// The sizes of requests, and how many are under way, as a disk sees them.
TEST_F(OffloadOption, RequestDepthAndStripeShapeTheRequests) {
  std::vector<IoRequest> seen;
  std::uint32_t highest = 0;
  const auto count = [&](const IoRequest& request) {
    seen.push_back(request);
    highest = std::max(highest, request.id + 1);
    return Fault{Fault::kLate, 2};
  };
  test::TemporaryFolder second;
  FaultyStore store(count, [&](Options& options) {
    options.request = 4 * kBlock;
    options.depth = 3;
    options.stripe = 3 * kBlock;
    options.folders.push_back(second.path());
  });
  store.reserve(1, 24 * kBlock);
  std::vector<std::byte> data(24 * kBlock);
  ASSERT_TRUE(store.put(0, data));
  ASSERT_EQ(seen.size(), 8u) << "a stripe each";
  std::set<int> files;
  for (const IoRequest& request : seen) {
    EXPECT_EQ(request.bytes, 3 * kBlock);
    files.insert(request.file);
  }
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(highest, 3u);
}

TEST_F(OffloadOption, ThatCountsBytesIsOfWholeBlocks) {
  settings.set("stripe", "5000");
  EXPECT_EQ(refusal(), "option `stripe` = 5000 is no multiple of 4096");
  settings.set("stripe", "8192").set("request", "4097");
  EXPECT_EQ(refusal(), "option `request` = 4097 is no multiple of 4096");
}

}  // namespace
}  // namespace baleen::nvme
