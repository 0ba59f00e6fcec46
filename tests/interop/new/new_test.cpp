/// \file What `baleen new` writes builds against the installed SDK, passes `baleen validate`, and trains.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/compiler_cache.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

struct Written {
  std::string kind, name;
  bool in_c;
};

class New : public testing::TestWithParam<Written> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    for (const char* component : {"program", "plugins", "runtime", "sdk"}) {
      const ProcessResult done =
          run_process({"cmake", "--install", build_dir(), "--component", component, "--prefix", *folder_ / "first"});
      ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    }
    fs::rename(*folder_ / "first", prefix());  // nothing may depend on where it was installed
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string prefix() { return *folder_ / "prefix"; }
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_P(New, BuildsValidatesAndTrains) {
  const Written& one = GetParam();
  const std::string folder = *folder_ / "work";  // beside the prefix, always at the same place for the compiler's cache
  fs::create_directory(folder);
  ProcessOptions options;
  options.folder = folder;
  options.limit = std::chrono::minutes(4);
  options.environment = compiler_cache(folder_->path());
  std::vector<std::string> words = {prefix() + "/bin/baleen", "new", one.kind, one.name};
  if (one.in_c) words.push_back("--c");
  const ProcessResult made = run_process(words, options);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* file : {"CMakeLists.txt", "README.md", "job.lua", "manifest.toml"}) {
    const std::string text = read_file(folder + "/" + one.name + "/" + file);
    EXPECT_FALSE(text.empty()) << file;
    EXPECT_EQ(text.find("@NAME@"), std::string::npos) << file;
    EXPECT_EQ(text.find("@KIND@"), std::string::npos) << file;
    EXPECT_EQ(text.find("@BUILD@"), std::string::npos) << file;
    EXPECT_EQ(text.find("@VALIDATE@"), std::string::npos) << file;
  }
  const ProcessResult tested =
      run_process({"env", "BALEEN=" + prefix() + "/bin/baleen", folder + "/" + one.name + "/test.sh"}, options);
  EXPECT_EQ(tested.exit_code, 0) << tested.out << tested.err;
  EXPECT_NE(tested.out.find(one.kind + " `" + one.name + "`: "), std::string::npos) << tested.out;
  EXPECT_NE(tested.out.find(", 0 failed, "), std::string::npos) << tested.out;
  if (one.kind == "strategy" || one.kind == "compute" || one.kind == "transport") {
    EXPECT_NE(tested.out.find("\nEQUAL "), std::string::npos) << tested.out;
  }
  if (one.kind == "launcher") {
    EXPECT_NE(tested.out.find("finished 50/50 steps"), std::string::npos) << tested.out;
  }
  if (one.kind == "checkpoint") {
    EXPECT_FALSE(read_file(folder + "/" + one.name + "/trained." + one.name).empty());
  }
  if (one.kind == "monitor") {
    const std::string lines = read_file(folder + "/" + one.name + "/steps.csv");
    EXPECT_NE(lines.find("\n50,"), std::string::npos) << lines;
  }
  // Where its prefix is Baleen's it is found without a path.
  const ProcessResult installed =
      run_process({"cmake", "--install", folder + "/" + one.name + "/build", "--prefix", prefix()}, options);
  ASSERT_EQ(installed.exit_code, 0) << installed.err;
  const ProcessResult listed = run_process({prefix() + "/bin/baleen", "plugins", one.name}, options);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
}

INSTANTIATE_TEST_SUITE_P(Kinds, New,
                         testing::Values(Written{"optimizer", "my_rule", false},
                                         Written{"optimizer", "my_rule_c", true}, Written{"data", "my_points", false},
                                         Written{"monitor", "my_lines", false}, Written{"op", "my_ops", false},
                                         Written{"strategy", "my_copies", false},
                                         Written{"checkpoint", "my_format", false},
                                         Written{"offload", "my_swap", false}, Written{"compute", "my_device", false},
                                         Written{"transport", "my_pipes", false},
                                         Written{"launcher", "my_starter", false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
