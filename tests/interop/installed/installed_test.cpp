/// \file The installed program finds its plugins and its Lua library beside itself: in its prefix, and where the prefix
/// is moved to.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "support/losses.hpp"
#include "support/plugin_under_test.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const ProcessResult done = run_process({"cmake", "--install", build_dir(), "--prefix", prefix()});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    // Every case runs the moved program last, so a prefix that is written somewhere in it shows.
    fs::create_directories(moved().parent_path());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string prefix() { return *folder_ / "usr/local"; }
  static fs::path moved() { return *folder_ / "opt/other name"; }

  /// The program of `root`, in an empty folder and with nothing of this build in sight.
  static ProcessResult run(const fs::path& root, std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"env", "-i", "PATH=/usr/bin:/bin", "HOME=" + folder_->path(), (root / "bin/baleen").string()});
    ProcessOptions options;
    options.folder = *folder_ / "empty";
    fs::create_directories(options.folder);
    return run_process(words, options);
  }
  /// Calls `check` with the prefix, then with the folder it was moved to, while the first is gone.
  template <class Check>
  static void in_both(Check check) {
    check(fs::path(prefix()));
    fs::rename(prefix(), moved());
    check(moved());
    fs::rename(moved(), prefix());
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Installed, TrainsTheFirstExample) {
  std::vector<Losses> all;
  in_both([&](const fs::path& root) {
    const std::string log = *folder_ / "log.jsonl";
    const ProcessResult result = run(root, {"run", source_dir() + "/examples/01_hello/train.lua", "--log-json", log});
    EXPECT_EQ(result.exit_code, 0) << root << result.out << result.err;
    all.push_back(losses_in(log));
  });
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].size(), 500u);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_LT(std::stod(all[0].back()), 0.25) << "two spirals are told apart";
}
TEST_F(Installed, TrainsOnTwoRanks) {
  in_both([&](const fs::path& root) {
    const ProcessResult result = run(root, {"verify", source_dir() + "/examples/01_hello/train.lua", "--steps", "3",
                                            "--manifest", source_dir() + "/examples/clusters/two.toml"});
    EXPECT_EQ(result.exit_code, 0) << root << result.out << result.err;
    EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
  });
}
/// All plugins that were built, out of its own folder.
TEST_F(Installed, HasEveryPlugin) {
  std::set<std::string> built_files, files;
  for (const auto& entry : fs::directory_iterator(built("lib/baleen/plugins")))
    if (entry.path().extension() == ".so") built_files.insert(entry.path().filename());
  in_both([&](const fs::path& root) {
    const ProcessResult result = run(root, {"plugins", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("rejected").size(), 0u) << result.out;
    files.clear();
    for (const auto& plugin : json.at("plugins")) {
      const fs::path file = plugin.at("file").get<std::string>();
      EXPECT_TRUE(file.lexically_normal().string().starts_with(root.string() + "/")) << file;
      files.insert(file.filename());
    }
    EXPECT_EQ(files, built_files);
  });
}
TEST_F(Installed, SatisfiesTheDoctor) {
  in_both([&](const fs::path& root) {
    const ProcessResult result = run(root, {"doctor"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_TRUE(result.out.ends_with("ready: this machine can train\n")) << result.out;
    EXPECT_EQ(result.out.find("not usable"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("missing"), std::string::npos) << result.out;
    for (const std::string kind : {"compute", "transport", "strategy", "optimizer", "data", "monitor", "checkpoint"})
      for (const std::string& name : built_members(kind))
        EXPECT_TRUE(std::regex_search(result.out, std::regex("\n  " + kind + " .*\\b" + name + "\\b"))) << kind << name;
  });
}
/// Nothing of the folders of the sources and the build is written in what is installed.
TEST_F(Installed, NamesNoFolderOfTheBuild) {
  for (const auto& entry : fs::recursive_directory_iterator(prefix())) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = read_file(entry.path());
    EXPECT_EQ(bytes.find(build_dir()), std::string::npos) << entry.path();
  }
}

/// Paths of documents of the SDK, as those who read them there resolve them. "<baleen>/" stands before those of the
/// sources.
std::vector<std::string> paths_in(const std::string& text) {
  std::vector<std::string> paths;
  const std::regex path(
      R"(\]\(([^)#:]+)[^)]*\)|`((?:\.\./|include/|examples/|template/|guides/|compiler/|core/|sdk/|strategies/|)"
      R"(plugins/|frontend/|tests/|transports/|docs/|scripts/|optimizers/)[^` *]*)`)");
  for (std::sregex_iterator at(text.begin(), text.end(), path); at != std::sregex_iterator(); ++at)
    paths.push_back((*at)[1].matched ? (*at)[1] : (*at)[2]);
  return paths;
}

/// Those who have the SDK alone can follow every path and link, and find an example of each phase and tag.
TEST_F(Installed, DocumentsOfTheSdkPointToWhatIsThere) {
  const fs::path documents = fs::path(prefix()) / "share/baleen/sdk";
  std::size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(documents)) {
    if (entry.path().extension() != ".md") continue;
    for (const std::string& path : paths_in(read_file(entry.path()))) {
      ++found;
      EXPECT_TRUE(fs::exists(entry.path().parent_path() / path)) << entry.path() << " points to " << path;
    }
  }
  EXPECT_GT(found, 60u);
  const std::string start = read_file(documents / "README.md");
  EXPECT_NE(start.find("`cmake/` and `source/` are `lib/cmake/baleen`"), std::string::npos) << start;
  const std::string guide = read_file(documents / "guides/add_a_strategy.md");
  const std::string tables =
      guide.substr(guide.find("| you want |"), guide.find("`set_tag` writes") - guide.find("| you want |"));
  EXPECT_EQ(tables.find("<baleen>"), std::string::npos) << tables;
  for (const char* phase :
       {"split", "tag", "rewrite", "gradients", "place", "lower", "recompute", "schedule", "begin", "finish"})
    EXPECT_TRUE(std::regex_search(tables, std::regex("\\| [^|]*`" + std::string(phase) + "`"))) << phase;
  for (const char* tag :
       {"block", "stage", "no_fuse", "whole", "compute_copy", "offer", "owner", "recomputed", "bucket", "chunk"})
    EXPECT_TRUE(std::regex_search(tables, std::regex("\n\\| [^|]*`" + std::string(tag) + "`"))) << tag;
  EXPECT_GT(paths_in(tables).size(), 15u);
}

}  // namespace
}  // namespace baleen::test
