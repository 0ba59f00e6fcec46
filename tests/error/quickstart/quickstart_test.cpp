/// \file The quick start's script: with stand-ins for CMake and the program, what it builds, what it runs and what it
/// says when one of them fails; and, in the slow case, the real thing in a copy of the sources.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

/// A copy of the script with stand-ins: `cmake` writes down how it is called and makes a program that does so too.
class Quickstart : public testing::Test {
 protected:
  Quickstart() {
    fs::create_directories(folder_ / "scripts");
    for (const std::string name : {"quickstart.sh", "packages.sh"})
      fs::copy_file(source_dir() + "/scripts/" + name, folder_ / ("scripts/" + name));
    stand_in("cmake",
             "echo \"cmake $*\" >> \"$CALLS\"\n"
             "case \"$1\" in --preset) [ -z \"${FAIL_CONFIGURE:-}\" ] || { echo 'no such compiler'; exit 1; } ;;\n"
             "  *) [ -z \"${FAIL_BUILD:-}\" ] || { echo 'undefined reference'; exit 1; }\n"
             "     mkdir -p build/release/bin && cp tools/baleen build/release/bin/baleen ;; esac\n");
    stand_in("baleen", "echo \"baleen $*\" >> \"$CALLS\"\nexit ${FAIL_TRAINING:-0}\n");
    stand_in("dpkg-query", "printf 'installed\\n'\n");  // whatever is asked for is there
  }
  void stand_in(const std::string& name, const std::string& body) {
    const std::string path = folder_.write("tools/" + name, "#!/bin/sh\n" + body);
    fs::permissions(path, fs::perms::owner_all);
  }
  ProcessResult run(std::vector<std::string> words, std::vector<std::string> environment = {}) {
    fs::remove(folder_ / "calls");
    words.insert(words.begin(), {"bash", folder_ / "scripts/quickstart.sh"});
    ProcessOptions options;
    options.folder = "/";  // from wherever it is called
    options.environment = std::move(environment);
    options.environment.push_back("CALLS=" + (folder_ / "calls"));
    options.environment.push_back("PATH=" + (folder_ / "tools") + ":" + std::getenv("PATH"));
    return run_process(words, options);
  }
  std::string calls() const { return read_file(folder_ / "calls"); }

  const std::string kTrains = "baleen run examples/02_gpt/train.lua", kTwo = " --manifest examples/clusters/two.toml",
                    kSaves = " --save build/gpt.safetensors";
  const TemporaryFolder folder_;
};

TEST_F(Quickstart, SaysHowItIsUsed) {
  for (const std::string word : {"-h", "--help"}) {
    const ProcessResult result = run({word});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.out.starts_with("Usage: scripts/quickstart.sh ")) << result.out;
    EXPECT_EQ(calls(), "") << "nothing is built";
  }
}
TEST_F(Quickstart, BuildsWithoutTestsAndTrainsOnTwoRanks) {
  const ProcessResult result = run({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(calls().starts_with("cmake --preset release -DBALEEN_BUILD_TESTS=OFF\ncmake --build build/release -j"))
      << calls();
  EXPECT_TRUE(calls().ends_with("\n" + kTrains + kTwo + kSaves + "\n")) << calls();
  EXPECT_NE(result.out.find("The model's parameters are in build/gpt.safetensors."), std::string::npos) << result.out;
}
TEST_F(Quickstart, HandsItsArgumentsOn) {
  run({"--steps", "3", "--", "--data", "a text"});
  EXPECT_TRUE(calls().ends_with(kTrains + kTwo + kSaves + " --steps 3 -- --data a text\n")) << calls();
}
TEST_F(Quickstart, TakesAnotherManifest) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-m", "my.toml"}, {"--manifest", "my.toml"}, {"--manifest=my.toml"}}) {
    const ProcessResult result = run(words);
    EXPECT_EQ(calls().find(kTwo), std::string::npos) << calls();
    EXPECT_NE(calls().find("my.toml"), std::string::npos) << calls();
    EXPECT_EQ(result.out.find("on two ranks"), std::string::npos) << result.out;
  }
  run({"--", "--manifest", "is the script's"});
  EXPECT_NE(calls().find(kTwo), std::string::npos) << calls();
}
TEST_F(Quickstart, SaysWhatFailed) {
  const auto failed = [&](const std::string& what, const std::string& says, const std::string& shown) {
    const ProcessResult result = run({}, {what});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.err.ends_with("error: " + says + "\n")) << result.err;
    EXPECT_NE(result.err.find(shown), std::string::npos) << "the end of the log is shown: " << result.err;
    EXPECT_EQ(result.out.find("parameters are in"), std::string::npos) << result.out;
  };
  failed("FAIL_CONFIGURE=1", "configuring failed; all of cmake's output is in build/quickstart.log",
         "no such compiler");
  failed("FAIL_BUILD=1", "building failed; all of the compiler's output is in build/quickstart.log",
         "undefined reference");
  failed("FAIL_TRAINING=3", "training failed (status 3); the reason is above", "");
}
TEST_F(Quickstart, NamesMissingPackages) {
  stand_in("dpkg-query", "exit 1\n");
  stand_in("id", "echo 1000\n");
  stand_in("sudo", "exit 1\n");
  const ProcessResult result = run({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.err.starts_with("error: these Debian packages are missing: build-essential g++ cmake"))
      << result.err;
  EXPECT_NE(result.err.find("install them with: sudo apt-get install "), std::string::npos) << result.err;
  EXPECT_EQ(calls(), "");
}

/// With the compiler, in a copy of the sources without what was built there: as after a clone.
TEST(WholeQuickstart, TrainsFromTheSources) {
  const TemporaryFolder folder;
  for (const auto& entry : fs::directory_iterator(source_dir())) {
    const std::string name = entry.path().filename();
    if (name == "build" || name == ".git" || name == "shared") continue;
    fs::copy(entry.path(), folder / name, fs::copy_options::recursive);
  }
  std::string text;
  for (int i = 0; i < 30; ++i) text += read_file(source_dir() + "/tests/golden/whales.txt");
  ProcessOptions options;
  options.limit = std::chrono::minutes(80);
  const ProcessResult result = run_process(
      {"bash", folder / "scripts/quickstart.sh", "--steps", "3", "--", "--data", folder.write("text.txt", text)},
      options);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("finished 3/3 steps"), std::string::npos) << result.out;
  EXPECT_GT(fs::file_size(folder / "build/gpt.safetensors"), 1'000'000u);
}

}  // namespace
}  // namespace baleen::test
