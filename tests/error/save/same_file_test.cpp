/// \file What a command writes is no file that it reads, or writes for another purpose: both would be lost.
#include <filesystem>

#include "parity/parity_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

class SameFile : public testing::Test {
 protected:
  SameFile() {
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 40; ++i)
      rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + ",k" + std::to_string(i % 2) + "\n";
    folder_.write("rows.csv", rows);
    folder_.write("job.lua",
                  "local baleen = require 'baleen'\nlocal rows = baleen.data.table { path = 'rows.csv' }\n"
                  "return baleen.job { model = baleen.nn.linear { name = 'l', out = 2 },\n"
                  "  loss = baleen.nn.cross_entropy {}, data = rows, batch = 4, steps = 2,\n"
                  "  optimizer = baleen.optimizer('sgd') }\n");
    folder_.write("one.toml", "[mesh]\ndata = 1\n");
  }
  ProcessResult run(const std::string& command, const std::vector<std::string>& words) const {
    std::vector<std::string> all{command, "job.lua"};
    all.insert(all.end(), words.begin(), words.end());
    ProcessOptions options;
    options.folder = folder_.path();
    return run_baleen(all, options);
  }
  /// Both files stay as they are.
  void expect_refused(const std::string& command, const std::vector<std::string>& words, const std::string& what,
                      const std::string& other, const std::string& file) const {
    const std::string path = folder_ / file;
    const bool was_there = std::filesystem::exists(path);
    const std::string before = was_there ? read_file(path) : "";
    const ProcessResult result = run(command, words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_NE(result.err.find(what + " would write over " + other + ", the same file; give it another name"),
              std::string::npos)
        << result.err;
    EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << "nothing is trained before";
    if (was_there) {
      EXPECT_EQ(read_file(path), before) << file;
    }
  }
  const TemporaryFolder folder_;
};

TEST_F(SameFile, IsRefusedToMonitorsOfARun) {
  const std::string log = "monitor `jsonl`", trace = "monitor `trace`";
  for (const std::string& path : std::vector<std::string>{"rows.csv", "./rows.csv", folder_ / "rows.csv"})
    expect_refused("run", {"--log-json", path}, log, "the data", "rows.csv");
  std::filesystem::create_symlink("rows.csv", folder_ / "link");
  expect_refused("run", {"--log-json", "link"}, log, "the data", "rows.csv");
  expect_refused("run", {"--log-json", "rows.csv", "--set", "mesh.data=2"}, log, "the data", "rows.csv");
  expect_refused("run", {"--trace", "job.lua"}, trace, "the script", "job.lua");
  expect_refused("run", {"--log-json", "one.toml", "-m", "one.toml"}, log, "the manifest", "one.toml");
  expect_refused("run", {"--log-json", "x", "--trace", "./x"}, log, trace, "x");
  expect_refused("run", {"--log-json", "m.safetensors", "--save", "m.safetensors"}, "--save", log, "m.safetensors");
  const ProcessResult result = run("run", {"--log-json", "/dev/null", "--trace", "/dev/null"});
  EXPECT_EQ(result.exit_code, 0) << "what is no file may be both; " << result.err;
}

TEST_F(SameFile, IsRefusedToWhatPredictAndInferWrite) {
  ASSERT_EQ(run("run", {"--save", "m.safetensors"}).exit_code, 0);
  for (const std::string path : {"rows.csv", "./rows.csv"})
    expect_refused("predict", {"--load", "m.safetensors", "--data", "rows.csv", "--out", path}, "--out", "--data",
                   "rows.csv");
  expect_refused("predict",
                 {"--load", "m.safetensors", "--data", "rows.csv", "--out", "m.safetensors", "--format", "csv"},
                 "--out", "--load", "m.safetensors");
  expect_refused("infer", {"--load", "m.safetensors", "--outputs", "m.safetensors"}, "--outputs", "--load",
                 "m.safetensors");
  EXPECT_EQ(run("run", {"--load", "m.safetensors", "--save", "m.safetensors"}).exit_code, 0) << "trained on";
}

}  // namespace
}  // namespace baleen::test
