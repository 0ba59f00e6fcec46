/// \file Rows that cannot be read again are not compared: what can be read is trained on, and saved.
#include <filesystem>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

TEST(PassingRows, CostNoTraining) {
  const TemporaryFolder folder;
  const std::string script = folder.write(
      "job.lua",
      "local baleen = require 'baleen'\n"
      "return baleen.job { model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
      "  data = baleen.data.passing {}, batch = 8, steps = 40, check = { every = 4 },\n"
      "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  const std::string model = folder / "m.safetensors";
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", script, "--plugin-path", PASSING_FOLDER, "--save", model};
    words.insert(words.end(), more.begin(), more.end());
    return run_baleen(words);
  };
  for (const std::string ranks : {"1", "2"}) {
    const ProcessResult result = train({"--set", "mesh.data=" + ranks, "--set", "checkpoint.every=10", "--set",
                                        "checkpoint.folder=" + folder / ("c" + ranks)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(std::filesystem::exists(model));
    std::filesystem::remove(model);
  }
}

}  // namespace
}  // namespace baleen::test
