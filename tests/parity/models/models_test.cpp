/// \file Models of other frameworks' shapes on several ranks: what one rank computes, from the parameters of a folder.
#include "parity/parity_run.hpp"
#include "support/exchange_model.hpp"

namespace baleen::test {
namespace {

struct Case {
  const char* name;
  std::string config;
};

/// Two ranks that cut heads, mlps and the padded vocabulary; two that keep everything in shards.
std::string tensor_manifest() { return manifest_of({{"tensor", 2}}, ""); }
std::string zero_manifest() {
  return manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"zero\"\naxis = \"data\"\nstage = 3\n");
}

class Models : public testing::TestWithParam<Case> {
 protected:
  ProcessResult verify(const std::string& manifest) {
    const TemporaryFolder folder;
    return run_baleen({"verify", source_dir() + "/examples/05_pretrained/train.lua", "--manifest",
                       folder.write("ranks.toml", manifest), "--steps", "3", "--", "--config",
                       folder.write("config.json", GetParam().config), "--data",
                       source_dir() + "/tests/golden/whales.txt", "--length", "8", "--vocab_multiple", "64"});
  }
};

TEST_P(Models, OnTwoRanksOfATensorAxisAreWhatOneComputes) {
  if (!missing_strategy(tensor_manifest()).empty()) GTEST_SKIP() << "no strategy `tensor` in this tree";
  expect_equal(verify(tensor_manifest()), 3);
}

TEST_P(Models, InShardsOfTwoRanksAreWhatOneComputes) {
  if (!missing_strategy(zero_manifest()).empty()) GTEST_SKIP() << "no strategy `zero` in this tree";
  expect_equal(verify(zero_manifest()), 3);
}

INSTANTIATE_TEST_SUITE_P(Exchange, Models,
                         testing::Values(Case{"Gpt2", gpt2_config()}, Case{"Llama", llama_config()},
                                         Case{"Mixtral", mixtral_config()},
                                         Case{"Bert",
                                              "{\"model_type\": \"bert\", \"architectures\": "
                                              "[\"BertForMaskedLM\"], \"hidden_size\": 8, \"num_hidden_layers\": "
                                              "2, \"num_attention_heads\": 2, \"intermediate_size\": 12, "
                                              "\"vocab_size\": 259, \"max_position_embeddings\": 8}"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ModelFolders, AreReadByTwoRanksAsByOne) {
  if (!missing_strategy(tensor_manifest()).empty()) GTEST_SKIP() << "no strategy `tensor` in this tree";
  const TemporaryFolder folder;
  const std::string script = exchange_script(folder), config = folder.write("config.json", llama_config());
  const auto expect_ok = [](const ProcessResult& result) {
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  };
  expect_ok(train_exchange(script, {"--save", folder / "ours.safetensors"}, {"--config", config}));
  expect_ok(run_baleen({"checkpoint", "export", folder / "ours.safetensors", folder / "theirs", "--config", config}));
  for (const std::string& manifest : {tensor_manifest(), zero_manifest()}) {
    expect_ok(train_exchange(script,
                             {"--manifest", folder.write("ranks.toml", manifest), "--load", folder / "theirs",
                              "--steps", "0", "--save", folder / "again.safetensors"},
                             {}));
    EXPECT_EQ(data_of(folder / "again.safetensors"), data_of(folder / "ours.safetensors")) << manifest;
  }
}

}  // namespace
}  // namespace baleen::test
