/// \file The headers say what abi.txt says, and a change of theirs without a new version is refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "baleen/kind.h"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

const std::string kVersion = std::to_string(BALEEN_ABI_MAJOR) + "." + std::to_string(BALEEN_ABI_MINOR);
const std::string kMinor = "BALEEN_ABI_MINOR ";

/// A copy of the headers, in which `replace` changes text, and of the committed dump.
class Abi : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(include_);
    fs::copy(source_dir() + "/sdk/include/baleen", include_ + "/baleen");
    fs::copy(source_dir() + "/tests/golden/abi/abi.txt", golden_);
  }

  void replace(const std::string& header, const std::string& text, const std::string& by) const {
    const std::string path = include_ + "/baleen/" + header;
    std::string content = read_file(path);
    const std::size_t at = content.find(text);
    ASSERT_NE(at, std::string::npos) << header << " has no " << text;
    std::ofstream(path) << content.replace(at, text.size(), by);
  }
  ProcessResult run(const std::string& compiler, bool writes = false) const {
    std::vector<std::string> words = {
        "env",       "CC=" + compiler,     "python3",  source_dir() + "/tests/golden/abi/abi.py",
        "--headers", include_ + "/baleen", "--golden", golden_};
    if (writes) words.emplace_back("--write");
    return run_process(words);
  }
  /// Neither compared nor written, for this reason.
  void expect_refused(const std::string& why) const {
    for (const bool writes : {false, true}) {
      const ProcessResult result = run("cc", writes);
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_EQ(result.err.rfind("error: " + why, 0), 0u) << result.err;
    }
  }
  void expect_written() const {
    EXPECT_EQ(run("cc").exit_code, 1) << "the committed text is old";
    const ProcessResult result = run("cc", true);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(run("cc").exit_code, 0);
  }

  const TemporaryFolder folder_;
  const std::string include_ = folder_ / "include", golden_ = folder_ / "abi.txt";
};

TEST_F(Abi, IsTheCommittedOne) {
  for (const std::string compiler : {"cc", "clang"}) {
    const ProcessResult result = run(compiler);
    EXPECT_EQ(result.exit_code, 0) << compiler << ": " << result.err;
  }
}

TEST_F(Abi, ChangesWithItsVersionOnly) {
  replace("graph.h", "    baleen_traits_t traits;\n    uint32_t reserved;\n",
          "    baleen_traits_t traits;\n    uint32_t reserved;\n    uint64_t more;\n");
  replace("graph.h", "BALEEN_ASSERT_SIZE(baleen_op_info_t, 24)", "BALEEN_ASSERT_SIZE(baleen_op_info_t, 32)");
  expect_refused("graph.h has changed, and its version has not (abi " + kVersion + "): raise BALEEN_ABI_MINOR");
  replace("base.h", kMinor + std::to_string(BALEEN_ABI_MINOR), kMinor + std::to_string(BALEEN_ABI_MINOR + 1));
  expect_written();
}

TEST_F(Abi, OfAKindChangesWithItsRevision) {
  replace("strategy.h", "uint32_t (*claims)(void* strategy, uint32_t axis);",
          "uint32_t (*claims)(void* strategy, uint64_t axis);");
  const int revision = BALEEN_STRATEGY_REVISION;
  expect_refused("strategy.h has changed, and its version has not (strategy revision " + std::to_string(revision) +
                 " draft): raise BALEEN_STRATEGY_REVISION");
  const std::string macro = "BALEEN_STRATEGY_REVISION ";
  replace("kind.h", macro + std::to_string(revision), macro + std::to_string(revision + 1));
  expect_written();
}

TEST_F(Abi, OfAStableKindGrowsAtItsEndOnly) {
  replace("monitor.h", "    void (*destroy)(void* monitor);", "    void (*destroy)(void* monitor, int32_t how);");
  replace("kind.h", "BALEEN_MONITOR_REVISION 1", "BALEEN_MONITOR_REVISION 2");
  expect_refused(
      "monitor.h: `baleen_monitor_t` has changed other than at its end: plugins of this major version would "
      "break; undo it, or raise BALEEN_ABI_MAJOR");
  replace("base.h", "BALEEN_ABI_MAJOR 1", "BALEEN_ABI_MAJOR 2");
  expect_written();
}

TEST_F(Abi, KeepsStructsWithoutASize) {
  replace("monitor.h", "    baleen_string_t text;\n} baleen_fact_t;",
          "    baleen_string_t text;\n    double more;\n} baleen_fact_t;");
  replace("monitor.h", "BALEEN_ASSERT_SIZE(baleen_fact_t, 40)", "BALEEN_ASSERT_SIZE(baleen_fact_t, 48)");
  replace("kind.h", "BALEEN_MONITOR_REVISION 1", "BALEEN_MONITOR_REVISION 2");
  expect_refused("monitor.h: `baleen_fact_t` has changed, and begins with no size");
}

TEST_F(Abi, KeepsConstants) {
  replace("base.h", "BALEEN_TIMEOUT = 7", "BALEEN_TIMEOUT = 9");
  replace("base.h", kMinor + std::to_string(BALEEN_ABI_MINOR), kMinor + std::to_string(BALEEN_ABI_MINOR + 1));
  expect_refused("base.h: `constant BALEEN_TIMEOUT = 7` is gone");
}

}  // namespace
}  // namespace baleen::test
