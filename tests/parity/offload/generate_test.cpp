/// \file A language model writes with less memory than its parameters take: they are got for each use.
#include <gtest/gtest.h>

#include "offload_run.hpp"

namespace baleen::test {
namespace {

class GenerateOffloaded : public testing::TestWithParam<const char*> {
 protected:
  static constexpr const char* kScript =
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local corpus = baleen.data.text { path = 'text.txt', tokenizer = 'bytes', context = 16, cache = 'none' }\n"
      "return baleen.job { data = corpus, batch = 4, steps = 2, loss = nn.cross_entropy {},\n"
      "  model = nn.sequential { nn.embedding { vocab = corpus.vocab, dim = 128, positions = 16 },\n"
      "    nn.repeated(16, function() return nn.transformer_block { dim = 128, heads = 4, causal = true } end),\n"
      "    nn.linear { name = 'head', out = corpus.vocab, bias = false } },\n"
      "  optimizer = baleen.optimizer('sgd'), generate = { prompt = 'wh', tokens = 5, temperature = 0 } }\n";
  static constexpr int kBudget = 8;  ///< MiB; its parameters take 12

  void SetUp() override {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "whales sing. ";
    folder_.write("text.txt", text);
    script_ = folder_.write("train.lua", kScript);
    const std::string name = GetParam(),
                      budget = "[compute]\nplugin = \"cpu\"\nmemory = " + std::to_string(kBudget) + "\n";
    const std::string outside = offloaded_to(name, name == "nvme" ? on_disk(folder_) : std::string(), kParameters);
    outside_ = folder_.write("outside.toml", outside);
    outside_of_little_ = folder_.write("outside_of_little.toml", outside + budget);
    as_needed_ = folder_.write(
        "as_needed.toml",
        offloaded_to(name, name == "nvme" ? on_disk(folder_) : std::string(), "as_needed = true\n") + budget);
    little_ = folder_.write("little.toml", budget);
  }
  ProcessResult run(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, script_);
    ProcessOptions options;
    options.folder = folder_.path();
    return run_baleen(words, options);
  }
  ProcessResult generate(std::vector<std::string> more) const {
    std::vector<std::string> words = {"generate", "--load", "m.safetensors", "--prompt", "wh",
                                      "--tokens", "9",      "--temperature", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  const TemporaryFolder folder_;
  std::string script_, outside_, outside_of_little_, as_needed_, little_;
};

TEST_P(GenerateOffloaded, WritesTheSameText) {
  const ProcessResult trained = run({"run", "--save", "m.safetensors"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProcessResult inside = generate({});
  ASSERT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(generate({"--manifest", little_}).exit_code, 3) << "its parameters fit into the budget";
  const ProcessResult outside = generate({"--manifest", outside_of_little_});
  EXPECT_EQ(outside.exit_code, 0) << outside.err;
  EXPECT_EQ(outside.out, inside.out);
  const ProcessResult needed = generate({"--manifest", as_needed_});
  EXPECT_EQ(needed.exit_code, 0) << needed.err;
  EXPECT_EQ(needed.out, inside.out);
}

/// The text at the end of a training, too, whose other states lie outside.
TEST_P(GenerateOffloaded, WritesTheSameTextBehindATraining) {
  const ProcessResult inside = run({"run"}), outside = run({"run", "--manifest", outside_});
  ASSERT_EQ(inside.exit_code, 0) << inside.err;
  ASSERT_EQ(outside.exit_code, 0) << outside.err;
  const auto text_of = [](const std::string& out) {
    const std::size_t at = out.rfind("\nwh");
    return at == std::string::npos ? "no text in " + out : out.substr(at, out.find('\n', at + 1) - at);
  };
  EXPECT_EQ(text_of(outside.out), text_of(inside.out));
}

INSTANTIATE_TEST_SUITE_P(Stores, GenerateOffloaded, testing::Values("host", "nvme"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace baleen::test
