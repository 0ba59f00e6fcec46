/// \file Models go out to folders as other frameworks have them, and come back with the same bits. (What those
/// frameworks say of the folders: tests/interop/python.)
#include <filesystem>

#include "support/exchange_model.hpp"

namespace baleen::test {
namespace {

class RoundTrip : public testing::Test {
 protected:
  void expect_ok(const ProcessResult& result) { ASSERT_EQ(result.exit_code, 0) << result.out << result.err; }
  /// A model that was trained for two steps: its parameters in `name`.
  void train(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--config", folder_ / "config.json"});
    expect_ok(train_exchange(exchange_script(folder_), {"--save", folder_ / name}, arguments));
  }
  void checkpoint(std::vector<std::string> words) {
    words.insert(words.begin(), "checkpoint");
    expect_ok(run_baleen(words));
  }

  const TemporaryFolder folder_;
};

struct Model {
  const char* name;
  std::string config;
};

class EveryModel : public RoundTrip, public testing::WithParamInterface<Model> {};

TEST_P(EveryModel, ImportOfAnExportHasTheSameBits) {
  folder_.write("config.json", GetParam().config);
  train("ours.safetensors", {});
  checkpoint({"export", folder_ / "ours.safetensors", folder_ / "theirs", "--config", folder_ / "config.json"});
  checkpoint({"import", folder_ / "theirs", folder_ / "again.safetensors"});
  const std::string ours = data_of(folder_ / "ours.safetensors");
  ASSERT_FALSE(ours.empty());
  EXPECT_EQ(data_of(folder_ / "again.safetensors"), ours);
  // Several files: the same tensors.
  checkpoint({"export", folder_ / "ours.safetensors", folder_ / "parts", "--config", folder_ / "theirs", "--max-file",
              "4KiB"});
  EXPECT_TRUE(std::filesystem::exists(folder_ / "parts/model.safetensors.index.json"));
  checkpoint({"import", folder_ / "parts", folder_ / "parts.safetensors"});
  EXPECT_EQ(data_of(folder_ / "parts.safetensors"), ours);
  checkpoint({"convert", folder_ / "parts", folder_ / "one"});
  EXPECT_EQ(read_file(folder_ / "one/model.safetensors"), read_file(folder_ / "theirs/model.safetensors"));
}

TEST_P(EveryModel, ARunBeginsWithAFoldersParameters) {
  folder_.write("config.json", GetParam().config);
  train("ours.safetensors", {});
  checkpoint({"export", folder_ / "ours.safetensors", folder_ / "theirs", "--config", folder_ / "config.json"});
  const std::string script = exchange_script(folder_);
  expect_ok(
      train_exchange(script, {"--load", folder_ / "theirs", "--steps", "0", "--save", folder_ / "b.safetensors"}, {}));
  EXPECT_EQ(data_of(folder_ / "b.safetensors"), data_of(folder_ / "ours.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Exchange, EveryModel,
                         testing::Values(Model{"Gpt2", gpt2_config()},
                                         Model{"Gpt2Untied", gpt2_config("\"tie_word_embeddings\": false")},
                                         Model{"Llama", llama_config()},
                                         Model{"LlamaTied", llama_config("\"tie_word_embeddings\": true")},
                                         Model{"LlamaBiases", llama_config("\"attention_bias\": true, \"mlp_bias\": "
                                                                           "true, \"head_dim\": 6")},
                                         Model{"Mixtral", mixtral_config()}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(RoundTrip, APaddedVocabularyIsCutAndFilledWithZeros) {
  folder_.write("config.json", llama_config());
  train("ours.safetensors", {"--multiple", "64"});
  checkpoint({"export", folder_ / "ours.safetensors", folder_ / "theirs", "--config", folder_ / "config.json"});
  checkpoint({"import", folder_ / "theirs", folder_ / "padded.safetensors", "--vocab-multiple", "64"});
  checkpoint({"export", folder_ / "padded.safetensors", folder_ / "again", "--config", folder_ / "theirs"});
  EXPECT_EQ(read_file(folder_ / "again/model.safetensors"), read_file(folder_ / "theirs/model.safetensors"));
  const auto sizes = [&](const std::string& name) { return data_of(folder_ / name).size(); };
  EXPECT_EQ(sizes("padded.safetensors"), sizes("ours.safetensors"));
  EXPECT_EQ(sizes("ours.safetensors") - data_of(folder_ / "theirs/model.safetensors").size(), 61u * 8 * 2 * 4);
  // What stands for tokens that there are not changes nothing, whatever it is.
  const std::string script = exchange_script(folder_);
  for (const std::string multiple : {"1", "64"})
    expect_ok(train_exchange(script, {"--load", folder_ / "theirs", "--save", folder_ / (multiple + ".safetensors")},
                             {"--multiple", multiple}));
  checkpoint({"export", folder_ / "64.safetensors", folder_ / "cut", "--config", folder_ / "theirs"});
  checkpoint({"import", folder_ / "cut", folder_ / "cut.safetensors"});
  const std::string one = data_of(folder_ / "1.safetensors"), cut = data_of(folder_ / "cut.safetensors");
  ASSERT_EQ(one.size(), cut.size());
  for (std::size_t i = 0; i < one.size(); i += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, one.data() + i, sizeof a);
    std::memcpy(&b, cut.data() + i, sizeof b);
    ASSERT_NEAR(a, b, 1e-6) << i;
  }
}

TEST_F(RoundTrip, ACheckpointOfARunIsExportedWithoutItsOptimizer) {
  folder_.write("config.json", gpt2_config());
  const std::string script = exchange_script(folder_);
  expect_ok(train_exchange(script,
                           {"--save", folder_ / "ours.safetensors", "--set", "checkpoint.every=2", "--set",
                            "checkpoint.folder=" + (folder_ / "saved")},
                           {"--config", folder_ / "config.json"}));
  checkpoint({"export", folder_ / "saved", folder_ / "theirs", "--config", folder_ / "config.json"});
  checkpoint({"import", folder_ / "theirs", folder_ / "again.safetensors"});
  EXPECT_EQ(data_of(folder_ / "again.safetensors"), data_of(folder_ / "ours.safetensors"));
}

TEST_F(RoundTrip, HalfPrecisionIsNamedInTheConfig) {
  folder_.write("config.json", gpt2_config());
  train("ours.safetensors", {});
  checkpoint({"export", folder_ / "ours.safetensors", folder_ / "half", "--config", folder_ / "config.json", "--dtype",
              "bf16"});
  EXPECT_NE(read_file(folder_ / "half/config.json").find("\"dtype\": \"bfloat16\""), std::string::npos);
  EXPECT_EQ(data_of(folder_ / "half/model.safetensors").size() * 2, data_of(folder_ / "ours.safetensors").size());
  checkpoint({"import", folder_ / "half", folder_ / "wide.safetensors", "--dtype", "fp32"});
  checkpoint(
      {"export", folder_ / "wide.safetensors", folder_ / "again", "--config", folder_ / "half", "--dtype", "bf16"});
  EXPECT_EQ(read_file(folder_ / "again/model.safetensors"), read_file(folder_ / "half/model.safetensors"));
}

/// To a file and to a folder; the conversion is done all the same.
TEST_F(RoundTrip, NumbersThatADtypeDoesNotHoldAreTold) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  const std::uint64_t size = header.size();
  const float numbers[] = {1e6f, 1, -1e6f};
  std::string file(sizeof size + size + sizeof numbers, 0);
  std::memcpy(file.data(), &size, sizeof size);
  std::memcpy(file.data() + sizeof size, header.data(), size);
  std::memcpy(file.data() + sizeof size + size, numbers, sizeof numbers);
  const std::string from = folder_ / "from";
  folder_.write("from/config.json", R"({"model_type": "gpt2"})");
  folder_.write("from/model.safetensors", file);
  for (const std::string to : {"half.safetensors", "half"}) {
    const ProcessResult told = run_baleen({"checkpoint", "convert", from, folder_ / to, "--dtype", "fp16"});
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_NE(told.err.find("warning: " + (folder_ / to) + ": 2 numbers of `w` are too great for fp16"),
              std::string::npos)
        << told.err;
    const ProcessResult held = run_baleen({"checkpoint", "convert", from, folder_ / ("b" + to), "--dtype", "bf16"});
    EXPECT_EQ(held.exit_code, 0) << held.err;
    EXPECT_EQ(held.err, "");
  }
}

}  // namespace
}  // namespace baleen::test
